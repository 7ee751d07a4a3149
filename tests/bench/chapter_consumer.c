/*
 * The consumer: streams full of messages, drained by the default handler.
 */
#include "bench_text.h"
#include "consumer/apply.h"
#include "consumer/batch.h"
#include "consumer/inbox.h"
#include "consumer_text.h"
#include "tests/bench/contestant.h"
#include "tests/bench/pgbench.h"
#include "tests/support/die.h"
#include "tests/support/invariants.h"
#include "tests/support/pause.h"

#include <stdlib.h>

#define BATCH 256 /* --batch */
#define DRAIN_MS 600000
#define EVENT_BYTES 1024

struct consumer_state {
	int64_t messages; /* that the streams hold; 0: not filled */
	bool has_batches; /* for pgbench */
};

static void *open_chapter(struct ground *g)
{
	struct consumer_state *s = calloc(1, sizeof(*s));

	(void)g;
	if (s == NULL)
		die("out of memory");
	return s;
}

static void close_chapter(void *state)
{
	free(state);
}

/* Streams as a relay fills them, from notifications that intake.receive() took. */
static void fill(const struct heat *h)
{
	struct ground *g = h->g;
	int64_t deadline = now_ms() + DRAIN_MS;

	ground_reset(g);
	world_sql(g->w, "CALL bench.receive(%lld, %d)", (long long)h->n, EVENT_BYTES);
	ground_start(g, RELAY);
	while (ground_entries(g) < h->n) {
		if (now_ms() > deadline)
			die("the streams are not filled");
		sleep_ms(20);
	}
	ground_stop_all(g);
	world_sql(g->w, "TRUNCATE bench.last; INSERT INTO bench.last"
			" SELECT shard, max(id) FROM intake.outbox GROUP BY shard");
}

/* To Redis the consumer is a new one, as it is to the database: with a bookmark it would believe
 * that commits were lost, and wait for a relay. */
static void forget_bookmarks(struct ground *g)
{
	for (unsigned shard = 0; shard < GROUND_SHARDS; shard++) {
		freeReplyObject(
		    ground_redis(g, "XGROUP DESTROY umavez:purchases:{%u} entitlements", shard));
		freeReplyObject(ground_redis(g, "DEL umavez:replay:{%u}", shard));
	}
}

/* The streams stay, since nobody trims them: contestants that are programs have others. */
static void setup(const struct heat *h)
{
	struct consumer_state *s = h->state;

	if (s->messages != h->n || ground_entries(h->g) < h->n) {
		fill(h);
		s->has_batches = false;
	}
	s->messages = h->n;
	ground_stop_all(h->g);
	forget_bookmarks(h->g);
	world_sql(h->g->w, "%s", tests_bench_sql_reset_effects_sql);
	world_sql(h->g->w, "VACUUM ANALYZE effects.inbox, effects.entitlement, effects.ledger, "
			   "effects.cursor");
	ground_settle(h->g);
}

static void await_drained(const struct heat *h)
{
	if (!world_await_int(h->g->w, 0, DRAIN_MS,
		"SELECT count(*) FROM bench.last AS l WHERE NOT EXISTS (SELECT FROM effects.cursor"
		" AS c WHERE c.shard = l.shard AND split_part(c.stream_id, '-', 2) = l.id::text)"))
		die("%s: the streams are not drained", h->contestant->name);
}

static void read_series(const struct heat *h, struct outcome *ret)
{
	PGconn *conn = world_pg(h->g->w);
	PGresult *res = PQexec(conn, tests_bench_sql_applied_sql);

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		die("%s", PQerrorMessage(conn));
	for (int i = 0; i < PQntuples(res); i++)
		series_add(&ret->series, i * SERIES_STEP_MS * INT64_C(1000),
		    strtoll(PQgetvalue(res, i, 0), NULL, 10));
	PQclear(res);
	PQfinish(conn);
}

static void check(const struct heat *h, struct outcome *ret)
{
	int64_t entries = world_int(h->g->w, "SELECT count(*) FROM effects.ledger");
	int64_t lost = h->n - entries;

	if (!ledger_holds(h, lost > 0 ? lost : 0, lost < 0 ? -lost : 0) ||
	    invariants_broken(h->g->w, INVARIANTS_EFFECTS) > 0)
		ret->failed = true;
}

static void measure_consumer(const struct heat *h, struct outcome *ret)
{
	char *rate;

	ground_start(h->g, CONSUMER);
	await_drained(h);
	ground_stop_all(h->g);
	rate = world_text(h->g->w, "%s", tests_bench_sql_applied_rate_sql);
	ret->figures[FIGURE_RATE] = strtod(rate, NULL);
	read_series(h, ret);
	check(h, ret);
	free(rate);
}

/* The parameters that the consumer's own code makes of a batch, as a row. */
static void keep_batch(
    PGconn *conn, const struct batch *batch, unsigned shard, struct stream_id from, int number)
{
	const struct inbox_options options = {.consumer = "entitlements",
	    .instance = "pgbench",
	    .handler = "effects.apply_purchase(json)"};
	const char *values[APPLY_PARAMS + 2];
	int lengths[APPLY_PARAMS + 2] = {0}, formats[APPLY_PARAMS + 2] = {0};
	char shard_text[12], number_text[12];
	struct apply_params p;
	PGresult *res;

	snprintf(shard_text, sizeof(shard_text), "%u", shard);
	snprintf(number_text, sizeof(number_text), "%d", number);
	apply_params_init(&p, &options, shard_text, from, batch);
	for (int i = 0; i < APPLY_PARAMS; i++) {
		values[i] = p.values[i];
		lengths[i] = p.lengths[i];
		formats[i] = p.formats[i];
	}
	values[APPLY_PARAMS] = shard_text;
	values[APPLY_PARAMS + 1] = number_text;
	res = PQexecParams(conn, tests_bench_sql_apply_row_sql, APPLY_PARAMS + 2, NULL, values,
	    lengths, formats, 0);
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		die("bench.apply: %s", PQerrorMessage(conn));
	PQclear(res);
	apply_params_done(&p);
}

static void keep_shard(struct ground *g, PGconn *conn, unsigned shard)
{
	struct stream_id from = {0, 0};
	struct err err = ERR_INIT;

	for (int number = 1;; number++) {
		char id[STREAM_ID_SIZE];
		redisReply *reply =
		    ground_redis(g, "XREAD COUNT %d STREAMS umavez:purchases:{%u} %s", BATCH, shard,
			stream_id_format(from, id));
		struct batch *batch;

		if (reply->type == REDIS_REPLY_NIL) {
			freeReplyObject(reply);
			break;
		}
		if (batch_from_reply(reply, BATCH, &batch, &err) < 0)
			die("%s", err.message);
		keep_batch(conn, batch, shard, from, number);
		from = batch->last;
		batch_free(batch);
	}
}

static void setup_apply(const struct heat *h)
{
	struct consumer_state *s = h->state;
	PGconn *conn;

	setup(h);
	world_sql(h->g->w, "INSERT INTO effects.cursor (consumer, shard)"
			   " SELECT 'entitlements', shard FROM intake.shard_lease");
	if (s->has_batches)
		return;
	conn = world_pg(h->g->w);
	world_sql(h->g->w, "%s", tests_bench_sql_apply_table_sql);
	for (unsigned shard = 0; shard < GROUND_SHARDS; shard++)
		keep_shard(h->g, conn, shard);
	PQfinish(conn);
	s->has_batches = true;
	ground_settle(h->g);
}

static void measure_apply(const struct heat *h, struct outcome *ret)
{
	const struct pgbench bench = {.statement = consumer_sql_apply_sql,
	    .table = "bench.apply",
	    .explicit_transaction = true,
	    .clients = GROUND_SHARDS,
	    .transactions = world_int(h->g->w, "SELECT max(n) FROM bench.apply")};

	ret->figures[FIGURE_RATE] = (double)h->n / pgbench_run(h->g, &bench);
	ret->figures[FIGURE_BATCH] = BATCH;
	check(h, ret);
}

static const struct contestant contestants[] = {
    {.name = "umavez-consumer",
	.what = "default handler, 4 shards; behind the first batch of each",
	.full = 200000,
	.quick = 12000,
	.setup = setup,
	.measure = measure_consumer},
    {.name = "limit-apply",
	.what = "pgbench, effects.apply_batch in the same batches",
	.full = 200000,
	.quick = 12000,
	.setup = setup_apply,
	.measure = measure_apply},
    {.name = "textbook-consumer",
	.what = "one transaction a message",
	.full = 12000,
	.quick = 2000,
	.program = "textbook-consumer"},
    {.name = "pg-transactional-inbox",
	.what = "npm",
	.full = 3000,
	.quick = 800,
	.program = "pg-transactional-inbox"},
};

const struct chapter consumer_chapter = {"consumer", "full streams to committed effects",
    contestants, sizeof(contestants) / sizeof(contestants[0]), open_chapter, close_chapter};
