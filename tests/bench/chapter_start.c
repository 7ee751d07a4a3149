/*
 * From exec to the first /readyz that says 200.
 */
#include "common/clock.h"
#include "tests/bench/contestant.h"
#include "tests/support/die.h"

#define READY_MS 30000

/* Once before, so that program and catalogue are in memory. */
static void setup(const struct heat *h)
{
	enum member m = (enum member)h->contestant->variant;

	ground_reset(h->g);
	ground_start(h->g, m);
	ground_stop(h->g, m);
}

static void measure(const struct heat *h, struct outcome *ret)
{
	struct proc *p = h->g->members[h->contestant->variant];
	int64_t began_us = clock_mono_us();

	proc_restart(p);
	if (!proc_await_ready(p, READY_MS))
		die("%s: not ready", h->contestant->name);
	ret->figures[FIGURE_READY] = (double)(clock_mono_us() - began_us) / 1000;
}

static const struct contestant contestants[] = {
    {.name = "start-producer",
	.what = "three stores configured",
	.full = 1,
	.quick = 1,
	.setup = setup,
	.measure = measure,
	.variant = PRODUCER},
    {.name = "start-relay",
	.what = "4 shards",
	.full = 1,
	.quick = 1,
	.setup = setup,
	.measure = measure,
	.variant = RELAY},
    {.name = "start-consumer",
	.what = "4 shards",
	.full = 1,
	.quick = 1,
	.setup = setup,
	.measure = measure,
	.variant = CONSUMER},
};

const struct chapter start_chapter = {"start", "from start to ready", contestants,
    sizeof(contestants) / sizeof(contestants[0]), NULL, NULL};
