/*
 * bench.h - the relay's side of the database without a relay: rows are written, ticks are cut, and
 * what belongs to them is read, step by step.
 */
#ifndef UMAVEZ_TESTS_RELAY_BENCH_H
#define UMAVEZ_TESTS_RELAY_BENCH_H

#include "common/err.h"
#include "common/stream_id.h"
#include "relay/batch.h"
#include "relay/chain.h"
#include "relay/db.h"
#include "tests/support/world.h"

#include <libpq-fe.h>
#include <stdint.h>

#define BENCH_MS 30000      /* long enough for anything that should happen at all */
#define BENCH_LARGE 1048576 /* bytes: more than any batch of these tests has */
#define BENCH_ROOM 1000     /* --append-batch */

struct bench {
	struct world *w;
	struct db *db;
	int64_t last; /* tick of shard 0 that was cut last; 1: none */
	struct err err;
};

void bench_open(struct bench *b);
void bench_close(struct bench *b); /* b->db may be NULL */

/* A session of its own; PQfinish() it. */
PGconn *bench_session(struct bench *b);
void bench_exec(PGconn *conn, const char *sql); /* an error ends the program */

/* n rows of shard 0, in the session's transaction, or in one of their own. */
void bench_add_rows(PGconn *conn, int n);
void bench_add(struct bench *b, int n);

/* One tick after b->last, which moves on; its name is `least` at least. */
enum cut bench_cut(struct bench *b);
enum cut bench_cut_at(struct bench *b, int64_t least);

/* The same, with what rows it brings along: at most max_bytes of them, into a batch that is freed
 * here.  They must be what is read of the tick. */
enum cut bench_cut_into(
    struct bench *b, int64_t least, int64_t max_bytes, struct batch *rows, size_t *ret_given);

struct stream_id bench_at(int64_t tick, int64_t id);

/* Everything after a position, read into this batch again and again: the ids in order, as text,
 * malloc'd.  Positions must ascend. */
char *bench_read_after(struct bench *b, struct stream_id position, struct batch *batch);

/* The same is `expected`, whatever the size of the batch. */
void bench_check_read(struct bench *b, struct stream_id position, const char *expected);

/* The first position after that one is tick-id. */
void bench_check_first_after(struct bench *b, struct stream_id position, int64_t tick, int64_t id);

#endif
