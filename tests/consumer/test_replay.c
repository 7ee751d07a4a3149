/* The effects database goes back to an earlier moment: what it lost is applied again, in order. */
#include "tests/consumer/stage.h"

#include "tests/support/files.h"

#include <signal.h>
#include <stdlib.h>

#define TICK INT64_C(1767225600000)
#define ASK "ask:" STAGE_CONSUMER
#define ANSWER "answer:" STAGE_CONSUMER
#define CURSOR_10 "1767225600000-10"
#define HALF_WAY "1767225600005-13"

static void forget_after_10(struct stage *s)
{
	world_sql(s->w, "BEGIN; DELETE FROM stage.log WHERE n > 10;"
			"DELETE FROM effects.inbox WHERE substr(message_id, 2)::int > 10;"
			"UPDATE effects.cursor SET stream_id = '" CURSOR_10 "'; COMMIT");
}

/* Everything applied and told; then the database forgets what came after message 10. */
static struct stage *restored(struct proc **ret_consumer)
{
	struct stage *s = stage_open(1);

	stage_add_many(s, TICK, 1, 20);
	*ret_consumer = stage_consumer(s, NULL, NULL);
	CHECK(stage_await_effects(s, 20));
	CHECK(stage_await_bookmark(s, "1767225600000-20"));
	proc_kill(*ret_consumer, SIGTERM);
	CHECK_INT(proc_wait(*ret_consumer, STAGE_MS), 0);
	forget_after_10(s);
	return s;
}

static void trim_up_to_15(struct stage *s)
{
	stage_redis(s, "XTRIM " STAGE_STREAM " MINID %lld-16", (long long)TICK);
}

/* The stream lacks 11 to 15 of what the database forgot: the consumer asks for all of it. */
static struct stage *asking(struct proc **ret_consumer)
{
	struct stage *s = restored(ret_consumer);

	trim_up_to_15(s);
	proc_restart(*ret_consumer);
	CHECK(stage_await_field(s, ASK, CURSOR_10));
	return s;
}

/* What the relay does: everything after the question's cursor again, under one tick. */
static void play_again(struct stage *s, int64_t tick, int last)
{
	stage_add_many(s, tick, 11, last);
}

static void answer(struct stage *s, const char *to, const char *what)
{
	char *text = text_format("%s %s", to, what);

	stage_redis(s, "HSET " STAGE_REPLAY " " ANSWER " %s", text);
	stage_redis(s, "HDEL " STAGE_REPLAY " " ASK);
	free(text);
}

static void what_was_trimmed_comes_again(void)
{
	struct proc *p;
	struct stage *s = asking(&p);

	CHECK(stage_await_bookmark(s, CURSOR_10));
	CHECK(proc_await_log(p, "waiting for the relay", STAGE_MS));
	/* Were this applied before the others, their order would be broken. */
	stage_add(s, 0, TICK + 1, 21);
	answer(s, CURSOR_10, "1767225600005");
	play_again(s, TICK + 5, 21);
	CHECK(stage_await_effects(s, 21));
	stage_check_effects(s, 21);
	CHECK(stage_await_cursor(s, "1767225600005-21"));
	CHECK(stage_await_field(s, ASK, NULL));
	CHECK(stage_await_field(s, ANSWER, NULL));
	stage_add(s, 0, TICK + 6, 22);
	CHECK(stage_await_effects(s, 22));
	stage_check_effects(s, 22);
	stage_close(s);
}

static void nothing_was_trimmed(void)
{
	struct proc *p;
	struct stage *s = restored(&p);

	proc_restart(p);
	CHECK(stage_await_field(s, ASK, CURSOR_10));
	answer(s, CURSOR_10, "none");
	CHECK(stage_await_effects(s, 20));
	stage_check_effects(s, 20);
	CHECK(stage_await_field(s, ASK, NULL));
	CHECK(stage_await_field(s, ANSWER, NULL));
	stage_close(s);
}

/* The question outlives whoever asked it: the bookmark tells nothing any more. */
static void killed_while_waiting(void)
{
	struct proc *p;
	struct stage *s = asking(&p);

	CHECK(stage_await_bookmark(s, CURSOR_10));
	proc_restart(p);
	stage_add(s, 0, TICK + 1, 21);
	CHECK(stage_await_says(p, "/readyz", "waiting for the relay"));
	answer(s, CURSOR_10, "1767225600005");
	play_again(s, TICK + 5, 21);
	CHECK(stage_await_effects(s, 21));
	stage_check_effects(s, 21);
	stage_close(s);
}

/* As a relay does that fills a stream which ends before the cursor. */
static void the_bookmark_is_set_back_while_waiting(void)
{
	struct proc *p;
	struct stage *s = asking(&p);

	CHECK(proc_await_log(p, "waiting for the relay", STAGE_MS));
	stage_redis(s, "XGROUP SETID " STAGE_STREAM " " STAGE_CONSUMER " 5-0");
	CHECK(stage_await_bookmark(s, CURSOR_10));
	answer(s, CURSOR_10, "1767225600005");
	play_again(s, TICK + 5, 20);
	CHECK(stage_await_effects(s, 20));
	stage_check_effects(s, 20);
	stage_close(s);
}

static void an_answer_to_another_question(void)
{
	struct proc *p;
	struct stage *s = restored(&p);

	trim_up_to_15(s);
	stage_redis(s, "HSET " STAGE_REPLAY " " ANSWER " %s", "1767225600000-3 none");
	proc_restart(p);
	CHECK(stage_await_field(s, ASK, CURSOR_10));
	CHECK(stage_await_field(s, ANSWER, NULL));
	stage_redis(s, "HSET " STAGE_REPLAY " " ANSWER " %s", "1767225600000-4 none");
	CHECK(proc_await_log(p, "waiting for the relay", STAGE_MS));
	answer(s, CURSOR_10, "1767225600005");
	play_again(s, TICK + 5, 20);
	CHECK(stage_await_effects(s, 20));
	stage_check_effects(s, 20);
	stage_close(s);
}

/* The relay announces the tick, and dies before its rows are there. */
static void a_tick_that_is_late(void)
{
	struct proc *p;
	struct stage *s = asking(&p);

	answer(s, CURSOR_10, "1767225600005");
	CHECK(proc_await_log(p, "waiting for the relay", STAGE_MS));
	stage_add(s, 0, TICK + 1, 21);
	proc_restart(p);
	CHECK(stage_await_says(p, "/readyz", "waiting for the relay"));
	play_again(s, TICK + 5, 21);
	CHECK(stage_await_effects(s, 21));
	stage_check_effects(s, 21);
	CHECK(stage_await_field(s, ANSWER, NULL));
	stage_close(s);
}

/* Somebody else's entry comes before its rows: the relay publishes only what the stream lacked. */
static void a_tick_that_is_given_up(void)
{
	struct proc *p;
	struct stage *s = asking(&p);

	stage_redis(s, "XADD " STAGE_STREAM " %lld-0 some thing", (long long)TICK + 6);
	stage_add(s, 0, TICK + 7, 21);
	answer(s, CURSOR_10, "1767225600005");
	CHECK(stage_await_field(s, ASK, CURSOR_10));
	CHECK(stage_await_field(s, ANSWER, NULL));
	answer(s, CURSOR_10, "1767225600008");
	/* Nor is somebody else's entry a row for having the tick's name. */
	stage_redis(s, "XADD " STAGE_STREAM " %lld-1 some thing", (long long)TICK + 8);
	CHECK(stage_await_field(s, ASK, CURSOR_10));
	answer(s, CURSOR_10, "1767225600009");
	play_again(s, TICK + 9, 21);
	CHECK(stage_await_effects(s, 21));
	stage_check_effects(s, 21);
	stage_close(s);
}

/* Half of a replay is applied. */
static struct stage *half_way(struct proc **ret_consumer)
{
	struct stage *s = asking(ret_consumer);

	answer(s, CURSOR_10, "1767225600005");
	play_again(s, TICK + 5, 13);
	CHECK(stage_await_effects(s, 13));
	CHECK(stage_await_field(s, ANSWER, NULL));
	CHECK(stage_await_bookmark(s, HALF_WAY));
	return s;
}

/* Redis comes back with an older copy: read from its beginning, 16 would be applied before 14. */
static void a_replay_that_redis_loses(void)
{
	struct proc *p;
	struct stage *s = half_way(&p);

	stage_redis(s, "DEL " STAGE_STREAM);
	stage_add_many(s, TICK, 16, 20);
	CHECK(stage_await_field(s, ASK, HALF_WAY));
	CHECK(stage_await_cursor(s, HALF_WAY));
	play_again(s, TICK + 5, 20);
	CHECK(stage_await_says(p, "/readyz", "waiting for the relay"));
	answer(s, HALF_WAY, "none");
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
	stage_add_many(s, TICK, 9, 20);
	stage_redis(s, "XGROUP CREATE " STAGE_STREAM " " STAGE_CONSUMER " " CURSOR_10);
	stage_redis(s, "XADD " STAGE_STREAM " %lld-0 some thing", (long long)TICK + 6);
	stage_add(s, 0, TICK + 7, 21);
	proc_restart(p);
	CHECK(stage_await_field(s, ASK, HALF_WAY));
	answer(s, HALF_WAY, "1767225600008");
	stage_add_many(s, TICK + 8, 14, 21);
	CHECK(stage_await_effects(s, 21));
	stage_check_effects(s, 21);
	stage_close(s);
}

/* The relay takes its answer back when the stream is another one than it was about. */
static void an_answer_that_is_taken_back(void)
{
	struct proc *p;
	struct stage *s = asking(&p);

	answer(s, CURSOR_10, "1767225600005");
	CHECK(proc_await_log(p, "waiting for the relay", STAGE_MS));
	stage_redis(s, "HDEL " STAGE_REPLAY " " ANSWER);
	CHECK(stage_await_field(s, ASK, CURSOR_10));
	answer(s, CURSOR_10, "1767225600007");
	play_again(s, TICK + 7, 20);
	CHECK(stage_await_effects(s, 20));
	stage_check_effects(s, 20);
	stage_close(s);
}

/* All is applied, but where the cursor stood is void: the relay names where to go on. */
static void nothing_follows(void)
{
	struct proc *p;
	struct stage *s = stage_open(1);

	stage_add_many(s, TICK, 1, 20);
	p = stage_consumer(s, NULL, NULL);
	CHECK(stage_await_bookmark(s, "1767225600000-20"));
	proc_kill(p, SIGKILL);
	proc_wait(p, STAGE_MS);
	stage_redis(s, "DEL " STAGE_STREAM);
	stage_add_many(s, TICK, 1, 10);
	stage_add_many(s, TICK + 5, 11, 20);
	proc_restart(p);
	CHECK(stage_await_field(s, ASK, "1767225600000-20"));
	answer(s, "1767225600000-20", "1767225600006-0");
	CHECK(stage_await_cursor(s, "1767225600006-0"));
	/* That is no entry, nor does a row of its tick come. */
	CHECK(stage_await_field(s, ASK, "1767225600006-0"));
	answer(s, "1767225600006-0", "none");
	stage_add(s, 0, TICK + 7, 21);
	CHECK(stage_await_effects(s, 21));
	stage_check_effects(s, 21);
	CHECK(stage_await_field(s, ANSWER, NULL));
	CHECK_INT(proc_alive(p), 1);
	stage_close(s);
}

/* The intake lost history: what the stream holds from its beginning is absorbed or new. */
static void a_cursor_that_the_relay_does_not_know(void)
{
	struct proc *p;
	struct stage *s = stage_open(1);

	stage_add_many(s, TICK + 9, 1, 20);
	p = stage_consumer(s, NULL, NULL);
	CHECK(stage_await_bookmark(s, "1767225600009-20"));
	stage_redis(s, "DEL " STAGE_STREAM);
	stage_add_many(s, TICK, 16, 25);
	CHECK(stage_await_field(s, ASK, "1767225600009-20"));
	answer(s, "1767225600009-20", "start");
	CHECK(stage_await_effects(s, 25));
	stage_check_effects(s, 25);
	CHECK(proc_log_has(p, "reading the stream from its beginning"));
	CHECK(stage_await_field(s, ANSWER, NULL));
	stage_close(s);
}

/* A thousand entries of somebody else's: the cursor stands at one, which is an entry as any. */
static void at_somebody_elses_entry(void)
{
	static const char at_last[] = "1767225600265-0";
	struct stage *s = stage_open(1);

	stage_add_many(s, TICK, 1, 20);
	stage_consumer(s, NULL, NULL);
	CHECK(stage_await_effects(s, 20));
	stage_redis(s, "EVAL %s 1 " STAGE_STREAM,
	    "for i = 10, 1009 do redis.call('XADD', KEYS[1], (1767225600000 + i) .. '-0', 'a', "
	    "'b') end");
	CHECK(stage_await_cursor(s, at_last));
	CHECK(stage_await_bookmark(s, at_last));
	/* Only one more look at everything finds this out. */
	stage_redis(s, "XGROUP SETID " STAGE_STREAM " " STAGE_CONSUMER " 0");
	CHECK(stage_await_bookmark(s, at_last));
	CHECK(stage_await_field(s, ASK, NULL));
	stage_add(s, 0, TICK + 2000, 21);
	CHECK(stage_await_effects(s, 21));
	stage_check_effects(s, 21);
	stage_close(s);
}

/* The cursor is kept until the stream has an entry again, which tells what is missing. */
static void flushed_at_the_same_time(void)
{
	struct proc *p;
	struct stage *s = restored(&p);

	stage_redis(s, "FLUSHALL");
	proc_restart(p);
	CHECK(stage_await_bookmark(s, "0-0"));
	CHECK(proc_await_ready(p, STAGE_MS));
	stage_add_many(s, TICK, 16, 20);
	CHECK(stage_await_field(s, ASK, CURSOR_10));
	answer(s, CURSOR_10, "1767225600005");
	play_again(s, TICK + 5, 20);
	CHECK(stage_await_effects(s, 20));
	stage_check_effects(s, 20);
	stage_close(s);
}

/* The same under the feet of a consumer at work: its next batch finds another cursor. */
static void restored_while_running(void)
{
	struct stage *s = stage_open(1);

	stage_consumer(s, NULL, NULL);
	stage_add_many(s, TICK, 1, 20);
	CHECK(stage_await_effects(s, 20));
	CHECK(stage_await_bookmark(s, "1767225600000-20"));
	forget_after_10(s);
	trim_up_to_15(s);
	CHECK(stage_await_field(s, ASK, CURSOR_10));
	answer(s, CURSOR_10, "1767225600005");
	play_again(s, TICK + 5, 20);
	CHECK(stage_await_effects(s, 20));
	stage_check_effects(s, 20);
	stage_close(s);
}

/* The batch in hand was read from a cursor that is no more: only the comparison notices. */
static void restored_under_a_batch(void)
{
	static const char *const args[] = {"--lease", "20s", NULL};
	struct stage *s = stage_open(1);

	stage_add_many(s, TICK, 1, 20);
	/* The first 20 go one by one. */
	stage_consumer(s, args, "consumer.before_inbox=sleep(1000)@21");
	CHECK(stage_await_bookmark(s, "1767225600000-20"));
	stage_add(s, 0, TICK, 21);
	CHECK(world_await_int(s->w, 1, STAGE_MS,
	    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'umavez-consumer/0'"
	    " AND state = 'idle in transaction' AND query = 'BEGIN'"));
	forget_after_10(s);
	CHECK(stage_await_field(s, ASK, CURSOR_10));
	answer(s, CURSOR_10, "none");
	CHECK(stage_await_effects(s, 21));
	stage_check_effects(s, 21);
	stage_close(s);
}

/* A database without any memory of this consumer. */
static void restored_to_nothing(void)
{
	struct stage *s = stage_open(1);
	struct proc *p = stage_consumer(s, NULL, NULL);

	stage_add_many(s, TICK, 1, 20);
	CHECK(stage_await_bookmark(s, "1767225600000-20"));
	proc_kill(p, SIGTERM);
	CHECK_INT(proc_wait(p, STAGE_MS), 0);
	world_sql(s->w, "TRUNCATE stage.log, effects.inbox, effects.cursor");
	trim_up_to_15(s);
	proc_restart(p);
	CHECK(stage_await_field(s, ASK, "0-1"));
	answer(s, "0-1", "1767225600005");
	stage_add_many(s, TICK + 5, 1, 20);
	CHECK(stage_await_effects(s, 20));
	stage_check_effects(s, 20);
	stage_close(s);
}

static const struct check checks[] = {
    {"what was trimmed comes again", what_was_trimmed_comes_again},
    {"nothing was trimmed", nothing_was_trimmed},
    {"killed while waiting", killed_while_waiting},
    {"the bookmark is set back while waiting", the_bookmark_is_set_back_while_waiting},
    {"an answer to another question", an_answer_to_another_question},
    {"a tick that is late", a_tick_that_is_late},
    {"a tick that is given up", a_tick_that_is_given_up},
    {"a replay that Redis loses", a_replay_that_redis_loses},
    {"a replay that a repair voids", a_replay_that_a_repair_voids},
    {"an answer that is taken back", an_answer_that_is_taken_back},
    {"nothing follows", nothing_follows},
    {"a cursor that the relay does not know", a_cursor_that_the_relay_does_not_know},
    {"at somebody else's entry", at_somebody_elses_entry},
    {"flushed at the same time", flushed_at_the_same_time},
    {"restored while running", restored_while_running},
    {"restored under a batch", restored_under_a_batch},
    {"restored to nothing", restored_to_nothing},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer replay", checks, argc, argv);
}
