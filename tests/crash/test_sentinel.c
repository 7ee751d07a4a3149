/*
 * Redis Sentinel fails over, under load, to a replica that has missed the last entries: services
 * that know the sentinels find the new master, what it lacks comes back under the same IDs, and
 * effects happen once.
 */
#include "tests/crash/stack.h"
#include "tests/crash/streams.h"
#include "tests/support/files.h"

#define FAILOVERS 2
#define NOTIFICATIONS 1000
#define PER_SECOND 100
#define MISSED 20
#define SHARDS 4

#define REWOUND "Redis has lost entries"

static int64_t entries(struct world *w)
{
	int64_t n = 0;

	for (unsigned shard = 0; shard < SHARDS; shard++)
		n += world_redis_int(w, "XLEN " STREAM, shard);
	return n;
}

struct growth {
	struct world *world;
	int64_t to;
};

static bool has_grown(void *ctx)
{
	const struct growth *g = ctx;

	return entries(g->world) >= g->to;
}

/* The master has entries that the replica has not, and dies. */
static void fail_over(struct stack *s, struct load *l)
{
	CHECK(load_await_part(l, 0.1, STACK_WAIT_MS));
	world_redis_lag(s->world);
	struct growth missed = {s->world, entries(s->world) + MISSED};
	CHECK(await(has_grown, &missed, STACK_WAIT_MS));
	streams_remember(s->world);
	CHECK(load_done(l) < load_deliveries(l));
	world_redis_failover(s->world);
}

static void to_lagging_replicas(void)
{
	int failovers = stack_scaled(FAILOVERS);
	struct stack s;

	stack_open(&s);
	world_redis_add_replica(s.world);
	stack_keep_streams(&s);
	s.producer = stack_producer(&s, NULL, NULL);
	s.relay = stack_relay(&s, NULL, NULL);
	s.consumer = stack_consumer(&s, NULL, NULL);
	for (int i = 0; i < failovers; i++) {
		struct load *l =
		    stack_load(&s, check_seed() + (uint64_t)i, NOTIFICATIONS, PER_SECOND);
		int64_t rewinds = file_count(proc_log(s.relay), REWOUND);

		fail_over(&s, l);
		CHECK(load_wait(l, STACK_WAIT_MS));
		CHECK(streams_await_complete(s.world, STACK_WAIT_MS));
		stack_finish(&s, l, 0);
		CHECK_INT(streams_forgotten(s.world), 0);
		CHECK(file_count(proc_log(s.relay), REWOUND) > rewinds);
	}
	stack_close(&s);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"Sentinel fails over to a replica that lags", to_lagging_replicas},
	    {NULL, NULL},
	};

	return check_main("crash sentinel", checks, argc, argv);
}
