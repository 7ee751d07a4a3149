/*
 * chain.h - the shard's chain of ticks, in PostgreSQL: look, cut, go from one to the next.
 *
 * A tick is cut directly after the one that the caller knows as the last; if the chain has moved
 * on, or another relay was faster, the caller starts over.  ERR_MISMATCH: this cluster's history
 * does not follow from the chain.
 */
#ifndef UMAVEZ_RELAY_CHAIN_H
#define UMAVEZ_RELAY_CHAIN_H

#include "common/err.h"
#include "common/stream_id.h"
#include "relay/batch.h"
#include "relay/db.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

struct chain {
	int64_t last_tick;
	struct stream_id oldest;   /* rows up to here are no longer retained; 0-0: all are */
	struct stream_id released; /* of those, all that were acknowledged first; 0-0: none */
	bool has_acknowledged;
	struct stream_id acknowledged; /* the lowest of all groups */
	int64_t now_ms;                /* the database's clock */
};
int chain_look(struct db *db, struct chain *ret_chain, struct err *err) warn_unused;

enum cut {
	CUT_NOTHING, /* nothing to publish */
	CUT_EMPTY,   /* only the window moved */
	CUT_TICK,
	CUT_RACED, /* somebody else cut one: start over */
};

/*
 * *ret_tick is set when one was cut. least: the least name that it may get.  rows, an empty batch,
 * is given all rows of the tick if they are few and have no more bytes than max_bytes, else none.
 */
int chain_cut(struct db *db, int64_t last_tick, int64_t least, int64_t max_bytes,
    struct batch *rows, enum cut *ret_cut, int64_t *ret_tick, struct err *err) warn_unused;

/* A tick of every row after a position: to repair (void what is between), or to replay. */
int chain_branch(struct db *db, int64_t last_tick, int64_t least, struct stream_id from,
    bool replay, enum cut *ret_cut, int64_t *ret_tick, struct err *err) warn_unused;

/* The tick after this one that has not been voided; 0: none yet. */
int chain_next(struct db *db, int64_t tick, int64_t *ret_tick, struct err *err) warn_unused;

/* The first row's position after this one; 0-0: none yet. */
int chain_first_after(struct db *db, struct stream_id after, struct stream_id *ret_position,
    struct err *err) warn_unused;

struct chain_place {
	bool known;   /* false: a position of no tick of this chain, or somebody else's entry */
	bool is_void; /* a repair has given its row another position */
	bool lacks;   /* rows have stood after it, void or not, before `first` */
};
/* What is to be said of a position in a stream that begins with `first`. */
int chain_know(struct db *db, struct stream_id position, struct stream_id first,
    struct chain_place *ret_place, struct err *err) warn_unused;

/* Remember that the stream went on after `oldest` although it had ended at `after`. */
int chain_note_gap(
    struct db *db, struct stream_id after, struct stream_id oldest, struct err *err) warn_unused;

/* The first of these stream entries (of XRANGE or XREVRANGE) that is ours, and the first that was
 * until a repair made its position void; -1: none. */
int chain_find_own(struct db *db, const redisReply *entries, int *ret_own, int *ret_stray,
    struct err *err) warn_unused;

#endif
