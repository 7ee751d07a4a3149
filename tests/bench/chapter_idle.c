/*
 * What the three services cost when there is nothing to do.
 */
#include "common/clock.h"
#include "tests/bench/contestant.h"
#include "tests/bench/resources.h"
#include "tests/support/pause.h"

#define STATEMENTS "pg_stat_statements"
#define SETTLE_MS 2000

static const enum member services[] = {PRODUCER, RELAY, CONSUMER};

/* Statements are counted by the server, which must load that at its start; so only for this
 * chapter. */
static void *open_chapter(struct ground *g)
{
	world_sql(g->w, "ALTER SYSTEM SET shared_preload_libraries = " STATEMENTS);
	ground_restart_postgres(g);
	world_sql(g->w, "CREATE EXTENSION " STATEMENTS);
	return g;
}

static void close_chapter(void *state)
{
	struct ground *g = state;

	world_sql(g->w, "ALTER SYSTEM RESET shared_preload_libraries");
	ground_restart_postgres(g);
}

static void setup(const struct heat *h)
{
	ground_reset(h->g);
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
		ground_start(h->g, services[i]);
	/* Registering, partitions and plans are not idleness. */
	sleep_ms(SETTLE_MS);
}

static int64_t cpu_us(struct ground *g)
{
	int64_t us = 0;

	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
		us += resources_cpu_us(proc_pid(g->members[services[i]]));
	return us;
}

/* h->n: for how many milliseconds. */
static void measure(const struct heat *h, struct outcome *ret)
{
	int64_t began_us, cpu_began_us;
	double seconds, statements;

	world_sql(h->g->w, "SELECT pg_stat_statements_reset()");
	began_us = clock_mono_us();
	cpu_began_us = cpu_us(h->g);
	sleep_ms(h->n);
	statements =
	    (double)world_int(h->g->w, "SELECT coalesce(sum(calls), 0)::bigint FROM " STATEMENTS
				       " WHERE userid <> 'postgres'::regrole");
	seconds = (double)(clock_mono_us() - began_us) / 1e6;
	ret->figures[FIGURE_CPU] = (double)(cpu_us(h->g) - cpu_began_us) / 1e4 / seconds;
	ret->figures[FIGURE_STATEMENTS] = statements / seconds / GROUND_SHARDS;
}

static const struct contestant contestants[] = {
    {.name = "umavez-idle",
	.what = "all three services, nothing to do",
	.full = 4000,
	.quick = 1500,
	.setup = setup,
	.measure = measure},
};

const struct chapter idle_chapter = {"idle", "what doing nothing costs", contestants,
    sizeof(contestants) / sizeof(contestants[0]), open_chapter, close_chapter};
