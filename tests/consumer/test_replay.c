/* The effects database goes back to an earlier moment: what it lost is applied again, in order. */
#include "tests/consumer/restored.h"

#include <signal.h>

static void what_was_trimmed_comes_again(void)
{
	struct proc *p;
	struct stage *s = restored_asking(&p);

	CHECK(stage_await_bookmark(s, RESTORED_CURSOR));
	CHECK(proc_await_log(p, "waiting for the relay", STAGE_MS));
	/* Were this applied before the others, their order would be broken. */
	stage_add(s, 0, RESTORED_TICK + 1, 21);
	restored_answer(s, RESTORED_CURSOR, "1767225600005");
	restored_play(s, RESTORED_TICK + 5, 21);
	CHECK(stage_await_effects(s, 21));
	stage_check_effects(s, 21);
	CHECK(stage_await_cursor(s, "1767225600005-21"));
	CHECK(stage_await_field(s, RESTORED_ASK, NULL));
	CHECK(stage_await_field(s, RESTORED_ANSWER, NULL));
	stage_add(s, 0, RESTORED_TICK + 6, 22);
	CHECK(stage_await_effects(s, 22));
	stage_check_effects(s, 22);
	stage_close(s);
}

static void nothing_was_trimmed(void)
{
	struct proc *p;
	struct stage *s = restored_open(&p);

	proc_restart(p);
	CHECK(stage_await_field(s, RESTORED_ASK, RESTORED_CURSOR));
	restored_answer(s, RESTORED_CURSOR, "none");
	CHECK(stage_await_effects(s, 20));
	stage_check_effects(s, 20);
	CHECK(stage_await_field(s, RESTORED_ASK, NULL));
	CHECK(stage_await_field(s, RESTORED_ANSWER, NULL));
	stage_close(s);
}

/* The question outlives whoever asked it: the bookmark tells nothing any more. */
static void killed_while_waiting(void)
{
	struct proc *p;
	struct stage *s = restored_asking(&p);

	CHECK(stage_await_bookmark(s, RESTORED_CURSOR));
	proc_restart(p);
	stage_add(s, 0, RESTORED_TICK + 1, 21);
	CHECK(stage_await_says(p, "/readyz", "waiting for the relay"));
	restored_answer(s, RESTORED_CURSOR, "1767225600005");
	restored_play(s, RESTORED_TICK + 5, 21);
	CHECK(stage_await_effects(s, 21));
	stage_check_effects(s, 21);
	stage_close(s);
}

/* As a relay does that fills a stream which ends before the cursor. */
static void the_bookmark_is_set_back_while_waiting(void)
{
	struct proc *p;
	struct stage *s = restored_asking(&p);

	CHECK(proc_await_log(p, "waiting for the relay", STAGE_MS));
	stage_redis(s, "XGROUP SETID " STAGE_STREAM " " STAGE_CONSUMER " 5-0");
	CHECK(stage_await_bookmark(s, RESTORED_CURSOR));
	restored_answer(s, RESTORED_CURSOR, "1767225600005");
	restored_play(s, RESTORED_TICK + 5, 20);
	CHECK(stage_await_effects(s, 20));
	stage_check_effects(s, 20);
	stage_close(s);
}

static void an_answer_to_another_question(void)
{
	struct proc *p;
	struct stage *s = restored_open(&p);

	restored_trim(s);
	stage_redis(s, "HSET " STAGE_REPLAY " " RESTORED_ANSWER " %s", "1767225600000-3 none");
	proc_restart(p);
	CHECK(stage_await_field(s, RESTORED_ASK, RESTORED_CURSOR));
	CHECK(stage_await_field(s, RESTORED_ANSWER, NULL));
	stage_redis(s, "HSET " STAGE_REPLAY " " RESTORED_ANSWER " %s", "1767225600000-4 none");
	CHECK(proc_await_log(p, "waiting for the relay", STAGE_MS));
	restored_answer(s, RESTORED_CURSOR, "1767225600005");
	restored_play(s, RESTORED_TICK + 5, 20);
	CHECK(stage_await_effects(s, 20));
	stage_check_effects(s, 20);
	stage_close(s);
}

/* The relay announces the tick, and dies before its rows are there. */
static void a_tick_that_is_late(void)
{
	struct proc *p;
	struct stage *s = restored_asking(&p);

	restored_answer(s, RESTORED_CURSOR, "1767225600005");
	CHECK(proc_await_log(p, "waiting for the relay", STAGE_MS));
	stage_add(s, 0, RESTORED_TICK + 1, 21);
	proc_restart(p);
	CHECK(stage_await_says(p, "/readyz", "waiting for the relay"));
	restored_play(s, RESTORED_TICK + 5, 21);
	CHECK(stage_await_effects(s, 21));
	stage_check_effects(s, 21);
	CHECK(stage_await_field(s, RESTORED_ANSWER, NULL));
	stage_close(s);
}

/* Somebody else's entry comes before its rows: the relay publishes only what the stream lacked. */
static void a_tick_that_is_given_up(void)
{
	struct proc *p;
	struct stage *s = restored_asking(&p);

	stage_redis(s, "XADD " STAGE_STREAM " %lld-0 some thing", (long long)RESTORED_TICK + 6);
	stage_add(s, 0, RESTORED_TICK + 7, 21);
	restored_answer(s, RESTORED_CURSOR, "1767225600005");
	CHECK(stage_await_field(s, RESTORED_ASK, RESTORED_CURSOR));
	CHECK(stage_await_field(s, RESTORED_ANSWER, NULL));
	restored_answer(s, RESTORED_CURSOR, "1767225600008");
	/* Nor is somebody else's entry a row for having the tick's name. */
	stage_redis(s, "XADD " STAGE_STREAM " %lld-1 some thing", (long long)RESTORED_TICK + 8);
	CHECK(stage_await_field(s, RESTORED_ASK, RESTORED_CURSOR));
	restored_answer(s, RESTORED_CURSOR, "1767225600009");
	restored_play(s, RESTORED_TICK + 9, 21);
	CHECK(stage_await_effects(s, 21));
	stage_check_effects(s, 21);
	stage_close(s);
}

/* The relay takes its answer back when the stream is another one than it was about. */
static void an_answer_that_is_taken_back(void)
{
	struct proc *p;
	struct stage *s = restored_asking(&p);

	restored_answer(s, RESTORED_CURSOR, "1767225600005");
	CHECK(proc_await_log(p, "waiting for the relay", STAGE_MS));
	stage_redis(s, "HDEL " STAGE_REPLAY " " RESTORED_ANSWER);
	CHECK(stage_await_field(s, RESTORED_ASK, RESTORED_CURSOR));
	restored_answer(s, RESTORED_CURSOR, "1767225600007");
	restored_play(s, RESTORED_TICK + 7, 20);
	CHECK(stage_await_effects(s, 20));
	stage_check_effects(s, 20);
	stage_close(s);
}

/* All is applied, but where the cursor stood is void: the relay names where to go on. */
static void nothing_follows(void)
{
	struct proc *p;
	struct stage *s = stage_open(1);

	stage_add_many(s, RESTORED_TICK, 1, 20);
	p = stage_consumer(s, NULL, NULL);
	CHECK(stage_await_bookmark(s, "1767225600000-20"));
	proc_kill(p, SIGKILL);
	proc_wait(p, STAGE_MS);
	stage_redis(s, "DEL " STAGE_STREAM);
	stage_add_many(s, RESTORED_TICK, 1, 10);
	stage_add_many(s, RESTORED_TICK + 5, 11, 20);
	proc_restart(p);
	CHECK(stage_await_field(s, RESTORED_ASK, "1767225600000-20"));
	restored_answer(s, "1767225600000-20", "1767225600006-0");
	CHECK(stage_await_cursor(s, "1767225600006-0"));
	/* That is no entry, nor does a row of its tick come. */
	CHECK(stage_await_field(s, RESTORED_ASK, "1767225600006-0"));
	restored_answer(s, "1767225600006-0", "none");
	stage_add(s, 0, RESTORED_TICK + 7, 21);
	CHECK(stage_await_effects(s, 21));
	stage_check_effects(s, 21);
	CHECK(stage_await_field(s, RESTORED_ANSWER, NULL));
	CHECK_INT(proc_alive(p), 1);
	stage_close(s);
}

/* A thousand entries of somebody else's: the cursor stands at one, which is an entry as any. */
static void at_somebody_elses_entry(void)
{
	static const char at_last[] = "1767225600265-0";
	struct stage *s = stage_open(1);

	stage_add_many(s, RESTORED_TICK, 1, 20);
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
	CHECK(stage_await_field(s, RESTORED_ASK, NULL));
	stage_add(s, 0, RESTORED_TICK + 2000, 21);
	CHECK(stage_await_effects(s, 21));
	stage_check_effects(s, 21);
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
    {"an answer that is taken back", an_answer_that_is_taken_back},
    {"nothing follows", nothing_follows},
    {"at somebody else's entry", at_somebody_elses_entry},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer replay", checks, argc, argv);
}
