/*
 * PgQ: events in a queue, ticks that cut batches of them, one consumer that reads a batch, appends
 * it to the streams and finishes it.  The ticker is ours: pgqd's shortest period is too long for a
 * fair latency.
 */
#include "common/clock.h"
#include "tests/bench/peers/peer.h"
#include "tests/bench/peers/probe.h"
#include "tests/support/die.h"
#include "tests/support/pause.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

#define BATCH 1000
#define TICK_MS 1

#define QUEUE "'purchases'"
#define CONSUMER "'relay'"
#define INSERT "SELECT pgq.insert_event(" QUEUE ", $1::text, peer_event($1, $2))"
#define NEXT "SELECT pgq.next_batch(" QUEUE ", " CONSUMER ")"
#define READ "SELECT ev_type, ev_data FROM pgq.get_batch_events($1)"
#define FINISH "SELECT pgq.finish_batch($1)"
#define COUNT "SELECT count(*), count(DISTINCT ev_type) FROM pgq.event_template"

struct queue {
	const struct peer *p;
	atomic_bool stop; /* everything has been received */
};

static const char *lacks(const struct peer *p)
{
	PGconn *conn = peer_pg(p);
	int64_t there =
	    peer_int(conn, "SELECT count(*) FROM pg_available_extensions WHERE name = 'pgq'");

	PQfinish(conn);
	return there ? NULL : "the server has no extension pgq (postgresql-15-pgq3)";
}

/* What a ticker would have cut while the events came in. */
static void fill(const struct peer *p, PGconn *conn)
{
	for (int64_t n = 0; n < p->messages; n += BATCH) {
		peer_sql(conn,
		    "SELECT pgq.insert_event(" QUEUE ", n::text, peer_event(n, %d))"
		    " FROM generate_series(%lld::bigint, least(%lld, %lld) - 1) AS n",
		    p->bytes, (long long)n, (long long)n + BATCH, (long long)p->messages);
		peer_sql(conn, "SELECT pgq.ticker(" QUEUE ")");
	}
}

static void setup(const struct peer *p)
{
	PGconn *conn = peer_pg(p);

	peer_make_events(conn);
	peer_sql(conn, "CREATE EXTENSION pgq");
	peer_sql(conn, "SELECT pgq.create_queue(" QUEUE ")");
	/* Whenever the ticker is asked, and there are events. */
	peer_sql(conn, "SELECT pgq.set_queue_config(" QUEUE ", 'ticker_max_count', '1'),"
		       " pgq.set_queue_config(" QUEUE ", 'ticker_max_lag', '0')");
	peer_sql(conn, "SELECT pgq.register_consumer(" QUEUE ", " CONSUMER ")");
	if (p->mode == PEER_DRAIN)
		fill(p, conn);
	PQfinish(conn);
}

/* False: there is no batch. */
static bool relay_batch(struct queue *q, PGconn *conn, redisContext *redis)
{
	PGresult *batch = peer_query(conn, NEXT, 0, NULL), *events;
	const char *id = PQgetvalue(batch, 0, 0);
	bool there = !PQgetisnull(batch, 0, 0);

	if (there) {
		events = peer_query(conn, READ, 1, &id);
		for (int i = 0; i < PQntuples(events); i++) {
			const char *n = PQgetvalue(events, i, 0);

			peer_append(redis, (int)(strtoll(n, NULL, 10) % q->p->shards), n,
			    PQgetvalue(events, i, 1));
		}
		peer_flush(redis, PQntuples(events));
		PQclear(events);
		PQclear(peer_query(conn, FINISH, 1, &id));
	}
	PQclear(batch);
	return there;
}

static void drain(struct queue *q)
{
	PGconn *conn = peer_pg(q->p);
	redisContext *redis = peer_redis(q->p);

	while (relay_batch(q, conn, redis))
		;
	redisFree(redis);
	PQfinish(conn);
}

static void *follow(void *arg)
{
	struct queue *q = arg;
	PGconn *conn = peer_pg(q->p);
	redisContext *redis = peer_redis(q->p);

	while (!q->stop)
		if (!relay_batch(q, conn, redis))
			sleep_ms(TICK_MS);
	redisFree(redis);
	PQfinish(conn);
	return NULL;
}

static void *tick(void *arg)
{
	struct queue *q = arg;
	PGconn *conn = peer_pg(q->p);

	while (!q->stop) {
		PQclear(peer_query(conn, "SELECT pgq.ticker(" QUEUE ")", 0, NULL));
		sleep_ms(TICK_MS);
	}
	PQfinish(conn);
	return NULL;
}

static void measure_latency(struct queue *q, struct peer_result *r)
{
	pthread_t threads[2];

	if (pthread_create(&threads[0], NULL, tick, q) != 0 ||
	    pthread_create(&threads[1], NULL, follow, q) != 0)
		die("no thread");
	probe_latency(q->p, INSERT, r);
	q->stop = true;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
}

static void measure(const struct peer *p, struct peer_result *ret_result)
{
	struct queue q = {.p = p};
	int64_t began_us = clock_mono_us();

	if (p->mode == PEER_ENQUEUE) {
		probe_enqueue(p, INSERT, COUNT, ret_result);
		return;
	}
	if (p->mode == PEER_LATENCY)
		measure_latency(&q, ret_result);
	else
		drain(&q);
	ret_result->us = clock_mono_us() - began_us;
	peer_ledger(p, ret_result);
}

int main(int argc, char **argv)
{
	static const struct peer_verbs verbs = {"pgq",
	    1U << PEER_DRAIN | 1U << PEER_LATENCY | 1U << PEER_ENQUEUE, lacks, setup, measure};

	return peer_main(argc, argv, &verbs);
}
