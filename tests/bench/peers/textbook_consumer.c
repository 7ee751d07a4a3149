/*
 * The textbook consumer: a consumer group, an inbox, and one transaction a message, which is
 * acknowledged after its COMMIT.  One worker a shard, so that a purchase's messages stay in order.
 * The effect is the default handler's.
 */
#include "common/clock.h"
#include "common/pg.h"
#include "schema/schema.h"
#include "tests/bench/peers/peer.h"
#include "tests/support/die.h"
#include "tests/support/text.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SHARDS_MAX 64
#define FILL_ROWS 1000
#define GROUP "consumer"

#define REMEMBER                                                                                   \
	"INSERT INTO inbox (source, message_id) VALUES ('stripe', $1) ON CONFLICT DO NOTHING"
#define APPLY "SELECT effects.apply_purchase($1)"

struct consumer {
	const struct peer *p;
	int shard;
	int64_t applied;
};

static void make_tables(PGconn *conn)
{
	struct err err = ERR_INIT;

	for (const struct schema_file *f = schema_files; f->schema != NULL; f++)
		if (strcmp(f->schema, "effects") == 0 && pg_exec(conn, f->text, &err) < 0)
			die("%s: %s", f->name, err.message);
	peer_sql(conn, "CREATE TABLE inbox (source text NOT NULL, message_id text NOT NULL,"
		       " processed_at timestamptz NOT NULL DEFAULT now(),"
		       " PRIMARY KEY (source, message_id))");
}

/* FILL_ROWS messages from number `from` on. */
static void fill(const struct peer *p, PGconn *conn, redisContext *redis, int64_t from)
{
	char *sql = text_format("SELECT peer_purchase(n) %% %d, n, peer_event(n, %d)"
				" FROM generate_series(%lld, least(%lld, %lld) - 1) AS n",
	    p->shards, p->bytes, (long long)from, (long long)from + FILL_ROWS,
	    (long long)p->messages);
	PGresult *rows = peer_query(conn, sql, 0, NULL);

	for (int i = 0; i < PQntuples(rows); i++)
		peer_append_row(redis, rows, i, 0);
	peer_flush(redis, PQntuples(rows));
	PQclear(rows);
	free(sql);
}

static void setup(const struct peer *p)
{
	PGconn *conn = peer_pg(p);
	redisContext *redis = peer_redis(p);
	char key[PEER_STREAM_SIZE];

	peer_make_events(conn);
	make_tables(conn);
	for (int64_t n = 0; n < p->messages; n += FILL_ROWS)
		fill(p, conn, redis, n);
	for (int i = 0; i < p->shards; i++)
		freeReplyObject(redisCommand(
		    redis, "XGROUP CREATE %s " GROUP " 0 MKSTREAM", peer_stream(key, i)));
	redisFree(redis);
	PQfinish(conn);
}

/* Whether it was new. */
static bool handle(PGconn *conn, const char *id, const char *event)
{
	const struct pg_params by_id = {.n = 1, .values = &id}, by_event = {1, &event, NULL, NULL};
	struct err err = ERR_INIT;
	PGresult *inserted;
	bool new = false;

	peer_sql(conn, "BEGIN");
	if (pg_run_prepared(conn, "remember", &by_id, &inserted, &err) < 0)
		die("%s", err.message);
	new = strcmp(PQcmdTuples(inserted), "1") == 0;
	PQclear(inserted);
	if (new &&pg_run_prepared(conn, "apply", &by_event, NULL, &err) < 0)
		die("%s", err.message);
	peer_sql(conn, "COMMIT");
	return new;
}

/* False: there was nothing. */
static bool handle_some(struct consumer *c, PGconn *conn, redisContext *redis, const char *key)
{
	redisReply *reply =
	    redisCommand(redis, "XREADGROUP GROUP " GROUP " worker COUNT 256 STREAMS %s >", key);
	const redisReply *entries;

	if (reply == NULL || reply->type == REDIS_REPLY_ERROR)
		die("Redis: %s", reply ? reply->str : redis->errstr);
	if (reply->type == REDIS_REPLY_NIL) {
		freeReplyObject(reply);
		return false;
	}
	entries = reply->element[0]->element[1];
	for (size_t i = 0; i < entries->elements; i++) {
		const redisReply *entry = entries->element[i], *fields = entry->element[1];

		c->applied += handle(conn, fields->element[1]->str, fields->element[3]->str);
		redisAppendCommand(redis, "XACK %s " GROUP " %s", key, entry->element[0]->str);
	}
	peer_flush(redis, (int)entries->elements);
	freeReplyObject(reply);
	return true;
}

static void *work(void *arg)
{
	struct consumer *c = arg;
	PGconn *conn = peer_pg(c->p);
	redisContext *redis = peer_redis(c->p);
	char key[PEER_STREAM_SIZE];
	struct err err = ERR_INIT;

	peer_stream(key, c->shard);
	if (pg_prepare(conn, "remember", REMEMBER, 0, NULL, &err) < 0 ||
	    pg_prepare(conn, "apply", APPLY, 0, NULL, &err) < 0)
		die("%s", err.message);
	while (handle_some(c, conn, redis, key))
		;
	redisFree(redis);
	PQfinish(conn);
	return NULL;
}

/* Each message has a payment of its own, and so a ledger entry of its own; a second effect of it
 * would add none, but is counted by who caused it. */
static void check(const struct peer *p, int64_t applied, struct peer_result *r)
{
	PGconn *conn = peer_pg(p);
	int64_t different = peer_int(conn, "SELECT count(*) FROM effects.ledger");

	r->lost = p->messages - different;
	r->doubled = applied - different;
	PQfinish(conn);
}

static void measure(const struct peer *p, struct peer_result *ret_result)
{
	struct consumer consumers[SHARDS_MAX];
	pthread_t threads[SHARDS_MAX];
	int64_t began_us = clock_mono_us(), applied = 0;

	if (p->shards > SHARDS_MAX)
		die("more than %d shards", SHARDS_MAX);
	for (int i = 0; i < p->shards; i++) {
		consumers[i] = (struct consumer){.p = p, .shard = i};
		if (pthread_create(&threads[i], NULL, work, &consumers[i]) != 0)
			die("no thread");
	}
	for (int i = 0; i < p->shards; i++) {
		pthread_join(threads[i], NULL);
		applied += consumers[i].applied;
	}
	ret_result->us = clock_mono_us() - began_us;
	check(p, applied, ret_result);
}

int main(int argc, char **argv)
{
	static const struct peer_verbs verbs = {
	    "textbook-consumer", 1U << PEER_DRAIN, NULL, setup, measure};

	return peer_main(argc, argv, &verbs);
}
