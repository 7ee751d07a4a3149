/*
 * The textbook relay: an outbox with published_at, read in pieces under row locks, appended in a
 * pipeline, marked.  One worker: SKIP LOCKED lets several share the table, but then in no order.
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

#define POLL_MS 10

#define TAKE                                                                                       \
	"SELECT id, shard, message_id, data FROM outbox WHERE published_at IS NULL ORDER BY id"    \
	" LIMIT 1000 FOR UPDATE SKIP LOCKED"
#define MARK "UPDATE outbox SET published_at = now() WHERE id = ANY ($1)"

struct relay {
	const struct peer *p;
	atomic_bool stop; /* only then is an empty table the end */
};

static void setup(const struct peer *p)
{
	PGconn *conn = peer_pg(p);

	peer_make_events(conn);
	peer_sql(conn, "CREATE TABLE outbox (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,"
		       " shard smallint NOT NULL, message_id text NOT NULL, data json NOT NULL,"
		       " created_at timestamptz NOT NULL DEFAULT now(), published_at timestamptz);"
		       "CREATE INDEX ON outbox (id) WHERE published_at IS NULL");
	if (p->mode == PEER_DRAIN) {
		peer_sql(conn,
		    "INSERT INTO outbox (shard, message_id, data)"
		    " SELECT peer_purchase(n) %% %d, n, peer_event(n, %d)::json"
		    " FROM generate_series(0, %lld - 1) AS n",
		    p->shards, p->bytes, (long long)p->messages);
		peer_sql(conn, "VACUUM ANALYZE outbox");
	}
	PQfinish(conn);
}

/* '{1,2,3}' of the first column; free() it. */
static char *ids_of(const PGresult *rows)
{
	char *ids = NULL;
	size_t len;
	FILE *f = open_memstream(&ids, &len);

	if (f == NULL)
		die("out of memory");
	for (int i = 0; i < PQntuples(rows); i++)
		fprintf(f, "%c%s", i == 0 ? '{' : ',', PQgetvalue(rows, i, 0));
	fputc('}', f);
	fclose(f);
	return ids;
}

/* How many were published. */
static int publish(PGconn *conn, redisContext *redis)
{
	PGresult *rows;
	int n;

	peer_sql(conn, "BEGIN");
	rows = peer_query(conn, TAKE, 0, NULL);
	n = PQntuples(rows);
	for (int i = 0; i < n; i++)
		peer_append_row(redis, rows, i, 1);
	peer_flush(redis, n);
	if (n > 0) {
		char *ids = ids_of(rows);

		PQclear(peer_query(conn, MARK, 1, (const char *[]){ids}));
		free(ids);
	}
	peer_sql(conn, "COMMIT");
	PQclear(rows);
	return n;
}

static void *work(void *arg)
{
	struct relay *r = arg;
	PGconn *conn = peer_pg(r->p);
	redisContext *redis = peer_redis(r->p);

	for (;;) {
		bool last = r->stop;

		if (publish(conn, redis) > 0)
			continue;
		if (last)
			break;
		sleep_ms(POLL_MS);
	}
	redisFree(redis);
	PQfinish(conn);
	return NULL;
}

static void measure(const struct peer *p, struct peer_result *ret_result)
{
	struct relay r = {.p = p, .stop = p->mode == PEER_DRAIN};
	int64_t began_us = clock_mono_us();
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, &r) != 0)
		die("no thread");
	if (p->mode == PEER_LATENCY)
		probe_latency(p,
		    "INSERT INTO outbox (shard, message_id, data)"
		    " SELECT peer_purchase($1) % $3, $1, peer_event($1, $2)::json",
		    ret_result);
	r.stop = true;
	pthread_join(thread, NULL);
	ret_result->us = clock_mono_us() - began_us;
	peer_ledger(p, ret_result);
}

int main(int argc, char **argv)
{
	static const struct peer_verbs verbs = {
	    "textbook-relay", 1U << PEER_DRAIN | 1U << PEER_LATENCY, NULL, setup, measure};

	return peer_main(argc, argv, &verbs);
}
