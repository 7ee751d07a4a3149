/*
 * What fails for ever, and what the dead have left behind, keeps nobody else waiting.
 *
 * Elsewhere these are cases of pending lists and of consumer names.  Here a cursor takes their
 * place; what they are after holds all the same.
 */
#include "tests/consumer/stage.h"

#include <signal.h>
#include <stdlib.h>

#define TICK INT64_C(1767225600000)

static void poison(struct stage *s, int first, int last)
{
	world_sql(s->w, "INSERT INTO stage.poison SELECT generate_series(%d, %d)", first, last);
}

static bool await_failed(struct stage *s, int n, int starts)
{
	return world_await_int(s->w, n, STAGE_MS,
	    "SELECT count(*) FROM effects.parked WHERE state = 'failed' AND starts = %d", starts);
}

/* One more than a batch holds, at its head. */
static void b35_more_that_fail_than_a_batch_holds(void)
{
	static const char *const args[] = {"--batch", "10", "--max-attempts", "3", "--retry-min",
	    "20ms", "--retry-max", "50ms", NULL};
	struct stage *s = stage_open(1);
	struct proc *p;

	poison(s, 1, 11);
	stage_add_apart(s, TICK, 1, 12);
	p = stage_consumer(s, args, NULL);
	CHECK(stage_await_effects(s, 1));
	CHECK(await_failed(s, 11, 3));
	CHECK(
	    stage_await_says(p, "/metrics", "umavez_dead_letters{consumer=\"entitlements\"} 11\n"));
	stage_add_apart(s, TICK + 1, 13, 40);
	CHECK(stage_await_effects(s, 29));
	/* Nobody tries them again. */
	CHECK(await_failed(s, 11, 3));
	CHECK(proc_await_ready(p, STAGE_MS));
	stage_check_effects(s, 29);
	stage_close(s);
}

/* A dead consumer had read 250 of them; its successor cannot do the first hundred. */
static void b45_the_first_of_a_dead_consumers_fail(void)
{
	static const char *const args[] = {"--batch", "100", "--max-attempts", "1000",
	    "--retry-min", "20ms", "--retry-max", "100ms", NULL};
	struct stage *s = stage_open(1);
	struct proc *p;

	poison(s, 1, 100);
	stage_add_apart(s, TICK, 1, 250);
	p = stage_consumer(s, args, "consumer.after_read=crash@1");
	CHECK_INT(proc_wait(p, STAGE_MS), 128 + SIGKILL);
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM effects.inbox"), 0);
	proc_set_env(p, NULL);
	proc_restart(p);
	CHECK(stage_await_effects(s, 150));
	CHECK_INT(
	    world_int(s->w, "SELECT count(*) FROM effects.parked WHERE state = 'retrying'"), 100);
	CHECK(stage_await_cursor(s, "1767225600000-250"));
	/* Each has its turn, not only the first ones. */
	CHECK(world_await_int(
	    s->w, 1, STAGE_MS, "SELECT (min(starts) >= 3)::int FROM effects.parked"));
	world_sql(s->w, "DELETE FROM stage.poison");
	CHECK(stage_await_effects(s, 250));
	CHECK(stage_await_parked(s, ""));
	stage_close(s);
}

static int64_t count_consumers(struct stage *s)
{
	char *text = stage_redis_text(s, "EVAL %s 1 " STAGE_STREAM " " STAGE_CONSUMER,
	    "return #redis.call('xinfo', 'groups', KEYS[1]) * 1000"
	    " + #redis.call('xinfo', 'consumers', KEYS[1], ARGV[1])");
	int64_t n = strtoll(text, NULL, 10);

	free(text);
	return n;
}

/* Each dies with three that it has read and not done. */
static void b47_fifty_die_and_leave_no_name(void)
{
	enum { DEATHS = 50, EACH = 3 };
	static const char *const args[] = {"--lease-off", NULL};
	struct stage *s = stage_open(1);
	struct proc *p = NULL;

	for (int i = 0; i < DEATHS; i++) {
		stage_add_many(s, TICK + i, EACH * i + 1, EACH * i + EACH);
		if (p)
			proc_restart(p);
		else
			p = stage_consumer(s, args, "consumer.after_read=crash@1");
		CHECK_INT(proc_wait(p, STAGE_MS), 128 + SIGKILL);
	}
	world_sql(s->w,
	    "INSERT INTO effects.instance SELECT '" STAGE_CONSUMER
	    "', 'dead' || n, now() - interval"
	    " '1 hour' FROM generate_series(1, %d) AS n",
	    DEATHS);
	stage_consumer(s, NULL, NULL);
	CHECK(stage_await_effects(s, DEATHS * EACH));
	CHECK(stage_await_bookmark(s, "1767225600049-150"));
	stage_check_effects(s, DEATHS * EACH);
	CHECK_INT(count_consumers(s), 1000); /* one group, and nobody in it */
	CHECK(world_await_int(s->w, 1, STAGE_MS, "SELECT count(*) FROM effects.instance"));
	stage_close(s);
}

static const struct check checks[] = {
    {"B35 more that fail than a batch holds", b35_more_that_fail_than_a_batch_holds},
    {"B45 the first of a dead consumer's fail", b45_the_first_of_a_dead_consumers_fail},
    {"B47 fifty die and leave no name", b47_fifty_die_and_leave_no_name},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer stuck", checks, argc, argv);
}
