/* How long the stream may get: pausing, what a flush brings back, and large events. */
#include "tests/relay/stack.h"
#include "tests/support/pause.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* After a flush a stream is filled again from what was acknowledged, less the margin. */
static void filled_from_the_acknowledged(void)
{
	struct world *w = stack_open(1);

	stack_relay(w, (const char *const[]){"--replay-margin", "0", NULL}, NULL);
	stack_emit(w, "a", 50);
	stack_check(w, 0);
	world_redis_run(w, "XGROUP CREATE " STREAM " g 0");
	CHECK_INT(stack_read_group(w, "g", 50, 50), 50);
	CHECK(stack_await_length(w, 1));
	stack_emit(w, "b", 30);
	CHECK(stack_await_length(w, 31));
	world_redis_run(w, "FLUSHALL");
	/* From the beginning of the acknowledged entry's tick. */
	CHECK(stack_await_length(
	    w, world_int(w, "SELECT count(*) FROM intake.outbox AS o "
			    "JOIN intake.stream_group AS g ON intake.in_tick(0::smallint, "
			    "g.acknowledged_tick, o.id, o.xid) OR o.id > g.acknowledged_id")));
	CHECK_INT(invariants_broken(w, INVARIANTS_STREAM | INVARIANTS_TRIMMED), 0);
	world_close(w);
}

static void pauses_at_the_limit(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w,
	    (const char *const[]){"--stream-max-length", "100", "--append-batch", "10", NULL},
	    NULL);
	char *body;
	int status;

	stack_emit(w, "a", 10);
	CHECK(stack_await_length(w, 10));
	world_redis_run(w, "XGROUP CREATE " STREAM " sleepy 0");
	stack_emit(w, "b", 490);
	CHECK(proc_await_log(relay, "group sleepy holds it back", WAIT_MS));
	body = stack_readyz(relay, &status);
	CHECK_INT(status, 503);
	CHECK(strstr(body, "sleepy") != NULL);
	free(body);
	CHECK_INT(stack_shard_metric(relay, "paused"), 1);
	CHECK(stack_length(w) > 100 && stack_length(w) <= 110);

	int64_t effects = 0;
	while (effects < 500) {
		int64_t n = stack_read_group(w, "sleepy", 50, 50);

		effects += n;
		if (n == 0)
			sleep_ms(20);
		CHECK(stack_length(w) <= 110);
	}
	CHECK_INT(effects, 500);
	CHECK(stack_await_length(w, 1));
	CHECK(proc_await_ready(relay, WAIT_MS));
	CHECK_INT(stack_shard_metric(relay, "paused"), 0);
	world_close(w);
}

/* A consumer that waits in front of others' entries passes them with the next message only. */
static void not_full_of_what_others_added(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w,
	    (const char *const[]){"--stream-max-length", "20", "--append-batch", "5", NULL}, NULL);

	stack_emit(w, "a", 5);
	CHECK(stack_await_length(w, 5));
	world_redis_run(w, "XGROUP CREATE " STREAM " g 0");
	CHECK_INT(stack_read_group(w, "g", 5, 5), 5);
	CHECK(stack_await_length(w, 1));
	for (int i = 0; i < 40; i++)
		world_redis_run(w, "XADD " STREAM " * some thing");
	stack_emit(w, "b", 1);
	CHECK(stack_await_length(w, 42));
	/* Now one of ours waits. */
	stack_emit(w, "c", 5);
	CHECK(proc_await_log(relay, "group g holds it back", WAIT_MS));
	CHECK_INT(stack_length(w), 42);

	int64_t n = 0;
	while (n < 46) {
		n += stack_read_group(w, "g", 50, 50);
		sleep_ms(20);
	}
	CHECK(stack_await_length(w, 1));
	CHECK(proc_await_ready(relay, WAIT_MS));
	world_close(w);
}

/* Nothing is skipped, and nothing behind it is published; what is before it is. */
static void too_large_an_event(void)
{
	struct world *w = stack_open(1);
	struct proc *relay =
	    stack_relay(w, (const char *const[]){"--max-event", "2KiB", NULL}, NULL);

	stack_emit(w, "a", 5);
	world_sql(w, "BEGIN; SELECT intake.emit('app', 'before', 't', 's', '{}');"
		     "SELECT intake.emit('app', 'large', 't', 's', "
		     "json_build_object('x', repeat('x', 3000)));"
		     "SELECT intake.emit('app', 'behind', 't', 's', '{}'); COMMIT");
	stack_emit(w, "b", 5);
	CHECK(proc_await_log(relay, "message large", WAIT_MS));
	CHECK(proc_log_has(relay, "--max-event"));
	CHECK(stack_await_length(w, 6));
	CHECK_INT(stack_shard_metric(relay, "paused"), 1);

	proc_kill(relay, SIGKILL);
	proc_wait(relay, WAIT_MS);
	stack_relay(w, (const char *const[]){"--max-event", "4KiB", NULL}, NULL);
	stack_check(w, 0);
	CHECK_INT(stack_length(w), 13);
	world_close(w);
}

/* Events that are large but allowed: requests are bounded by bytes, not only by rows. */
static void large_events(void)
{
	struct world *w = stack_open(1);

	stack_relay(w, NULL, NULL);
	world_sql(w,
	    "SELECT intake.emit('app', 'm' || g, 't', 's', "
	    "json_build_object('x', repeat('x', 300000))) FROM generate_series(1, 40) AS g");
	stack_check(w, 0);
	world_close(w);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"an empty stream is filled from the acknowledged", filled_from_the_acknowledged},
	    {"not full of what others added", not_full_of_what_others_added},
	    {"B43 pauses at the limit, and resumes alone", pauses_at_the_limit},
	    {"B35 too large an event stops its shard, visibly", too_large_an_event},
	    {"large events", large_events},
	    {NULL, NULL},
	};
	return check_main("relay bounds", checks, argc, argv);
}
