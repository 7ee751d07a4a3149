/* Database, Redis, the intake, or two of them go back, in the middle of something. */
#include "tests/consumer/restored.h"

#include <signal.h>

#define HALF_WAY "1767225600005-13"

/* Half of a replay is applied. */
static struct stage *half_way(struct proc **ret_consumer)
{
	struct stage *s = restored_asking(ret_consumer);

	restored_answer(s, RESTORED_CURSOR, "1767225600005");
	restored_play(s, RESTORED_TICK + 5, 13);
	CHECK(stage_await_effects(s, 13));
	CHECK(stage_await_field(s, RESTORED_ANSWER, NULL));
	CHECK(stage_await_bookmark(s, HALF_WAY));
	return s;
}

/* Redis comes back with an older copy: read from its beginning, 16 would be applied before 14. */
static void a_replay_that_redis_loses(void)
{
	struct proc *p;
	struct stage *s = half_way(&p);

	stage_redis(s, "DEL " STAGE_STREAM);
	stage_add_many(s, RESTORED_TICK, 16, 20);
	CHECK(stage_await_field(s, RESTORED_ASK, HALF_WAY));
	CHECK(stage_await_cursor(s, HALF_WAY));
	restored_play(s, RESTORED_TICK + 5, 20);
	CHECK(stage_await_says(p, "/readyz", "waiting for the relay"));
	restored_answer(s, HALF_WAY, "none");
	CHECK(stage_await_effects(s, 20));
	stage_check_effects(s, 20);
	CHECK(stage_await_cursor(s, "1767225600005-20"));
	stage_close(s);
}

/* The stream has an end behind the cursor, and what the relay publishes there is only what it
 * lacked: its repair has voided the replay. */
static void a_replay_that_a_repair_voids(void)
{
	struct proc *p;
	struct stage *s = half_way(&p);

	proc_kill(p, SIGKILL);
	proc_wait(p, STAGE_MS);
	stage_redis(s, "DEL " STAGE_STREAM);
	stage_add_many(s, RESTORED_TICK, 9, 20);
	stage_redis(s, "XGROUP CREATE " STAGE_STREAM " " STAGE_CONSUMER " " RESTORED_CURSOR);
	stage_redis(s, "XADD " STAGE_STREAM " %lld-0 some thing", (long long)RESTORED_TICK + 6);
	stage_add(s, 0, RESTORED_TICK + 7, 21);
	proc_restart(p);
	CHECK(stage_await_field(s, RESTORED_ASK, HALF_WAY));
	restored_answer(s, HALF_WAY, "1767225600008");
	stage_add_many(s, RESTORED_TICK + 8, 14, 21);
	CHECK(stage_await_effects(s, 21));
	stage_check_effects(s, 21);
	stage_close(s);
}

/* The cursor is kept until the stream has an entry again, which tells what is missing. */
static void flushed_at_the_same_time(void)
{
	struct proc *p;
	struct stage *s = restored_open(&p);

	stage_redis(s, "FLUSHALL");
	proc_restart(p);
	CHECK(stage_await_bookmark(s, "0-0"));
	CHECK(proc_await_ready(p, STAGE_MS));
	stage_add_many(s, RESTORED_TICK, 16, 20);
	CHECK(stage_await_field(s, RESTORED_ASK, RESTORED_CURSOR));
	restored_answer(s, RESTORED_CURSOR, "1767225600005");
	restored_play(s, RESTORED_TICK + 5, 20);
	CHECK(stage_await_effects(s, 20));
	stage_check_effects(s, 20);
	stage_close(s);
}

/* The same under the feet of a consumer at work: its next batch finds another cursor. */
static void restored_while_running(void)
{
	struct stage *s = stage_open(1);

	stage_consumer(s, NULL, NULL);
	stage_add_many(s, RESTORED_TICK, 1, 20);
	CHECK(stage_await_effects(s, 20));
	CHECK(stage_await_bookmark(s, "1767225600000-20"));
	restored_forget(s);
	restored_trim(s);
	CHECK(stage_await_field(s, RESTORED_ASK, RESTORED_CURSOR));
	restored_answer(s, RESTORED_CURSOR, "1767225600005");
	restored_play(s, RESTORED_TICK + 5, 20);
	CHECK(stage_await_effects(s, 20));
	stage_check_effects(s, 20);
	stage_close(s);
}

/* The batch in hand was read from a cursor that is no more: only the comparison notices. */
static void restored_under_a_batch(void)
{
	static const char *const args[] = {"--lease", "20s", NULL};
	struct stage *s = stage_open(1);

	stage_add_many(s, RESTORED_TICK, 1, 20);
	/* The first 20 go one by one. */
	stage_consumer(s, args, "consumer.before_inbox=sleep(1000)@21");
	CHECK(stage_await_bookmark(s, "1767225600000-20"));
	stage_add(s, 0, RESTORED_TICK, 21);
	CHECK(world_await_int(s->w, 1, STAGE_MS,
	    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'umavez-consumer/0'"
	    " AND state = 'idle in transaction' AND query = 'BEGIN'"));
	restored_forget(s);
	CHECK(stage_await_field(s, RESTORED_ASK, RESTORED_CURSOR));
	restored_answer(s, RESTORED_CURSOR, "none");
	CHECK(stage_await_effects(s, 21));
	stage_check_effects(s, 21);
	stage_close(s);
}

/* A database without any memory of this consumer. */
static void restored_to_nothing(void)
{
	struct stage *s = stage_open(1);
	struct proc *p = stage_consumer(s, NULL, NULL);

	stage_add_many(s, RESTORED_TICK, 1, 20);
	CHECK(stage_await_bookmark(s, "1767225600000-20"));
	proc_kill(p, SIGTERM);
	CHECK_INT(proc_wait(p, STAGE_MS), 0);
	world_sql(s->w, "TRUNCATE stage.log, effects.inbox, effects.cursor");
	restored_trim(s);
	proc_restart(p);
	CHECK(stage_await_field(s, RESTORED_ASK, "0-1"));
	restored_answer(s, "0-1", "1767225600005");
	stage_add_many(s, RESTORED_TICK + 5, 1, 20);
	CHECK(stage_await_effects(s, 20));
	stage_check_effects(s, 20);
	stage_close(s);
}

/* The intake lost history: what the stream holds from its beginning is absorbed or new. */
static void a_cursor_that_the_relay_does_not_know(void)
{
	struct proc *p;
	struct stage *s = stage_open(1);

	stage_add_many(s, RESTORED_TICK + 9, 1, 20);
	p = stage_consumer(s, NULL, NULL);
	CHECK(stage_await_bookmark(s, "1767225600009-20"));
	stage_redis(s, "DEL " STAGE_STREAM);
	stage_add_many(s, RESTORED_TICK, 16, 25);
	CHECK(stage_await_field(s, RESTORED_ASK, "1767225600009-20"));
	restored_answer(s, "1767225600009-20", "start");
	CHECK(stage_await_effects(s, 25));
	stage_check_effects(s, 25);
	CHECK(proc_log_has(p, "reading the stream from its beginning"));
	CHECK(stage_await_field(s, RESTORED_ANSWER, NULL));
	stage_close(s);
}

static const struct check checks[] = {
    {"a replay that Redis loses", a_replay_that_redis_loses},
    {"a replay that a repair voids", a_replay_that_a_repair_voids},
    {"a cursor that the relay does not know", a_cursor_that_the_relay_does_not_know},
    {"flushed at the same time", flushed_at_the_same_time},
    {"restored while running", restored_while_running},
    {"restored under a batch", restored_under_a_batch},
    {"restored to nothing", restored_to_nothing},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer restored", checks, argc, argv);
}
