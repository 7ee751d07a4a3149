/*
 * The producer: signed notifications over keep-alive connections, against the statement alone.
 */
#include "bench_text.h"
#include "producer_text.h"
#include "tests/bench/contestant.h"
#include "tests/bench/generator.h"
#include "tests/bench/limit_chains.h"
#include "tests/bench/pgbench.h"
#include "tests/support/die.h"
#include "tests/support/invariants.h"

#include <stdlib.h>
#include <string.h>

#define CLIENTS 64
#define LANES 4        /* --database-connections */
#define FULL_BATCH 256 /* --batch */

struct producer_state {
	struct requests *requests[LOAD_STORES]; /* made when first needed */
	double batch;                           /* notifications a transaction, at the peak */
	double peak;                            /* a second, in the latest round */
	bool has_batches[2];                    /* for pgbench: full ones; as the producer's */
};

static void *open_chapter(struct ground *g)
{
	struct producer_state *s = calloc(1, sizeof(*s));

	(void)g;
	if (s == NULL)
		die("out of memory");
	return s;
}

static void close_chapter(void *state)
{
	struct producer_state *s = state;

	for (int i = 0; i < LOAD_STORES; i++)
		requests_free(s->requests[i]);
	free(s);
}

static const struct requests *requests_of(const struct heat *h)
{
	struct producer_state *s = h->state;
	int store = h->contestant->variant;

	if (s->requests[store] == NULL || s->requests[store]->n < h->n) {
		requests_free(s->requests[store]);
		s->requests[store] = requests_new(h->g->w, (enum load_store)store, (int)h->n, 1);
	}
	return s->requests[store];
}

/* All requests; the median time of a commit comes from the producer's own histogram. */
static void post_all(
    const struct heat *h, struct proc *producer, double per_second, struct outcome *ret)
{
	const struct requests *requests = requests_of(h);
	const struct generator_options options = {
	    proc_url(producer), CLIENTS, per_second, requests, 0, (int)h->n};
	struct generator_result result;

	generator_run(&options, &result);
	ret->figures[FIGURE_RATE] = (double)h->n / result.seconds;
	ret->figures[FIGURE_P50] = (double)histogram_quantile(&result.latency, 0.5) / 1000;
	ret->figures[FIGURE_P99] = (double)histogram_quantile(&result.latency, 0.99) / 1000;
	ret->figures[FIGURE_MAX] = (double)result.latency.max / 1000;
	ret->figures[FIGURE_BATCH] = ground_metric(producer, "umavez_batch_size_sum") /
				     ground_metric(producer, "umavez_batch_size_count");
	ret->figures[FIGURE_COMMIT] = ground_median(producer, "umavez_commit_seconds") * 1000;
	ret->latency = result.latency;
	ret->series = result.answered;
	free(result.due_us);
	requests_witness(h->g->w, requests, 0, (int)h->n);
	if (!ledger_holds(h, result.others, 0) || invariants_broken(h->g->w, INVARIANTS_INTAKE) > 0)
		ret->failed = true;
}

static void setup(const struct heat *h)
{
	requests_of(h);
	ground_reset(h->g);
	ground_settle(h->g);
}

static void measure_peak(const struct heat *h, struct outcome *ret)
{
	struct producer_state *s = h->state;

	post_all(h, ground_start(h->g, PRODUCER), 0, ret);
	if (h->contestant->variant != LOAD_STRIPE)
		return;
	s->batch = ret->figures[FIGURE_BATCH];
	s->peak = ret->figures[FIGURE_RATE];
}

static void measure_single(const struct heat *h, struct outcome *ret)
{
	post_all(h, ground_start(h->g, PRODUCER_SINGLE), 0, ret);
}

/* What half of the peak is has to be known first. */
static void setup_half(const struct heat *h)
{
	const struct producer_state *s = h->state;
	struct outcome warm_up;

	setup(h);
	if (s->peak > 0)
		return;
	measure_peak(h, &warm_up);
	setup(h);
}

static void measure_half(const struct heat *h, struct outcome *ret)
{
	const struct producer_state *s = h->state;

	post_all(h, ground_start(h->g, PRODUCER), s->peak / 2, ret);
}

static bool is_full(const struct heat *h)
{
	return h->contestant->variant == FULL_BATCH;
}

static int batch_of(const struct heat *h)
{
	const struct producer_state *s = h->state;

	return is_full(h) ? FULL_BATCH : (int)(s->batch + 0.5);
}

static const char *table_of(const struct heat *h)
{
	return is_full(h) ? "bench.receive_full" : "bench.receive_usual";
}

/* The batches are made of what a producer has kept, which is then forgotten. */
static void make_batches(const struct heat *h)
{
	struct heat producer = *h;
	struct contestant stripe = *h->contestant;
	struct outcome warm_up;

	stripe.variant = LOAD_STRIPE;
	producer.contestant = &stripe;
	setup(&producer);
	measure_peak(&producer, &warm_up);
	world_sql(h->g->w, "SET bench.batch = %d; SET bench.clients = %d", batch_of(h), LANES);
	world_sql(h->g->w, "%s", tests_bench_sql_receive_table_sql);
	world_sql(h->g->w, "ALTER TABLE bench.receive RENAME TO %s", strchr(table_of(h), '.') + 1);
}

static void setup_receive(const struct heat *h)
{
	struct producer_state *s = h->state;

	if (!s->has_batches[is_full(h)])
		make_batches(h);
	s->has_batches[is_full(h)] = true;
	ground_reset(h->g);
	ground_settle(h->g);
}

static void measure_receive(const struct heat *h, struct outcome *ret)
{
	const struct pgbench bench = {.statement = producer_sql_receive_sql,
	    .table = table_of(h),
	    .clients = LANES,
	    .transactions = world_int(h->g->w, "SELECT max(n) FROM %s", table_of(h))};
	int64_t kept;

	ret->figures[FIGURE_RATE] = (double)h->n / pgbench_run(h->g, &bench);
	ret->figures[FIGURE_BATCH] = batch_of(h);
	kept = world_int(h->g->w, "SELECT count(*) FROM intake.notification");
	if (!ledger_holds(h, h->n - kept, 0) || invariants_broken(h->g->w, INVARIANTS_INTAKE) > 0)
		ret->failed = true;
}

static void measure_chains(const struct heat *h, struct outcome *ret)
{
	ret->figures[FIGURE_RATE] =
	    (double)h->n / CHAINS_A_NOTIFICATION / limit_chains(h->g->w, h->n);
}

static const struct contestant contestants[] = {
    {.name = "umavez-producer",
	.what = "Stripe, 64 keep-alive clients",
	.full = 30000,
	.quick = 8000,
	.setup = setup,
	.measure = measure_peak,
	.variant = LOAD_STRIPE},
    {.name = "limit-receive",
	.what = "pgbench, intake.receive in batches as the producer's",
	.full = 30000,
	.quick = 8000,
	.setup = setup_receive,
	.measure = measure_receive},
    {.name = "limit-receive-256",
	.what = "the same in batches of 256, which 64 clients cannot fill",
	.full = 30000,
	.quick = 8000,
	.setup = setup_receive,
	.measure = measure_receive,
	.variant = FULL_BATCH},
    {.name = "umavez-producer-single",
	.what = "one transaction a notification",
	.full = 8000,
	.quick = 3000,
	.setup = setup,
	.measure = measure_single,
	.variant = LOAD_STRIPE},
    {.name = "umavez-producer-half",
	.what = "open loop at half of its peak",
	.full = 16000,
	.quick = 4000,
	.setup = setup_half,
	.measure = measure_half,
	.variant = LOAD_STRIPE},
    {.name = "umavez-producer-app-store",
	.what = "App Store, 64 keep-alive clients",
	.full = 4000,
	.quick = 1500,
	.setup = setup,
	.measure = measure_peak,
	.variant = LOAD_APP_STORE},
    {.name = "limit-chains",
	.what = "every chain of an App Store notification verified anew, nothing else",
	.full = 2400,
	.quick = 900,
	.measure = measure_chains},
    {.name = "umavez-producer-google-play",
	.what = "Google Play, 64 keep-alive clients",
	.full = 6000,
	.quick = 2000,
	.setup = setup,
	.measure = measure_peak,
	.variant = LOAD_GOOGLE_PLAY},
    {.name = "pgq-enqueue",
	.what = "one transaction a message, 32 clients, no HTTP",
	.full = 8000,
	.quick = 3000,
	.program = "pgq",
	.mode = "enqueue"},
    {.name = "graphile-worker-enqueue",
	.what = "the same",
	.full = 5000,
	.quick = 2000,
	.program = "graphile-worker",
	.mode = "enqueue"},
    {.name = "pg-boss-enqueue",
	.what = "the same",
	.full = 5000,
	.quick = 2000,
	.program = "pg-boss",
	.mode = "enqueue"},
};

const struct chapter producer_chapter = {"producer", "notifications received and committed",
    contestants, sizeof(contestants) / sizeof(contestants[0]), open_chapter, close_chapter};
