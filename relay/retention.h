/*
 * retention.h - what is past its time: partitions made ahead and dropped behind, the floor
 * announced.
 *
 * The functions of schema/008 decide what may go; several relays may ask at once.  The floor of
 * each shard is announced as <namespace>:floor:{shard} = <tick>-0: no row whose stream ID is below
 * it can be published again.
 */
#ifndef UMAVEZ_RELAY_RETENTION_H
#define UMAVEZ_RELAY_RETENTION_H

#include "common/err.h"
#include "relay/config.h"
#include "relay/status.h"

struct metrics;
struct retention;

/* Everything is borrowed until retention_stop(). */
int retention_start(const struct config *config, struct status *status, struct metrics *metrics,
    struct retention **ret_retention, struct err *err) warn_unused;

/* Stops the service if nobody has. NULL is fine. */
void retention_stop(struct retention *r);

#endif
