/*
 * Deaths around messages that are parked: of the backend and of the process that a message kills,
 * of a consumer at each step, and of one that only seemed dead.
 */
#include "tests/consumer/stage.h"

#include "tests/support/files.h"
#include "tests/support/pause.h"
#include "tests/support/text.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define TICK INT64_C(1767225600000)

static const char *const quick[] = {
    "--max-attempts", "3", "--retry-min", "20ms", "--retry-max", "50ms", NULL};

/* As many as it takes: for tests in which nothing may fail for good. */
static const char *const patient[] = {
    "--max-attempts", "100000", "--retry-min", "5ms", "--retry-max", "10ms", NULL};

/* Failed after as many starts, its neighbours applied once, none of them parked. */
static void a_handler_that_kills_its_backend(void)
{
	struct stage *s = stage_open(1);
	struct proc *p;

	stage_on_message_5(
	    s, "PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1)");
	stage_add_many(s, TICK, 1, 9);
	p = stage_consumer(s, quick, NULL);
	CHECK(stage_await_effects(s, 8));
	CHECK(stage_await_parked(s, "failed m5"));
	CHECK_INT(world_int(s->w, "SELECT starts FROM effects.parked"), 3);
	CHECK(proc_log_has(p, "ended during each of 3 starts"));
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM effects.parked WHERE error LIKE"
				  " '%%each of 3 starts; the last said 57P01: terminating %%'"
				  " AND context LIKE '%%CONTEXT: %%PL/pgSQL function stage.%%'"),
	    1);
	stage_check_by_subject(s, 8);
	stage_mark(s, 5, "retry"); /* which kills it once more, and no more than that */
	CHECK(world_await_int(s->w, 4, STAGE_MS,
	    "SELECT coalesce(sum(starts), 0) FROM effects.parked WHERE state = 'failed'"
	    " AND error LIKE '%%during start 4; the last said 57P01: %%'"));
	stage_heal(s, 1000);
	stage_mark(s, 5, "retry");
	CHECK(stage_await_effects(s, 9));
	stage_check_by_subject(s, 9);
	stage_close(s);
}

static bool is_asleep(struct stage *s)
{
	return world_await_int(s->w, 1, STAGE_MS,
	    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
}

static void kill_it_in_its_handler(struct stage *s, struct proc *p)
{
	CHECK(is_asleep(s));
	proc_kill(p, SIGKILL);
	CHECK_INT(proc_wait(p, STAGE_MS), 128 + SIGKILL);
	world_sql(s->w, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
			" WHERE wait_event = 'PgSleep'");
	proc_restart(p);
}

static void a_message_that_kills_the_process(void)
{
	struct stage *s = stage_open(1);
	struct proc *p;

	stage_on_message_5(s, "PERFORM pg_sleep(60)");
	stage_add_many(s, TICK, 1, 9);
	p = stage_consumer(s, quick, NULL);
	for (int i = 0; i < 3; i++)
		kill_it_in_its_handler(s, p);
	CHECK(stage_await_effects(s, 8));
	CHECK(stage_await_parked(s, "failed m5"));
	CHECK_INT(world_int(s->w, "SELECT starts FROM effects.parked"), 3);
	stage_check_by_subject(s, 8);
	/* Marked, it is started once more; whoever comes next does not touch it. */
	stage_mark(s, 5, "retry");
	kill_it_in_its_handler(s, p);
	CHECK(stage_await_parked(s, "failed m5"));
	CHECK(proc_await_log(p, "ended during start 4", STAGE_MS));
	stage_close(s);
}

/* kill -9 at a point, in a consumer that has something to park, to retry and to release. */
static void killed_at(const char *point, bool healed)
{
	struct stage *s = stage_open(1);
	char *failpoints = text_format("consumer.%s=crash@2", point);
	struct proc *p;

	stage_poison(s, 5);
	stage_poison(s, 6);
	stage_add_many(s, TICK, 1, 20);
	p = stage_consumer(s, patient, healed ? NULL : failpoints);
	if (healed) {
		const char *env[] = {NULL, NULL};
		char *variable = text_format("UMAVEZ_FAILPOINTS=%s", failpoints);

		CHECK(stage_await_effects(s, 13));
		env[0] = variable;
		proc_set_env(p, env);
		proc_restart(p);
		stage_heal(s, 5);
		stage_heal(s, 6);
		free(variable);
	}
	CHECK_INT(proc_wait(p, STAGE_MS), 128 + SIGKILL);
	CHECK(world_int(s->w, "SELECT count(*) FROM stage.log") < 20);
	proc_set_env(p, NULL);
	proc_restart(p);
	CHECK(world_await_int(s->w, 1, STAGE_MS, "SELECT (count(*) >= 13)::int FROM stage.log"));
	stage_heal(s, 5);
	stage_heal(s, 6);
	CHECK(stage_await_effects(s, 20));
	CHECK(stage_await_parked(s, ""));
	stage_check_by_subject(s, 20);
	free(failpoints);
	stage_close(s);
}

static void killed_at_each_step(void)
{
	killed_at("after_start", false);
	killed_at("before_park", false);
	killed_at("after_park", false);
	killed_at("before_release", true);
	killed_at("after_release", true);
}

/* One that stopped inside the transaction that releases, and one that stopped just before it. */
static void a_zombie_that_releases(const char *point)
{
	static const char *const args[] = {"--lease", "1s", "--max-attempts", "100000",
	    "--retry-min", "50ms", "--retry-max", "100ms", NULL};
	struct stage *s = stage_open(1);
	char *log = text_format("UMAVEZ_FAILPOINT_LOG=%s/hits", world_dir(s->w));
	char *points = text_format("UMAVEZ_FAILPOINTS=consumer.%s=sleep(700)@1", point);
	const char *const env[] = {points, log, NULL};
	struct proc *zombie, *successor;

	stage_poison(s, 5);
	stage_add_many(s, TICK, 1, 20);
	zombie = stage_consumer(s, args, NULL);
	CHECK(stage_await_parked(s, "retrying m5 held m10 held m15 held m20"));
	proc_kill(zombie, SIGKILL);
	CHECK_INT(proc_wait(zombie, STAGE_MS), 128 + SIGKILL);
	stage_heal(s, 5);
	proc_set_env(zombie, env);
	proc_restart(zombie);
	while (!file_has(strchr(log, '=') + 1, point))
		sleep_ms(5);
	proc_kill(zombie, SIGSTOP);
	successor = stage_consumer(s, args, NULL);
	stage_add_many(s, TICK + 1, 21, 30);
	CHECK(stage_await_effects(s, 30));
	proc_kill(zombie, SIGCONT);
	stage_add_many(s, TICK + 2, 31, 40);
	CHECK(stage_await_effects(s, 40));
	CHECK(stage_await_parked(s, ""));
	stage_check_by_subject(s, 40);
	CHECK(proc_alive(zombie) && proc_alive(successor));
	free(log);
	free(points);
	stage_close(s);
}

static void a_zombie(void)
{
	a_zombie_that_releases("before_release");
	a_zombie_that_releases("after_start");
}

/* Two owners of one shard, and a handler that fails now and then. */
static void two_owners_and_a_flaky_handler(void)
{
	static const char *const args[] = {"--lease-off", "--batch", "7", "--max-attempts",
	    "100000", "--retry-min", "1ms", "--retry-max", "5ms", NULL};
	struct stage *s = stage_open(1);

	stage_on_message_5(s, "NULL; END IF; IF random() < 0.2 THEN RAISE 'now and then'");
	stage_add_many(s, TICK, 1, 300);
	stage_consumer(
	    s, args, "consumer.before_release=sleep(3)%0.3;consumer.after_start=sleep(3)%0.3");
	stage_consumer(
	    s, args, "consumer.before_commit=sleep(3)%0.3;consumer.before_park=sleep(3)%0.3");
	CHECK(stage_await_effects(s, 300));
	stage_check_by_subject(s, 300);
	CHECK(stage_await_parked(s, ""));
	CHECK(world_int(s->w, "SELECT count(DISTINCT instance) FROM effects.inbox") == 2);
	stage_close(s);
}

/* It comes again, and its owners die of something else: it is not given up, it was done. */
static void deaths_at_what_was_applied(void)
{
	static const char *const twice[] = {"--max-attempts", "2", NULL};
	struct stage *s = stage_open(1);
	struct proc *p = stage_consumer(s, twice, NULL);

	stage_add_many(s, TICK, 1, 10);
	CHECK(stage_await_effects(s, 10));
	proc_kill(p, SIGKILL);
	CHECK_INT(proc_wait(p, STAGE_MS), 128 + SIGKILL);
	stage_redis(s, "DEL " STAGE_STREAM);
	stage_add(s, 0, TICK, 5);
	p = stage_consumer(s, twice, "consumer.after_start=crash");
	CHECK(stage_await_answer(s, "start"));
	CHECK_INT(proc_wait(p, STAGE_MS), 128 + SIGKILL);
	proc_restart(p);
	CHECK_INT(proc_wait(p, STAGE_MS), 128 + SIGKILL);
	stage_consumer(s, twice, NULL);
	CHECK(stage_await_cursor(s, "1767225600000-5"));
	CHECK(stage_await_parked(s, ""));
	stage_add_many(s, TICK, 11, 20);
	CHECK(stage_await_effects(s, 20));
	stage_check_by_subject(s, 20);
	stage_close(s);
}

static const struct check checks[] = {
    {"a handler that kills its backend", a_handler_that_kills_its_backend},
    {"a message that kills the process", a_message_that_kills_the_process},
    {"killed at each step", killed_at_each_step},
    {"a zombie that releases", a_zombie},
    {"P12 deaths at what was applied", deaths_at_what_was_applied},
    {"two owners and a flaky handler", two_owners_and_a_flaky_handler},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer parked deaths", checks, argc, argv);
}
