/*
 * trim.h - forget the entries that every consumer group has acknowledged.
 *
 * The stream is a window, the outbox is the record.  A group counts from the moment that it was
 * first seen until somebody deletes its row: while one is missing, or there is none at
 * all, nothing is trimmed.
 */
#ifndef UMAVEZ_RELAY_TRIM_H
#define UMAVEZ_RELAY_TRIM_H

#include "common/err.h"
#include "common/stream_id.h"
#include "relay/db.h"
#include "relay/stream.h"

#include <stdbool.h>
#include <stdint.h>

struct trim;

struct trim *trim_new(void);
void trim_free(struct trim *t); /* NULL is fine */

/* own: the newest entry of ours, which stays. *ret_removed: how many entries went. */
int trim_run(struct trim *t, struct db *db, struct stream *stream, struct stream_id own,
    int64_t *ret_removed, struct err *err) warn_unused;

/* Every group had acknowledged `own` at the last trim_run(): what is left, others have added. */
bool trim_is_done(const struct trim *t);

/* What keeps the last trim_run() from removing more, for people. */
const char *trim_obstacle(const struct trim *t);

#endif
