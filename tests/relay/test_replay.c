/* What was trimmed comes again when a consumer asks for it. */
#include "tests/relay/stack.h"
#include "tests/support/files.h"
#include "tests/support/pause.h"
#include "tests/support/text.h"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLAY "umavez:replay:{0}"

static bool is_answered(void *ctx)
{
	return world_redis_int(ctx, "HEXISTS " REPLAY " answer:c") == 1 &&
	       world_redis_int(ctx, "HEXISTS " REPLAY " ask:c") == 0;
}

/* malloc'd; the answer is removed. */
static char *ask(struct world *w, const char *cursor)
{
	char *answer;

	world_redis_run(w, "HSET " REPLAY " ask:c %s", cursor);
	CHECK(await(is_answered, w, WAIT_MS));
	answer = world_redis_text(w, "HGET " REPLAY " answer:c");
	world_redis_run(w, "HDEL " REPLAY " answer:c");
	return answer;
}

static char *id_of_row(struct world *w, int64_t id)
{
	witness_streams(w);
	return world_text(
	    w, "SELECT tick || '-' || id FROM witness.entry WHERE id = %lld", (long long)id);
}

static void check_answer(struct world *w, const char *cursor, const char *what)
{
	char *answer = ask(w, cursor), *expected = text_format("%s %s", cursor, what);

	CHECK_STR(answer, expected);
	free(answer);
	free(expected);
}

static void check_answer_none(struct world *w, const char *cursor)
{
	check_answer(w, cursor, "none");
}

/* "<cursor> <tick>" */
static long long tick_of(const char *answer)
{
	const char *space = strchr(answer, ' ');

	CHECK(space != NULL && space[1] >= '1' && space[1] <= '9');
	return strtoll(space + 1, NULL, 10);
}

static void nothing_to_replay(void)
{
	struct world *w = stack_open(1);
	char *cursor;

	stack_relay(w, NULL, NULL);
	stack_emit(w, "a", 50);
	stack_check(w, 0);
	check_answer_none(w, "0-0");
	cursor = id_of_row(w, 20);
	check_answer_none(w, cursor);
	world_redis_run(w, "XGROUP CREATE " STREAM " g %s", cursor);
	CHECK(stack_await_length(w, 31)); /* row 20 itself is still there */
	check_answer_none(w, cursor);
	check_answer(w, "99999999999999-0", "start");
	free(cursor);
	world_close(w);
}

static void what_was_trimmed_is_replayed(void)
{
	struct world *w = stack_open(1);
	char *cursor, *answer;
	long long tick;

	stack_relay(w, (const char *const[]){"--append-batch", "7", NULL}, NULL);
	stack_emit(w, "a", 50);
	stack_check(w, 0);
	cursor = id_of_row(w, 20);
	world_redis_run(w, "XGROUP CREATE " STREAM " g 0");
	CHECK_INT(stack_read_group(w, "g", 50, 50), 50);
	CHECK(stack_await_length(w, 1));

	answer = ask(w, cursor);
	CHECK(strncmp(answer, cursor, strlen(cursor)) == 0);
	tick = tick_of(answer);
	stack_emit(w, "b", 10);
	CHECK(stack_await_length(w, 41)); /* row 50, rows 21 to 50 again, and the new ones */
	witness_streams(w);
	CHECK_INT(world_int(w,
		      "SELECT count(DISTINCT id) FROM witness.entry WHERE tick = %lld AND "
		      "id BETWEEN 21 AND 50",
		      tick),
	    30);
	CHECK_INT(world_int(w, "SELECT count(DISTINCT id) FROM witness.entry WHERE id > 50"), 10);

	/* All of it: the effects database was lost. */
	free(answer);
	answer = ask(w, "0-0");
	tick = tick_of(answer);
	CHECK(stack_await_length(w, 101));
	witness_streams(w);
	CHECK_INT(
	    world_int(w, "SELECT count(DISTINCT id) FROM witness.entry WHERE tick >= %lld", tick),
	    60);
	free(answer);
	free(cursor);
	world_close(w);
}

/* 50 rows, of which all but the last are trimmed. Gives the position of row 20; malloc'd. */
static char *trimmed_behind_20(struct world *w)
{
	char *cursor;

	stack_emit(w, "a", 50);
	stack_check(w, 0);
	cursor = id_of_row(w, 20);
	world_redis_run(w, "XGROUP CREATE " STREAM " g 0");
	CHECK_INT(stack_read_group(w, "g", 50, 50), 50);
	CHECK(stack_await_length(w, 1));
	return cursor;
}

struct rounds {
	struct proc *relay;
	int n;
};

static bool has_failed(void *ctx)
{
	const struct rounds *wanted = ctx;

	return file_count(proc_log(wanted->relay), "cannot answer a request") >= wanted->n;
}

/* In one step: the question is there, and its answer finds no memory. */
static void ask_and_fill_the_memory(struct world *w, const char *cursor)
{
	redisContext *redis = world_redis(w);

	freeReplyObject(redisCommand(redis, "CONFIG SET maxmemory-policy noeviction"));
	freeReplyObject(redisCommand(redis, "MULTI"));
	freeReplyObject(redisCommand(redis, "HSET " REPLAY " ask:c %s", cursor));
	freeReplyObject(redisCommand(redis, "CONFIG SET maxmemory 1"));
	freeReplyObject(redisCommand(redis, "EXEC"));
	CHECK_INT(redis->err, 0);
	redisFree(redis);
}

/* A question whose answer fails is not given one tick after the other.  (The append fails too, and
 * with it the session.) */
static void one_tick_while_out_of_memory(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);
	char *cursor = trimmed_behind_20(w), *answer, *expected;

	ask_and_fill_the_memory(w, cursor);
	CHECK(await(has_failed, &(struct rounds){relay, 4}, WAIT_MS));
	CHECK_INT(world_int(w, "SELECT count(*) FROM intake.tick WHERE replay"), 1);
	world_redis_run(w, "CONFIG SET maxmemory 0");
	CHECK(await(is_answered, w, WAIT_MS));
	answer = world_redis_text(w, "HGET " REPLAY " answer:c");
	expected = world_text(w, "SELECT '%s ' || tick FROM intake.tick WHERE replay", cursor);
	CHECK_STR(answer, expected);
	CHECK(stack_await_length(w, 31));
	free(answer);
	free(expected);
	free(cursor);
	world_close(w);
}

/* It was cut, its answer failed, and then the database lost it. */
static void a_tick_that_is_lost_before_its_answer(void)
{
	struct world *w = stack_open(1);
	struct proc *relay;
	char *cursor, *answer;
	long long lost;

	world_pg_add_standby(w);
	/* With a lease, what it has cut would be forgotten with that. */
	relay = stack_relay(w, (const char *const[]){"--lease-off", NULL}, NULL);
	cursor = trimmed_behind_20(w);
	world_pg_part_standby(w);
	ask_and_fill_the_memory(w, cursor);
	CHECK(await(has_failed, &(struct rounds){relay, 2}, WAIT_MS));
	lost = world_int(w, "SELECT tick FROM intake.tick WHERE replay");
	world_pg_failover(w);
	CHECK_INT(world_int(w, "SELECT count(*) FROM intake.tick WHERE tick = %lld", lost), 0);
	world_redis_run(w, "CONFIG SET maxmemory 0");
	CHECK(await(is_answered, w, WAIT_MS));
	answer = world_redis_text(w, "HGET " REPLAY " answer:c");
	CHECK_INT(world_int(w, "SELECT count(*) FROM intake.tick WHERE replay AND tick = %lld",
		      tick_of(answer)),
	    1);
	CHECK(strchr(strchr(answer, ' '), '-') == NULL);
	CHECK(stack_await_length(w, 31));
	free(answer);
	free(cursor);
	world_close(w);
}

/* Rows need none of it. */
static void another_type_of_key(void)
{
	struct world *w = stack_open(1);
	struct proc *relay;

	world_redis_run(w, "SET " REPLAY " nonsense");
	relay = stack_relay(w, NULL, NULL);
	stack_emit(w, "a", 10);
	stack_check(w, 0);
	CHECK(proc_await_log(relay, "WRONGTYPE", WAIT_MS));
	CHECK(proc_await_ready(relay, WAIT_MS));
	world_close(w);
}

/* Nobody of that name can be answered. */
static void a_name_with_a_nul(void)
{
	struct world *w = stack_open(1);
	redisContext *redis = world_redis(w);
	char *cursor;

	stack_relay(w, NULL, NULL);
	cursor = trimmed_behind_20(w);
	freeReplyObject(redisCommand(redis, "HSET " REPLAY " %b 0-1", "ask:c\0d", (size_t)7));
	for (int i = 0; i < 5; i++)
		free(ask(w, "99999999999999-0"));
	CHECK(world_int(w, "SELECT count(*) FROM intake.tick WHERE replay") == 0);
	redisFree(redis);
	free(cursor);
	world_close(w);
}

struct tick_wanted {
	struct world *w;
	long long tick;
};

static bool has_begun(void *ctx)
{
	const struct tick_wanted *wanted = ctx;

	return world_redis_int(wanted->w, "EVAL %s 1 " STREAM " %lld",
		   "return #redis.call('XRANGE', KEYS[1], ARGV[1], ARGV[1])", wanted->tick) > 0;
}

/* The consumer's group holds the stream back until the rows that it waits for are there. */
static void replayed_into_a_full_stream(void)
{
	static const char *const limited[] = {
	    "--stream-max-length", "20", "--append-batch", "5", NULL};
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);
	char *cursor = trimmed_behind_20(w), *answer;
	struct tick_wanted tick = {.w = w};
	int64_t again = 0;

	proc_kill(relay, SIGKILL);
	proc_wait(relay, WAIT_MS);
	relay = stack_relay(w, limited, NULL);
	stack_emit(w, "b", 30);
	CHECK(proc_await_log(relay, "group g holds it back", WAIT_MS));
	/* Who answers is gone before he has appended anything. */
	proc_set_env(
	    relay, (const char *const[]){"UMAVEZ_FAILPOINTS=relay.before_append=hang", NULL});
	proc_restart(relay);
	world_redis_run(w, "XGROUP SETID " STREAM " g %s", cursor);
	world_redis_run(w, "HSET " REPLAY " ask:c %s", cursor);
	CHECK(await(is_answered, w, WAIT_MS));
	proc_set_env(relay, NULL);
	proc_restart(relay);
	answer = world_redis_text(w, "HGET " REPLAY " answer:c");
	tick.tick = tick_of(answer);
	CHECK(await(has_begun, &tick, WAIT_MS));

	world_redis_run(w, "XGROUP SETID " STREAM " g %lld-0", tick.tick);
	world_redis_run(w, "HDEL " REPLAY " answer:c");
	while (again < 60) {
		int64_t n = stack_read_group(w, "g", 50, 50);

		again += n;
		if (n == 0)
			sleep_ms(20);
		CHECK(stack_length(w) <=
		      20 + 5 + 31 + 5); /* the limit, and up to where the tick begins */
	}
	CHECK(stack_await_length(w, 1));
	CHECK(proc_await_ready(relay, WAIT_MS));
	free(answer);
	free(cursor);
	world_close(w);
}

static void nonsense_is_asked(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);

	world_redis_run(w, "HSET " REPLAY " ask:c nonsense other thing");
	CHECK(proc_await_log(relay, "not a position", WAIT_MS));
	stack_emit(w, "a", 1);
	check_answer_none(w, "0-0");
	CHECK_INT(world_redis_int(w, "HEXISTS " REPLAY " other"), 1);
	world_close(w);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"replay: nothing was trimmed", nothing_to_replay},
	    {"replay: what was trimmed comes again", what_was_trimmed_is_replayed},
	    {"replay: one tick while Redis is out of memory", one_tick_while_out_of_memory},
	    {"replay: a tick that is lost before its answer",
		a_tick_that_is_lost_before_its_answer},
	    {"replay: another type of key", another_type_of_key},
	    {"replay: a name with a NUL", a_name_with_a_nul},
	    {"replay: into a full stream", replayed_into_a_full_stream},
	    {"replay: nonsense", nonsense_is_asked},
	    {NULL, NULL},
	};
	return check_main("relay replay", checks, argc, argv);
}
