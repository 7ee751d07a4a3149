/*
 * All three services under a load at a given rate: how long from the moment at which a webhook was
 * due to its effect's commit, and from the outbox row's commit to its stream; and what open
 * transactions, history and other shards' backlog change about that.
 */
#include "bench_text.h"
#include "tests/bench/contestant.h"
#include "tests/bench/generator.h"
#include "tests/bench/history.h"
#include "tests/bench/observer.h"
#include "tests/bench/resources.h"
#include "tests/support/copy.h"
#include "tests/support/die.h"
#include "tests/support/invariants.h"
#include "tests/support/pause.h"

#include <math.h>
#include <stdlib.h>

#define CLIENTS 64
#define WARM_UP 200 /* requests before those that count */
#define SETTLE_MS 120000
#define POLL_MS 100
#define QUIET_SHARD "0" /* that the backlog leaves alone */
#define BACKLOG_FULL 1000000
#define BACKLOG_QUICK 60000

enum variant { PLAIN, OPEN_TRANSACTION, HISTORY, BACKLOG, PEAK, HALF };

struct latency_state {
	struct requests *requests;
	uint64_t seed;       /* of the requests */
	struct ground *aged; /* servers with history, which is filled once; NULL: not yet */
	int64_t effects;     /* that there are when everything has been applied */
	double peak;         /* effects a second; 0: not yet measured */
	PGconn *writer;      /* whose transaction stays open */
};

static void *open_chapter(struct ground *g)
{
	struct latency_state *s = calloc(1, sizeof(*s));

	if (s == NULL)
		die("out of memory");
	s->writer = world_pg(g->w);
	return s;
}

static void close_chapter(void *state)
{
	struct latency_state *s = state;

	requests_free(s->requests);
	PQfinish(s->writer);
	if (s->aged != NULL)
		ground_close(s->aged);
	free(s);
}

static enum variant variant_of(const struct heat *h)
{
	return (enum variant)h->contestant->variant;
}

static struct ground *ground_of(const struct heat *h)
{
	const struct latency_state *s = h->state;

	return variant_of(h) == HISTORY ? s->aged : h->g;
}

static void make_requests(const struct heat *h)
{
	struct latency_state *s = h->state;

	requests_free(s->requests);
	/* History keeps what came before. */
	s->requests = requests_new(ground_of(h)->w, LOAD_STRIPE, (int)h->n + WARM_UP, ++s->seed);
}

static struct ground *open_history(const struct bench_options *o)
{
	struct ground *g = ground_open(o);

	ground_reset(g);
	history_fill(g, (int64_t)((double)(o->quick ? o->history / 100 : o->history) * o->scale));
	ground_root(g);
	return g;
}

static void clear(const struct heat *h)
{
	struct latency_state *s = h->state;

	if (variant_of(h) != HISTORY) {
		ground_reset(h->g);
		return;
	}
	if (s->aged == NULL)
		s->aged = open_history(h->g->options);
	world_sql(s->aged->w, "TRUNCATE bench.sent, bench.arrived, witness.answered");
}

static void post(
    const struct heat *h, int first, int n, double per_second, struct generator_result *ret)
{
	const struct latency_state *s = h->state;
	const struct generator_options options = {
	    proc_url(ground_of(h)->members[PRODUCER]), CLIENTS, per_second, s->requests, first, n};

	generator_run(&options, ret);
}

static int64_t count_effects(const struct heat *h)
{
	return world_int(ground_of(h)->w,
	    "SELECT count(*) FROM effects.inbox"
	    " WHERE consumer = 'entitlements' AND source = 'stripe'%s",
	    variant_of(h) == BACKLOG ? " AND shard = " QUIET_SHARD : "");
}

/* Behind a backlog only the shard without one is waited for: that one is measured. */
static int64_t count_wanted(const struct heat *h, int64_t n)
{
	if (variant_of(h) != BACKLOG)
		return n;
	return world_int(h->g->w, "SELECT count(*) FROM intake.outbox"
				  " WHERE source = 'stripe' AND shard = " QUIET_SHARD);
}

/* Looked for seldom: counting would take time from those who are counted. */
static void await_effects(const struct heat *h, int64_t n)
{
	int64_t deadline_ms = now_ms() + SETTLE_MS, wanted = count_wanted(h, n);

	while (count_effects(h) < wanted) {
		if (now_ms() > deadline_ms)
			die("%s: not applied", h->contestant->name);
		sleep_ms(POLL_MS);
	}
}

static void setup(const struct heat *h)
{
	struct latency_state *s = h->state;
	struct generator_result warm_up;
	int64_t before;

	clear(h);
	make_requests(h);
	before = count_effects(h);
	s->effects = before + WARM_UP + h->n;
	ground_start(ground_of(h), RELAY);
	ground_start(ground_of(h), CONSUMER);
	ground_start(ground_of(h), PRODUCER);
	post(h, 0, WARM_UP, GROUND_RATE, &warm_up);
	free(warm_up.due_us);
	requests_witness(ground_of(h)->w, s->requests, 0, WARM_UP);
	await_effects(h, before + WARM_UP);
	ground_settle(ground_of(h));
}

/* What goes on beside the load. */
static void begin_trouble(const struct heat *h)
{
	const struct latency_state *s = h->state;
	const struct bench_options *o = h->g->options;

	if (variant_of(h) == OPEN_TRANSACTION)
		PQclear(PQexec(s->writer, "BEGIN; INSERT INTO bench.scratch VALUES (1)"));
	if (variant_of(h) == BACKLOG)
		world_sql(h->g->w, "SELECT bench.fill_outbox(1, %lld, %d, '{1,2,3}')",
		    (long long)((o->quick ? BACKLOG_QUICK : BACKLOG_FULL) * o->scale),
		    GROUND_BYTES);
}

static void end_trouble(const struct heat *h)
{
	const struct latency_state *s = h->state;

	if (variant_of(h) == OPEN_TRANSACTION)
		PQclear(PQexec(s->writer, "ROLLBACK"));
}

static void keep_due(const struct heat *h, const struct generator_result *result)
{
	const struct latency_state *s = h->state;
	const struct requests *r = s->requests;
	struct copy *copy = copy_new(ground_of(h)->w, "bench.sent");

	for (int i = 0; i < (int)h->n; i++) {
		copy_text(copy, r->all[WARM_UP + i].store);
		copy_text(copy, r->all[WARM_UP + i].notification_id);
		copy_int(copy, result->due_us[i]);
		copy_row(copy);
	}
	copy_end(copy);
	requests_witness(ground_of(h)->w, r, WARM_UP, (int)h->n);
}

static void add_column(struct histogram *to, const PGresult *res, int column)
{
	for (int i = 0; i < PQntuples(res); i++)
		if (!PQgetisnull(res, i, column))
			histogram_add(to, strtoll(PQgetvalue(res, i, column), NULL, 10));
}

static void read_latencies(const struct heat *h, struct outcome *ret)
{
	const char *shard = variant_of(h) == BACKLOG ? QUIET_SHARD : "-1";
	PGconn *conn = world_pg(ground_of(h)->w);
	PGresult *res =
	    PQexecParams(conn, tests_bench_sql_latencies_sql, 1, NULL, &shard, NULL, NULL, 0);
	struct histogram to_stream = {.n = 0};

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		die("%s", PQerrorMessage(conn));
	add_column(&ret->latency, res, 0);
	add_column(&to_stream, res, 1);
	ret->figures[FIGURE_P50] = (double)histogram_quantile(&ret->latency, 0.5) / 1000;
	ret->figures[FIGURE_P99] = (double)histogram_quantile(&ret->latency, 0.99) / 1000;
	ret->figures[FIGURE_MAX] = (double)ret->latency.max / 1000;
	ret->figures[FIGURE_STREAM_P50] = (double)histogram_quantile(&to_stream, 0.5) / 1000;
	ret->figures[FIGURE_STREAM_P99] = (double)histogram_quantile(&to_stream, 0.99) / 1000;
	PQclear(res);
	PQfinish(conn);
}

static void read_memory(const struct heat *h, struct outcome *ret)
{
	static const enum member services[] = {PRODUCER, RELAY, CONSUMER};
	double most = 0;

	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
		most = fmax(most, resources_peak_rss(proc_pid(ground_of(h)->members[services[i]])));
	ret->figures[FIGURE_RSS] = most;
}

/* History has no streams, and the backlog is not waited for; of both only what was sent is judged.
 */
static unsigned invariants_of(const struct heat *h)
{
	if (variant_of(h) == BACKLOG || variant_of(h) == HISTORY)
		return INVARIANTS_INTAKE;
	return INVARIANTS_ALL | INVARIANTS_TRIMMED;
}

static void measure_at(const struct heat *h, double per_second, struct outcome *ret)
{
	const struct latency_state *s = h->state;
	struct observer *observer = observer_start(
	    ground_of(h), variant_of(h) == BACKLOG ? (int)strtol(QUIET_SHARD, NULL, 10) : -1);
	struct generator_result result;

	begin_trouble(h);
	post(h, WARM_UP, (int)h->n, per_second, &result);
	await_effects(h, s->effects);
	end_trouble(h);
	read_memory(h, ret);
	observer_stop(observer);
	keep_due(h, &result);
	read_latencies(h, ret);
	ret->figures[FIGURE_RATE] = (double)h->n / result.seconds;
	ret->failed = !ledger_holds(h, result.others, 0) ||
		      invariants_broken(ground_of(h)->w, invariants_of(h)) > 0;
	ground_stop_all(ground_of(h));
	free(result.due_us);
}

static void measure_500(const struct heat *h, struct outcome *ret)
{
	measure_at(h, GROUND_RATE, ret);
}

/* Effects a second, from the first request to the last effect. */
static void measure_peak(const struct heat *h, struct outcome *ret)
{
	struct latency_state *s = h->state;
	double seconds;

	measure_at(h, 0, ret);
	seconds = (double)world_int(ground_of(h)->w,
		      "SELECT (SELECT max(bench.us(xid)) FROM effects.inbox)"
		      " - (SELECT min(at_us) FROM bench.sent)") /
		  1e6;
	ret->figures[FIGURE_RATE] = s->peak = (double)h->n / seconds;
}

static void setup_half(const struct heat *h)
{
	const struct latency_state *s = h->state;
	struct outcome ignored = {.failed = false};

	setup(h);
	if (s->peak > 0)
		return;
	measure_peak(h, &ignored);
	setup(h);
}

static void measure_half(const struct heat *h, struct outcome *ret)
{
	const struct latency_state *s = h->state;

	measure_at(h, s->peak / 2, ret);
}

static const struct contestant contestants[] = {
    {.name = "umavez-500",
	.what = "500 webhooks a second",
	.full = 2000,
	.quick = 500,
	.setup = setup,
	.measure = measure_500,
	.variant = PLAIN},
    {.name = "umavez-500-transaction",
	.what = "with a writing transaction open all the time",
	.full = 2000,
	.quick = 500,
	.setup = setup,
	.measure = measure_500,
	.variant = OPEN_TRANSACTION},
    {.name = "umavez-500-history",
	.what = "with rows of history (--history)",
	.full = 2000,
	.quick = 500,
	.setup = setup,
	.measure = measure_500,
	.variant = HISTORY},
    {.name = "umavez-500-backlog",
	.what = "in one shard, while a backlog drains in the three others",
	.full = 2000,
	.quick = 500,
	.setup = setup,
	.measure = measure_500,
	.variant = BACKLOG},
    {.name = "umavez-peak",
	.what = "webhooks to effects, 64 clients, closed loop",
	.full = 12000,
	.quick = 3000,
	.setup = setup,
	.measure = measure_peak,
	.variant = PEAK},
    {.name = "umavez-half",
	.what = "open loop at half of that",
	.full = 8000,
	.quick = 2000,
	.setup = setup_half,
	.measure = measure_half,
	.variant = HALF},
    {.name = "textbook-relay-500",
	.what = "commit to stream, polling every 10 ms",
	.full = 1000,
	.quick = 500,
	.program = "textbook-relay",
	.mode = "latency"},
    {.name = "pgq-500",
	.what = "PgQ, ticks 1 ms apart",
	.full = 1000,
	.quick = 500,
	.program = "pgq",
	.mode = "latency"},
    {.name = "pg-transactional-outbox-500",
	.what = "npm, polling",
	.full = 1000,
	.quick = 500,
	.program = "pg-transactional-outbox",
	.mode = "latency"},
    {.name = "pg-transactional-outbox-replication-500",
	.what = "npm, by replication",
	.full = 1000,
	.quick = 500,
	.program = "pg-transactional-outbox-replication",
	.mode = "latency"},
};

const struct chapter latency_chapter = {"latency", "from the webhook to the committed effect",
    contestants, sizeof(contestants) / sizeof(contestants[0]), open_chapter, close_chapter};
