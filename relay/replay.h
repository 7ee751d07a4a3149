/*
 * replay.h - answers to consumers that do not find the entry at their cursor, or whose database
 * lost commits.
 *
 * umavez:replay:{shard} is a hash.  A consumer at position C writes "ask:<consumer>" = C.  The
 * relay writes "answer:<consumer>" and removes the question, in one step:
 *
 *   "C none"      what follows C stands in the stream, all of it: read on from C
 *   "C <tick>"    every row behind C is published again: read on from <tick>-0
 *   "C <tick>-0"  there is no row behind C: read on from there
 *   "C start"     C is no position of this chain: read the stream from its beginning
 *
 * What follows a position is what has ever followed it: a repair that makes positions void may
 * begin further on in the outbox than they stand (a replay goes back in it), and an older copy of
 * Redis brings such entries back.  Hence "none" only for a position that is not void, when nothing
 * that has ever stood between it and the stream's first entry is missing, and when everything up to
 * it has been published.
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
 * later: not another one at every attempt.  published: the stream has everything up to here.
 * *last_tick moves on when a replay tick is cut; *ret_raced: somebody else cut one meanwhile, start
 * over.
 */
int replay_run(struct replay *r, struct db *db, struct stream *stream, struct stream_id published,
    int64_t least_tick, int64_t *last_tick, bool *ret_raced, struct err *err) warn_unused;

/* Take answers back that may not hold for the stream as it is now, and forget a tick whose rows
 * will not come: before anything is appended. */
int replay_revoke(
    struct replay *r, struct db *db, struct stream *stream, struct err *err) warn_unused;

/* The newest tick that a consumer has been promised and has not followed yet, as of the last
 * replay_run(); 0: none. */
int64_t replay_promised(const struct replay *r);

#endif
