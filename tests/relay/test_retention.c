/*
 * Retention in the relay: what it drops and announces while rows come, and what it tells.
 */
#include "tests/relay/stack.h"
#include "tests/schema/past.h"

#include <stdlib.h>
#include <string.h>

static const char *const args[] = {"--retention-interval", "50ms", NULL};

static struct world *open_past(void)
{
	struct world *w = stack_open(1);

	past_make(w);
	world_redis_run(w, "XGROUP CREATE umavez:purchases:{0} g 0 MKSTREAM");
	return w;
}

/* The group has read everything that is there. */
static void read_all(struct world *w)
{
	char *last = stack_last_id(w, 0);

	world_redis_run(w, "XGROUP SETID umavez:purchases:{0} g %s", last);
	free(last);
}

static bool await_old(struct world *w, int64_t n)
{
	return world_await_int(w, n, WAIT_MS,
	    "SELECT count(*) FROM intake.partition WHERE parent = 'outbox' AND"
	    " end_day <= (now() AT TIME ZONE 'UTC')::date - 7");
}

/* The floor that Redis has is behind the root of the chain. */
static bool is_announced(void *w)
{
	char *floor = world_redis_text(w, "GET umavez:floor:{0}");
	bool announced = floor && strtoll(floor, NULL, 10) > 1 && strstr(floor, "-0");

	free(floor);
	return announced;
}

/* B41, B43: it is published first, then read, and only then dropped. */
static void drops_what_was_read(void)
{
	struct world *w = open_past();
	struct proc *relay;

	world_sql(w, "ALTER ROLE w_relay SET timezone = 'Asia/Tokyo'");
	past_row(w, 0, 30, "forgotten");
	relay = stack_relay(w, args, NULL);
	CHECK(stack_await_published(w, WAIT_MS));
	CHECK(proc_await_log(relay, "a partition past its retention is kept", WAIT_MS));
	CHECK(await_old(w, 1)); /* the one that it lies in */
	CHECK(stack_await_metric(relay, "umavez_retention_held ", 1, WAIT_MS));
	CHECK(stack_await_metric(relay, "umavez_partitions_ahead_days ", 14, WAIT_MS));
	CHECK_INT(world_int(w, "SELECT count(*) FROM intake.outbox"), 1);
	read_all(w);
	/* The next tick's predecessor is the one that it stands in. */
	stack_emit(w, "more", 3);
	CHECK(stack_await_published(w, WAIT_MS));
	read_all(w);
	CHECK(await_old(w, 0));
	CHECK(stack_await_metric(relay, "umavez_partitions_dropped_total ", PAST_OLD, WAIT_MS));
	CHECK(await(is_announced, w, WAIT_MS));
	world_close(w);
}

/* The stream's only entry is of a row that is gone; a restart makes nothing of it. */
static void idle_for_long(void)
{
	struct world *w = open_past();
	struct proc *relay;

	past_row(w, 0, 30, "lonely");
	relay = stack_relay(w, args, NULL);
	CHECK(stack_await_published(w, WAIT_MS));
	read_all(w);
	past_tick(w, 0, 0);
	past_tick(w, 0, 0);
	CHECK(await_old(w, 0));
	CHECK_INT(world_int(w, "SELECT count(*) FROM intake.outbox"), 0);
	proc_restart(relay);
	stack_emit(w, "more", 3);
	CHECK(world_await_int(w, 0, WAIT_MS,
	    "SELECT count(*) FROM intake.outbox AS o WHERE NOT"
	    " EXISTS (SELECT FROM intake.tick AS t WHERE"
	    " intake.in_tick(o.shard, t.tick, o.id, o.xid))"));
	CHECK(stack_await_metric(relay, "umavez_appended_total{shard=\"0\"} ", 3, WAIT_MS));
	CHECK_INT(world_redis_int(w, "EXISTS umavez:aside:{0}"), 0);
	CHECK(!proc_log_has(relay, "level=error"));
	world_close(w);
}

static void tells_of_default(void)
{
	struct world *w = open_past();
	struct proc *relay;
	char *body;
	int status;

	past_row(w, 0, 25, "of no day");
	relay = stack_relay(w, args, NULL);
	CHECK(stack_await_metric(relay, "umavez_default_partition_rows ", 1, WAIT_MS));
	CHECK(proc_await_log(relay, "rows without a partition of their day", WAIT_MS));
	body = stack_readyz(relay, &status);
	CHECK_INT(status, 200);
	CHECK(strstr(body, "DEFAULT") != NULL);
	free(body);
	CHECK(stack_await_published(w, WAIT_MS));
	stack_emit(w, "more", 3);
	CHECK(stack_await_published(w, WAIT_MS));
	read_all(w);
	CHECK(world_await_int(w, 0, WAIT_MS, "SELECT count(*) FROM intake.outbox_default"));
	world_close(w);
}

static const struct check checks[] = {
    {"B41 B43 what was read is dropped, and the floor announced", drops_what_was_read},
    {"a shard that was idle for long", idle_for_long},
    {"rows in DEFAULT are told, published, and removed", tells_of_default},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("relay retention", checks, argc, argv);
}
