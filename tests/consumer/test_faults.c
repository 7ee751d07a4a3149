/* Redis and PostgreSQL go away, lose things and come back. */
#include "tests/consumer/stage.h"

#include "tests/support/files.h"
#include "tests/support/pause.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define TICK INT64_C(1767225600000)

static int count_lines(const struct proc *p)
{
	char *text = file_read(proc_log(p), NULL);
	int n = 0;

	for (const char *at = text; at && (at = strchr(at, '\n')) != NULL; at++)
		n++;
	free(text);
	return n;
}

/* Fewer than 5 lines a second, and a handful that any event may cause. */
#define CHECK_QUIET(p, lines, since_ms)                                                            \
	CHECK(count_lines(p) - (lines) < 10 + 5 * (now_ms() - (since_ms)) / 1000)

static void lose_and_go_on(const char *command)
{
	struct stage *s = stage_open(1);
	struct proc *p = stage_consumer(s, NULL, NULL);
	int lines;
	int64_t since_ms;

	stage_add_many(s, TICK + 50, 1, 20);
	CHECK(stage_await_bookmark(s, "1767225600050-20"));
	lines = count_lines(p);
	since_ms = now_ms();
	stage_redis(s, command, STAGE_STREAM);
	/* Below the cursor's old place: a stream that began anew. */
	stage_add_many(s, TICK, 21, 25);
	CHECK(stage_await_answer(s, "start"));
	CHECK(stage_await_effects(s, 25));
	CHECK(stage_await_bookmark(s, "1767225600000-25"));
	CHECK(now_ms() - since_ms < 5000);
	stage_check_effects(s, 25);
	CHECK_QUIET(p, lines, since_ms);
	stage_close(s);
}

static void b48_flushall(void)
{
	lose_and_go_on("FLUSHALL");
}

static void b48_del(void)
{
	lose_and_go_on("DEL %s");
}

/* Refilled under the same IDs before anybody looks: nothing is applied twice. */
static void b48_flushed_and_refilled(void)
{
	struct stage *s = stage_open(1);

	stage_consumer(s, NULL, NULL);
	stage_add_many(s, TICK, 1, 20);
	CHECK(stage_await_bookmark(s, "1767225600000-20"));
	stage_redis(s, "FLUSHALL");
	stage_add_many(s, TICK, 1, 25);
	CHECK(stage_await_bookmark(s, "1767225600000-25"));
	stage_check_effects(s, 25);
	stage_close(s);
}

static void b48_xgroup_destroy(void)
{
	struct stage *s = stage_open(1);
	struct proc *p = stage_consumer(s, NULL, NULL);
	int lines;
	int64_t since_ms;

	stage_add_many(s, TICK, 1, 20);
	CHECK(stage_await_bookmark(s, "1767225600000-20"));
	lines = count_lines(p);
	since_ms = now_ms();
	stage_redis(s, "XGROUP DESTROY " STAGE_STREAM " " STAGE_CONSUMER);
	stage_add_many(s, TICK + 1, 21, 25);
	CHECK(stage_await_bookmark(s, "1767225600001-25"));
	stage_check_effects(s, 25);
	CHECK_QUIET(p, lines, since_ms);
	stage_close(s);
}

/* Another program made a group of our name, at `$`. */
static void b48_busygroup_is_success(void)
{
	struct stage *s = stage_open(1);
	struct proc *p;

	stage_redis(s, "XGROUP CREATE " STAGE_STREAM " " STAGE_CONSUMER " 0 MKSTREAM");
	stage_add_many(s, TICK, 1, 20);
	p = stage_consumer(s, NULL, NULL);
	CHECK(stage_await_bookmark(s, "1767225600000-20"));
	stage_check_effects(s, 20);
	CHECK(!proc_log_has(p, "BUSYGROUP"));
	stage_close(s);
}

/* B44, B45, B47: nothing is ever pending, there is nobody to claim from, no name is left behind. */
static void b44_nothing_is_pending(void)
{
	struct stage *s = stage_open(1);
	struct proc *p;
	char *pending;

	stage_add_many(s, TICK, 1, 3);
	stage_add_many(s, TICK + 1, 4, 6);
	stage_redis(s, "XDEL " STAGE_STREAM " %lld-2", (long long)TICK);
	p = stage_consumer(s, NULL, "consumer.after_commit=crash@6");
	CHECK(stage_await_effects(s, 5));
	stage_add_many(s, TICK + 2, 7, 7);
	CHECK_INT(proc_wait(p, STAGE_MS), 128 + SIGKILL);
	stage_redis(
	    s, "XDEL " STAGE_STREAM " %lld-7 %lld-6", (long long)TICK + 2, (long long)TICK + 1);
	proc_set_env(p, NULL);
	proc_restart(p);
	stage_add_many(s, TICK + 3, 8, 8);
	/* The entry at the cursor is gone. */
	CHECK(stage_await_answer(s, "none"));
	CHECK(stage_await_effects(s, 7));
	stage_check_effects(s, 7);
	pending = stage_redis_text(s, "EVAL %s 1 " STAGE_STREAM " " STAGE_CONSUMER,
	    "return redis.call('xpending', KEYS[1], ARGV[1])[1]"
	    " + #redis.call('xinfo', 'consumers', KEYS[1], ARGV[1])");
	CHECK_STR(pending, "0");
	free(pending);
	stage_close(s);
}

static void b51_a_stopped_redis(void)
{
	struct stage *s = stage_open(1);
	struct proc *p = stage_consumer(s, NULL, NULL);

	stage_add_many(s, TICK, 1, 10);
	CHECK(stage_await_effects(s, 10));
	kill(world_redis_pid(s->w), SIGSTOP);
	CHECK(proc_await_log(p, "timed out", STAGE_MS));
	CHECK(stage_await_says(p, "/readyz", "shard 0: Redis: "));
	kill(world_redis_pid(s->w), SIGCONT);
	stage_add_many(s, TICK + 1, 11, 20);
	CHECK(stage_await_effects(s, 20));
	stage_check_effects(s, 20);
	CHECK(proc_await_ready(p, STAGE_MS));
	stage_close(s);
}

static void reconnect(struct stage *s)
{
	redisFree(s->redis);
	s->redis = world_redis(s->w);
}

struct goal {
	struct stage *s;
	int effects;
};

/* What Redis lost, it may have lost with the entry at the cursor. */
static bool is_reached(void *ctx)
{
	const struct goal *g = ctx;

	(void)stage_answer(g->s, "start");
	return world_int(g->s->w, "SELECT count(*) FROM stage.log") >= g->effects;
}

static void redis_killed_again_and_again(void)
{
	struct stage *s = stage_open(1);
	struct proc *p = stage_consumer(s, NULL, NULL);

	for (int round = 0; round < 5; round++) {
		stage_add_many(s, TICK + round, 10 * round + 1, 10 * round + 10);
		CHECK(await(is_reached, &(struct goal){s, 10 * round + 10}, STAGE_MS));
		world_redis_stop(s->w, round % 2 == 0);
		world_redis_start(s->w, true);
		reconnect(s);
	}
	stage_check_effects(s, 50);
	CHECK(proc_alive(p));
	stage_close(s);
}

static void b50_a_replica_is_left_alone(void)
{
	struct stage *s = stage_open(1);
	struct proc *p = stage_consumer(s, NULL, NULL);

	stage_add_many(s, TICK, 1, 10);
	CHECK(stage_await_effects(s, 10));
	stage_redis(s, "REPLICAOF 127.0.0.1 1");
	CHECK(proc_await_log(p, "shard interrupted", STAGE_MS));
	stage_redis(s, "REPLICAOF NO ONE");
	stage_add_many(s, TICK + 1, 11, 20);
	CHECK(stage_await_effects(s, 20));
	stage_check_effects(s, 20);
	stage_close(s);
}

static void a_key_of_another_type(void)
{
	struct stage *s = stage_open(1);
	struct proc *p;

	stage_redis(s, "SET " STAGE_STREAM " x");
	p = stage_consumer(s, NULL, NULL);
	CHECK(proc_await_log(p, "WRONGTYPE", STAGE_MS));
	stage_redis(s, "DEL " STAGE_STREAM);
	stage_add_many(s, TICK, 1, 10);
	CHECK(stage_await_effects(s, 10));
	stage_close(s);
}

static void postgres_killed_again_and_again(void)
{
	static const char *const args[] = {"--batch", "10", NULL};
	struct stage *s = stage_open(1);
	struct proc *p = stage_consumer(s, args, NULL);

	for (int round = 0; round < 5; round++) {
		stage_add_many(s, TICK + round, 100 * round + 1, 100 * round + 100);
		CHECK(world_await_int(
		    s->w, 1, STAGE_MS, "SELECT (count(*) > %d)::int FROM stage.log", 100 * round));
		world_pg_stop(s->w, "immediate");
		world_pg_start(s->w);
	}
	CHECK(stage_await_effects(s, 500));
	stage_check_effects(s, 500);
	CHECK(proc_alive(p));
	stage_close(s);
}

static void started_before_the_database(void)
{
	struct stage *s = stage_open(1);
	struct proc *p;

	stage_add_many(s, TICK, 1, 10);
	world_pg_stop(s->w, "fast");
	p = stage_consumer(s, NULL, NULL);
	CHECK(proc_await_log(p, "database is away", STAGE_MS));
	CHECK(stage_await_says(p, "/readyz", "server"));
	world_pg_start(s->w);
	CHECK(stage_await_effects(s, 10));
	CHECK(proc_await_ready(p, STAGE_MS));
	stage_close(s);
}

/* The server ends the session between the effects and their commit, and after it has committed. */
static void sessions_are_terminated(void)
{
	static const char *const args[] = {"--batch", "5", NULL};
	struct stage *s = stage_open(1);

	stage_add_many(s, TICK, 1, 300);
	stage_consumer(s, args, "consumer.before_commit=sleep(5);consumer.after_commit=sleep(5)");
	while (world_int(s->w, "SELECT count(*) FROM stage.log") < 250)
		world_sql(s->w, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
				" WHERE application_name = 'umavez-consumer/0' AND random() < 0.3"
				" AND now() - backend_start > '100 ms'; SELECT pg_sleep(0.02)");
	CHECK(stage_await_effects(s, 300));
	stage_check_effects(s, 300);
	stage_close(s);
}

static const struct check checks[] = {
    {"B48 FLUSHALL", b48_flushall},
    {"B48 DEL", b48_del},
    {"B48 flushed and refilled", b48_flushed_and_refilled},
    {"B48 XGROUP DESTROY", b48_xgroup_destroy},
    {"B48 BUSYGROUP is success", b48_busygroup_is_success},
    {"B44 B45 B47 nothing is pending", b44_nothing_is_pending},
    {"B51 a stopped Redis", b51_a_stopped_redis},
    {"Redis killed again and again", redis_killed_again_and_again},
    {"B50 a replica is left alone", b50_a_replica_is_left_alone},
    {"a key of another type", a_key_of_another_type},
    {"PostgreSQL killed again and again", postgres_killed_again_and_again},
    {"started before the database", started_before_the_database},
    {"sessions are terminated", sessions_are_terminated},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer faults", checks, argc, argv);
}
