/*
 * wake.h - NOTIFY umavez_outbox, so that relays need not wait for their next poll.
 *
 * The first one goes at once, then at most one per WAKE_INTERVAL_US, for all that was committed in
 * the meantime.  It has a connection of its own, so it delays no commit and fails none: a wake-up
 * that is lost costs a relay one poll interval.
 */
#ifndef UMAVEZ_WAKE_H
#define UMAVEZ_WAKE_H

#include "common/err.h"
#include "producer/notification.h"
#include "producer/session.h"

/* A relay ticks no shard more often than this. */
#define WAKE_INTERVAL_US INT64_C(2000)

struct wake;

/* up, down and ctx are not used. Belongs to options->base's thread. */
int wake_open(
    const struct session_options *options, struct wake **ret_wake, struct err *err) warn_unused;
void wake_close(struct wake *w); /* NULL is fine */

/* What came of this notification was committed. Any thread; never waits. */
void wake_ring(struct wake *w, const struct notification *n);

#endif
