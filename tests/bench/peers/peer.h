/*
 * peer.h - what the contestants written in C have in common: their environment, their sessions and
 * their ledger.
 *
 * A failure of any kind ends the program: a contestant that stumbled has no number.  README.md says
 * how it is called.
 */
#ifndef UMAVEZ_BENCH_PEER_H
#define UMAVEZ_BENCH_PEER_H

#include <hiredis/hiredis.h>
#include <libpq-fe.h>
#include <stdint.h>

enum peer_mode {
	PEER_DRAIN,   /* what setup has filled */
	PEER_LATENCY, /* messages committed at a rate */
	PEER_ENQUEUE, /* messages committed as fast as many clients can */
};

struct peer {
	enum peer_mode mode;
	const char *database_url, *redis_url;
	int64_t messages;
	int bytes, shards;
	int rate, seconds; /* PEER_LATENCY */
};

struct peer_result {
	int64_t us;
	int64_t lost, doubled;
	int64_t p50_us, p99_us, max_us; /* PEER_LATENCY */
};

struct peer_verbs {
	const char *name;
	unsigned modes; /* 1 << enum peer_mode, or'ed */
	/* NULL: nothing is missing; may itself be NULL */
	const char *(*lacks)(const struct peer *p);
	void (*setup)(const struct peer *p);
	void (*measure)(const struct peer *p, struct peer_result *ret_result);
};

/* main() of a contestant: setup, measure or check; returns its exit status. */
int peer_main(int argc, char **argv, const struct peer_verbs *verbs);

/* The environment; exits with status 2 where it is incomplete. */
void peer_read_environment(struct peer *ret_peer);

/* The one line that measure prints.  Returns the exit status: 0 if the ledger held. */
int peer_print(const char *name, const struct peer *p, const struct peer_result *r);

PGconn *peer_pg(const struct peer *p);          /* PQfinish() it */
redisContext *peer_redis(const struct peer *p); /* redisFree() it */

/* One statement; the result is the caller's to PQclear(). */
PGresult *peer_query(PGconn *conn, const char *sql, int n_params, const char *const *params);
void peer_sql(PGconn *conn, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int64_t peer_int(PGconn *conn, const char *sql);

/* The functions of sql/event.sql. */
void peer_make_events(PGconn *conn);

/* A shard's stream, "peer:{0}"; buf is returned. */
#define PEER_STREAM_SIZE 24
const char *peer_stream(char buf[PEER_STREAM_SIZE], int shard);

/* XADD without waiting, and the wait for the replies to so many commands. */
void peer_append(redisContext *redis, int shard, const char *id, const char *data);
/* The same with shard, id and data in this and the next two columns of a row. */
void peer_append_row(redisContext *redis, const PGresult *rows, int row, int column);
void peer_flush(redisContext *redis, int n);

/* Looks into all streams for messages 0 to p->messages - 1; sets lost and doubled. */
void peer_ledger(const struct peer *p, struct peer_result *r);

#endif
