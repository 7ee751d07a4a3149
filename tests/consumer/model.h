/*
 * model.h - a model of one shard.  The relay gives rows 1, 2, 3 ... positions, a row perhaps
 * several: a repair voids those after the newest entry of ours and gives their rows others, a
 * replay gives all rows after a position further ones.  It appends the positions that the stream
 * lacks, and trims what the bookmark has passed.  The consumer may die between any two of its
 * writes, the database may go back to an earlier moment, Redis too, or lose everything, and
 * somebody else may add an entry, in any order and again before the last one is overcome.  (Not
 * database and Redis both before the consumer has looked: the evidence for one would be lost by the
 * other.)  Rows must be applied in order and none passed over.
 *
 * model.c is the relay's side; the consumer's, and what befalls both, is the test's.
 */
#ifndef UMAVEZ_TESTS_CONSUMER_MODEL_H
#define UMAVEZ_TESTS_CONSUMER_MODEL_H

#include "common/clock.h"
#include "common/stream_id.h"
#include "consumer/position.h"

#include <stdbool.h>
#include <stdint.h>

enum { MODEL_POSITIONS = 6000, MODEL_ENTRIES = 3000, MODEL_STEPS = 500 };

struct model_redis {
	struct stream_id entry[MODEL_ENTRIES]; /* seq is the row; 0: somebody else's */
	int first, n;                          /* the stream holds first .. n-1 */
	bool has_group;
	struct stream_id bookmark;
	struct replay replay;
};

struct model_database {
	struct stream_id cursor;
	int applied; /* rows 1 .. applied are, or are older than the consumer */
};

struct model_repair {
	struct stream_id from;
	uint64_t tick;
};

struct model {
	struct rng rng;
	struct stream_id position[MODEL_POSITIONS]; /* ascending; seq is the row */
	int positions;
	int rows;
	uint64_t tick;
	bool placed; /* the relay knows where the stream is */
	struct model_repair repair[MODEL_STEPS * 2];
	int repairs;
	struct stream_id acknowledged; /* as the relay has stored it */
	struct model_redis redis, saved;
	struct model_database db, kept, past[MODEL_STEPS * 2];
	int pasts;
	bool unseen; /* commits were lost, and the consumer has not looked */
	bool blind;  /* and Redis was emptied before it did */
};

unsigned model_pick(struct model *m, unsigned n); /* 0 .. n-1 */

bool model_before(struct stream_id a, struct stream_id b);
bool model_stream_empty(const struct model_redis *r);
struct stream_id model_own(const struct model_redis *r); /* the newest entry of ours */

/* There is only room left for the repair and the replay that are made last. */
bool model_is_full(const struct model *m);

/* What the stream lacks; STREAM_ID_ZERO: nothing. */
struct stream_id model_next_position(const struct model *m);

/* The relay finds its place; does that and appends, or repairs; trims; answers the consumer. */
void model_place(struct model *m);
void model_publish(struct model *m);
void model_trim(struct model *m);
void model_answer(struct model *m);

/* Somebody else's entry. */
void model_disturb(struct model *m);

#endif
