/*
 * A Redis Cluster with shards on each of its masters, under load: a master and its replica are
 * away; a slot moves to another master; one dies and its replica, which has missed the last
 * entries, takes its place.  What is lost comes back under the same IDs, and effects happen once.
 */
#include "tests/crash/stack.h"
#include "tests/crash/streams.h"
#include "tests/support/cluster.h"
#include "tests/support/files.h"

#include <stdio.h>

#define MOVES 2
#define FAILOVERS 2
#define NOTIFICATIONS 300
#define PER_SECOND 100
#define MISSED 5
#define SHARDS 4
#define MASTERS 3
#define LONELY 3 /* the only shard of its node */

#define REWOUND "Redis has lost entries"

static void key_of(unsigned shard, char key[64])
{
	snprintf(key, 64, STREAM, shard);
}

static int node_of(const struct cluster *c, unsigned shard)
{
	char key[64];

	key_of(shard, key);
	return cluster_owner(c, key);
}

static int nodes_with_shards(const struct cluster *c)
{
	bool used[CLUSTER_NODES] = {false};
	int n = 0;

	for (unsigned shard = 0; shard < SHARDS; shard++) {
		int node = node_of(c, shard);

		n += !used[node];
		used[node] = true;
	}
	return n;
}

struct growth {
	struct world *world;
	unsigned shard;
	int64_t to;
};

static bool has_grown(void *ctx)
{
	const struct growth *g = ctx;

	return world_redis_int(g->world, "XLEN " STREAM, g->shard) >= g->to;
}

static void await_more(struct stack *s, unsigned shard)
{
	struct growth g = {s->world, shard, 0};

	g.to = world_redis_int(s->world, "XLEN " STREAM, shard) + MISSED;
	CHECK(await(has_grown, &g, STACK_WAIT_MS));
}

/* The master has entries that the replica has not, and dies. */
static void fail_over(struct stack *s, struct cluster *c, unsigned shard)
{
	int master = node_of(c, shard);

	cluster_lag(c, master);
	await_more(s, shard);
	streams_remember(s->world);
	cluster_fail_over(c, master);
	CHECK(node_of(c, shard) != master);
}

/* Entries are appended and read before and while the shard's keys are on their way, and after. */
static void move_slot(struct stack *s, struct cluster *c, unsigned shard)
{
	int to = node_of(c, (shard + 1) % SHARDS);
	char key[64];

	key_of(shard, key);
	if (to == node_of(c, shard))
		to = node_of(c, (shard + 2) % SHARDS);
	cluster_move_begin(c, key, to);
	await_more(s, shard);
	cluster_move_keys(c, key, to);
	await_more(s, shard);
	cluster_move_end(c, key, to);
	CHECK_INT(node_of(c, shard), to);
	await_more(s, shard);
}

static void start(struct stack *s, struct cluster **ret_cluster)
{
	stack_open(s);
	*ret_cluster = world_redis_add_cluster(s->world);
	CHECK_INT(nodes_with_shards(*ret_cluster), MASTERS);
	stack_keep_streams(s);
	s->producer = stack_producer(s, NULL, NULL);
	s->relay = stack_relay(s, NULL, NULL);
	s->consumer = stack_consumer(s, NULL, NULL);
}

static struct load *begin(struct stack *s, int round)
{
	struct load *l = stack_load(s, check_seed() + (uint64_t)round, NOTIFICATIONS, PER_SECOND);

	CHECK(load_await_part(l, 0.1, STACK_WAIT_MS));
	return l;
}

static void finish(struct stack *s, struct load *l)
{
	CHECK(load_wait(l, STACK_WAIT_MS));
	CHECK(streams_await_complete(s->world, STACK_WAIT_MS));
	stack_finish(s, l, 0);
	CHECK_INT(streams_forgotten(s->world), 0);
}

static void lagging_replicas(struct stack *s, struct cluster *c, int failovers)
{
	for (int i = 0; i < failovers; i++) {
		struct load *l = begin(s, i + 2);
		int64_t rewinds = file_count(proc_log(s->relay), REWOUND);

		fail_over(s, c, (unsigned)(i + 1) % SHARDS);
		finish(s, l);
		CHECK(file_count(proc_log(s->relay), REWOUND) > rewinds);
	}
}

static void moving_slots(struct stack *s, struct cluster *c, int moves)
{
	int64_t rewinds = file_count(proc_log(s->relay), REWOUND);
	struct load *l = begin(s, 1);

	for (int i = 0; i < moves; i++)
		move_slot(s, c, (unsigned)i % SHARDS);
	finish(s, l);
	CHECK_INT(file_count(proc_log(s->relay), REWOUND), rewinds);
}

/* Rows whose shard has nothing to do with that node, or has, and whose effect is still to come. */
static int64_t waiting(struct world *w, unsigned paused, const char *which)
{
	return world_int(w,
	    "SELECT count(*) FROM intake.outbox AS o WHERE o.shard %s %u AND NOT EXISTS (SELECT "
	    "FROM effects.inbox AS i WHERE (i.source, i.message_id) = (o.source, o.message_id))",
	    which, paused);
}

static bool only_it_waits(void *ctx)
{
	struct world *w = ctx;

	return waiting(w, LONELY, "<>") == 0 && waiting(w, LONELY, "=") > 0;
}

static void start_again(struct cluster *c, int node)
{
	cluster_start(c, node);
	cluster_start(c, cluster_replica(c, node));
	cluster_await(c);
}

/* Its shard waits, ready for when it is back, empty; the others, of the same processes, go on. */
static void node_away(struct stack *s, struct cluster *c)
{
	int node = node_of(c, LONELY);
	struct load *l = begin(s, 0);

	for (unsigned shard = 0; shard < SHARDS; shard++)
		CHECK((node_of(c, shard) == node) == (shard == LONELY));
	cluster_stop(c, cluster_replica(c, node));
	cluster_stop(c, node);
	CHECK(load_wait(l, STACK_WAIT_MS));
	CHECK(await(only_it_waits, s->world, STACK_WAIT_MS));
	CHECK_INT(
	    world_int(s->world, "SELECT count(*) FROM intake.shard_lease WHERE expires_at > now()"),
	    SHARDS);
	start_again(c, node);
	finish(s, l);
}

static void cluster_under_load(void)
{
	struct cluster *c;
	struct stack s;

	start(&s, &c);
	node_away(&s, c);
	moving_slots(&s, c, stack_scaled(MOVES));
	lagging_replicas(&s, c, stack_scaled(FAILOVERS));
	stack_close(&s);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"a node is away, slots move, masters die", cluster_under_load},
	    {NULL, NULL},
	};

	return check_main("crash cluster", checks, argc, argv);
}
