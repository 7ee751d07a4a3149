/*
 * replay.h - rows published again for a consumer whose database lost commits.
 *
 * umavez:replay:{shard} is a hash.  A consumer that was set back to position C, behind which the
 * stream is trimmed already, writes "ask:<consumer>" = C.  The relay writes "answer:<consumer>" and
 * removes the question, in one step:
 *
 *   "C none"    nothing behind C was trimmed: read on from C
 *   "C <tick>"  every row behind C is published again: read on from <tick>-0
 */
#ifndef UMAVEZ_RELAY_REPLAY_H
#define UMAVEZ_RELAY_REPLAY_H

#include "common/err.h"
#include "relay/db.h"
#include "relay/stream.h"

#include <stdbool.h>
#include <stdint.h>

struct replay;

struct replay *replay_new(const char *name_space, unsigned shard);
void replay_free(struct replay *r); /* NULL is fine */

/*
 * Answer what is asked.  A tick that was cut for a question whose answer failed is given to it
 * later: not another one at every attempt.  first is the stream's first entry.  *last_tick moves on
 * when a replay tick is cut; *ret_raced: somebody else cut one meanwhile, start over.
 */
int replay_run(struct replay *r, struct db *db, struct stream *stream, struct stream_id first,
    int64_t least_tick, int64_t *last_tick, bool *ret_raced, struct err *err) warn_unused;

/* A repair has voided what was cut: it is not to be given. */
void replay_forget(struct replay *r);

/* The newest tick that a consumer has been promised and has not followed yet, as of the last
 * replay_run(); 0: none. */
int64_t replay_promised(const struct replay *r);

#endif
