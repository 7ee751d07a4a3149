/*
 * What the relay does for the operator's repairs: it says where a row first stood, and remembers
 * gaps.
 */
#include "tests/relay/stack.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world *world;
static struct proc *relay;

/* The value of a field of the stream's newest entry; malloc'd, NULL: it has none. */
static char *newest_field(const char *name)
{
	redisContext *redis = world_redis(world);
	redisReply *reply = redisCommand(redis, "XREVRANGE umavez:purchases:{0} + - COUNT 1");
	redisReply *fields = reply->element[0]->element[1];
	char *value = NULL;

	for (size_t i = 0; i < fields->elements; i += 2) {
		if (strcmp(fields->element[i]->str, name) == 0)
			value = strdup(fields->element[i + 1]->str);
	}
	freeReplyObject(reply);
	redisFree(redis);
	return value;
}

static void check_first_position(void)
{
	char *id, *first;

	stack_emit(world, "a", 1);
	stack_check(world, 0);
	id = stack_last_id(world, 0);
	CHECK(newest_field("first_position") == NULL);
	CHECK_INT(world_int(world, "SELECT intake.republish(array_agg(id)) FROM intake.outbox"), 1);
	stack_check(world, 0);
	first = newest_field("first_position");
	CHECK_STR(first, id);
	free(first);
	/* Of a republished row it stays. */
	CHECK_INT(
	    world_int(world, "SELECT intake.republish(ARRAY[max(id)]) FROM intake.outbox"), 1);
	stack_check(world, 0);
	first = newest_field("first_position");
	CHECK_STR(first, id);
	free(first);
	free(id);
}

/* Halving finds the same tick as looking at all of them. */
static void check_first_tick(void)
{
	for (int i = 0; i < 12; i++) {
		char prefix[16];

		snprintf(prefix, sizeof(prefix), "t%d-", i);
		stack_emit(world, prefix, 3);
		CHECK(stack_await_published(world, WAIT_MS));
	}
	CHECK(world_int(world, "SELECT count(*) FROM intake.tick") > 10);
	CHECK_INT(world_int(world,
		      "SELECT count(*) FROM intake.outbox AS o WHERE intake.first_tick(shard, xid)"
		      " IS DISTINCT FROM (SELECT min(t.tick) FROM intake.tick AS t WHERE"
		      " t.shard = o.shard AND pg_visible_in_snapshot(o.xid, t.snapshot))"),
	    0);
}

static void check_gap(void)
{
	proc_kill(relay, SIGKILL);
	proc_wait(relay, WAIT_MS);
	world_sql(
	    world, "DELETE FROM intake.tick WHERE tick < (SELECT max(tick) FROM intake.tick)");
	world_sql(world,
	    "INSERT INTO intake.stream_group (shard, name, acknowledged_tick, acknowledged_id)"
	    " VALUES (0, 'entitlements', 7, 3)");
	world_redis_run(world, "FLUSHALL");
	proc_restart(relay);
	CHECK(world_await_int(world, 1, WAIT_MS,
	    "SELECT count(*) FROM intake.gap WHERE shard = 0 AND after_tick = 7 AND after_id = 3"
	    " AND tick = (SELECT min(tick) FROM intake.tick)"));
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"a republished row says where it first stood", check_first_position},
	    {"the first tick of a row", check_first_tick},
	    {"a gap is noted", check_gap},
	    {NULL, NULL},
	};
	int status;

	world = stack_open(1);
	relay = stack_relay(world, NULL, NULL);
	status = check_main("relay repair", checks, argc, argv);
	world_close(world);
	return status;
}
