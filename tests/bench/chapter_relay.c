/*
 * The relay: a backlog of 1 KiB rows over four shards, from its commit to its last entry in Redis.
 */
#include "common/clock.h"
#include "tests/bench/contestant.h"
#include "tests/bench/entries.h"
#include "tests/bench/limit_append.h"
#include "tests/bench/limit_outbox.h"
#include "tests/support/die.h"
#include "tests/support/pause.h"
#include "tests/support/text.h"

#include <stdlib.h>

#define DRAIN_US (300 * INT64_C(1000000))
#define POLL_MS 2

/* The session in which the backlog waits to be committed. */
struct relay_state {
	PGconn *conn;
};

static void *open_chapter(struct ground *g)
{
	struct relay_state *s = calloc(1, sizeof(*s));

	if (s == NULL)
		die("out of memory");
	s->conn = world_pg(g->w);
	return s;
}

static void close_chapter(void *state)
{
	struct relay_state *s = state;

	PQfinish(s->conn);
	free(s);
}

static void run_sql(PGconn *conn, const char *sql)
{
	PGresult *res = PQexec(conn, sql);
	ExecStatusType status = PQresultStatus(res);

	if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
		die("%s: %s", sql, PQerrorMessage(conn));
	PQclear(res);
}

static void fill(PGconn *conn, int64_t n)
{
	char *sql = text_format(
	    "SELECT bench.fill_outbox(1, %lld, %d, '{0,1,2,3}')", (long long)n, GROUND_BYTES);

	run_sql(conn, sql);
	free(sql);
}

/* An idle relay, and a backlog that is written but not yet committed. */
static void setup_relay(const struct heat *h)
{
	const struct relay_state *s = h->state;

	ground_reset(h->g);
	ground_start(h->g, RELAY);
	run_sql(s->conn, "BEGIN");
	fill(s->conn, h->n);
}

/* Until all entries are there. */
static void watch(const struct heat *h, struct series *series)
{
	int64_t began_us = clock_mono_us(), elapsed_us, n, before = 0;

	while ((n = ground_entries(h->g)) < h->n) {
		elapsed_us = clock_mono_us() - began_us;
		if (elapsed_us > DRAIN_US)
			die("%s: the backlog is not drained", h->contestant->name);
		series_add(series, elapsed_us, n - before);
		before = n;
		sleep_ms(POLL_MS);
	}
	series_add(series, clock_mono_us() - began_us, n - before);
}

static void measure_relay(const struct heat *h, struct outcome *ret)
{
	const struct relay_state *s = h->state;
	struct entries_ledger ledger;
	int64_t began_us;

	run_sql(s->conn, "COMMIT");
	began_us = clock_mono_us();
	run_sql(s->conn, "NOTIFY umavez_outbox");
	watch(h, &ret->series);
	ret->figures[FIGURE_RATE] = (double)h->n / ((double)(clock_mono_us() - began_us) / 1e6);
	entries_check(h->g, &ledger);
	ret->failed = !ledger_holds(h, ledger.lost, ledger.doubled);
}

static void setup_append(const struct heat *h)
{
	ground_reset(h->g);
}

static void measure_append(const struct heat *h, struct outcome *ret)
{
	ret->figures[FIGURE_RATE] = (double)h->n / limit_append(h->g, h->n, GROUND_BYTES);
}

static void measure_xadd(const struct heat *h, struct outcome *ret)
{
	ret->figures[FIGURE_RATE] = limit_xadd(h->g, h->n, GROUND_BYTES);
}

/* A backlog that is ticked: a relay cuts the ticks as it publishes. */
static void setup_outbox(const struct heat *h)
{
	struct outcome ignored = {.failed = false};

	setup_relay(h);
	measure_relay(h, &ignored);
	ground_stop_all(h->g);
}

static void measure_outbox(const struct heat *h, struct outcome *ret)
{
	int64_t rows;

	ret->figures[FIGURE_RATE] = (double)h->n / limit_outbox(h->g, &rows);
	ret->failed = !ledger_holds(h, h->n - rows, 0);
}

static const struct contestant contestants[] = {
    {.name = "umavez-relay",
	.what = "1 KiB rows over 4 shards, committed at once",
	.full = 500000,
	.quick = 50000,
	.setup = setup_relay,
	.measure = measure_relay},
    {.name = "limit-append",
	.what = "our append script alone, one batch in flight",
	.full = 500000,
	.quick = 50000,
	.setup = setup_append,
	.measure = measure_append},
    {.name = "textbook-relay",
	.what = "SELECT ... FOR UPDATE SKIP LOCKED, XADD, UPDATE",
	.full = 60000,
	.quick = 12000,
	.program = "textbook-relay"},
    {.name = "pg-transactional-outbox",
	.what = "npm, polling",
	.full = 4000,
	.quick = 1000,
	.program = "pg-transactional-outbox"},
    {.name = "pgq",
	.what = "PgQ, batches of a thousand",
	.full = 60000,
	.quick = 12000,
	.program = "pgq"},
    {.name = "graphile-worker",
	.what = "npm, a job a message",
	.full = 10000,
	.quick = 2000,
	.program = "graphile-worker"},
    {.name = "pg-boss",
	.what = "npm, a job a message",
	.full = 10000,
	.quick = 2000,
	.program = "pg-boss"},
    {.name = "limit-outbox",
	.what = "single-row streaming of the outbox alone, 4 sessions",
	.full = 50000,
	.quick = 20000,
	.setup = setup_outbox,
	.measure = measure_outbox},
    {.name = "limit-xadd",
	.what = "redis-benchmark: XADD, 4 clients, 16 in flight",
	.full = 150000,
	.quick = 50000,
	.setup = setup_append,
	.measure = measure_xadd},
};

const struct chapter relay_chapter = {"relay", "a backlog from its commit to the streams",
    contestants, sizeof(contestants) / sizeof(contestants[0]), open_chapter, close_chapter};
