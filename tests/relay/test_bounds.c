/* How long the stream may get: trimming, pausing, replaying what was trimmed, and large events. */
#include "relay/trim.h"
#include "tests/relay/stack.h"
#include "tests/support/files.h"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STREAM "umavez:purchases:{0}"
#define REPLAY "umavez:replay:{0}"

static int64_t length(struct world *w)
{
	return stack_redis_int(w, "XLEN " STREAM);
}

/* Read at most n new entries as a group does, and acknowledge the first n_ack. Returns how many. */
static int64_t read_group(struct world *w, const char *group, int n, int64_t n_ack)
{
	redisContext *redis = world_redis(w);
	redisReply *reply =
	    redisCommand(redis, "XREADGROUP GROUP %s me COUNT %d STREAMS " STREAM " >", group, n);
	int64_t got = 0;

	if (reply && reply->type == REDIS_REPLY_ARRAY) {
		const redisReply *entries = reply->element[0]->element[1];

		got = (int64_t)entries->elements;
		for (int64_t i = 0; i < got && i < n_ack; i++)
			freeReplyObject(redisCommand(redis, "XACK " STREAM " %s %s", group,
			    entries->element[i]->element[0]->str));
	}
	freeReplyObject(reply);
	redisFree(redis);
	return got;
}

struct length_wanted {
	struct world *w;
	int64_t length;
};

static bool has_length(void *ctx)
{
	const struct length_wanted *wanted = ctx;

	return length(wanted->w) == wanted->length;
}

static bool await_length(struct world *w, int64_t n)
{
	struct length_wanted wanted = {w, n};

	if (await(has_length, &wanted, WAIT_MS))
		return true;
	fprintf(stderr, "the stream has %lld entries, wanted %lld\n", (long long)length(w),
	    (long long)n);
	return false;
}

static bool is_shorter(void *ctx)
{
	const struct length_wanted *wanted = ctx;

	return length(wanted->w) <= wanted->length;
}

static bool await_shorter(struct world *w, int64_t n)
{
	struct length_wanted wanted = {w, n};

	return await(is_shorter, &wanted, WAIT_MS);
}

static double metric(struct proc *relay, const char *name)
{
	char *series = text_format("umavez_%s{shard=\"0\"}", name);
	double value = stack_metric(relay, series);

	free(series);
	return value;
}

/* Wait for some rounds of trimming: until the relay has looked at groups twice more. */
static void await_rounds(struct world *w)
{
	char name[32];

	for (int round = 0; round < 2; round++) {
		snprintf(name, sizeof(name), "probe%lld", (long long)now_ms());
		stack_redis(w, "XGROUP CREATE " STREAM " %s 0", name);
		CHECK(world_await_int(w, 1, WAIT_MS,
		    "SELECT count(*) FROM intake.stream_group WHERE name = '%s'", name));
		stack_redis(w, "XGROUP DESTROY " STREAM " %s", name);
		world_sql(w, "DELETE FROM intake.stream_group WHERE name = '%s'", name);
	}
}

static void nobody_reads(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);

	stack_emit(w, "a", 50);
	stack_check(w, 0);
	CHECK(proc_await_log(relay, "no group has ever read the stream", WAIT_MS));
	CHECK_INT(length(w), 50);
	/* Nor is any of this a reason to worry. */
	proc_kill(relay, SIGTERM);
	CHECK_INT(proc_wait(relay, WAIT_MS), 0);
	CHECK(proc_log_has(relay, "msg=started instance="));
	CHECK(proc_log_has(relay, "msg=stopped status=0"));
	CHECK(!proc_log_has(relay, "level=warn"));
	world_close(w);
}

static void slowest_group_decides(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);

	stack_emit(w, "a", 50);
	stack_check(w, 0);
	stack_redis(w, "XGROUP CREATE " STREAM " fast 0");
	stack_redis(w, "XGROUP CREATE " STREAM " slow 0");
	CHECK_INT(read_group(w, "fast", 50, 50), 50);
	await_rounds(w);
	CHECK_INT(length(w), 50);
	CHECK_INT(read_group(w, "slow", 20, 20), 20);
	CHECK(await_length(w, 31)); /* the last one acknowledged stays */
	CHECK_INT(read_group(w, "slow", 50, 50), 30);
	CHECK(await_length(w, 1)); /* the newest entry of ours stays */
	CHECK_INT(metric(relay, "trimmed_total"), 49);
	CHECK_INT(
	    world_int(w, "SELECT count(*) FROM intake.stream_group WHERE acknowledged_id = 50"), 2);
	world_close(w);
}

/* Delivered is not acknowledged. */
static void pending_entries_stay(void)
{
	struct world *w = stack_open(1);
	redisContext *redis = world_redis(w);
	redisReply *reply;

	stack_relay(w, NULL, NULL);
	stack_emit(w, "a", 50);
	stack_check(w, 0);
	stack_redis(w, "XGROUP CREATE " STREAM " g 0");
	CHECK_INT(read_group(w, "g", 30, 10), 30);
	CHECK(world_await_int(w, 10, WAIT_MS, "SELECT acknowledged_id FROM intake.stream_group"));
	CHECK(await_shorter(w, 41)); /* the last acknowledged one may stay */
	reply = redisCommand(redis, "XREADGROUP GROUP g me COUNT 100 STREAMS " STREAM " 0");
	const redisReply *pending = reply->element[0]->element[1];
	CHECK_INT((int64_t)pending->elements, 20);
	for (size_t i = 0; i < pending->elements; i++)
		CHECK_INT(pending->element[i]->element[1]->type, REDIS_REPLY_ARRAY); /* not nil */
	freeReplyObject(reply);
	redisFree(redis);
	world_close(w);
}

static void missing_group_stops_trimming(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);

	stack_emit(w, "a", 50);
	stack_check(w, 0);
	stack_redis(w, "XGROUP CREATE " STREAM " g 0");
	stack_redis(w, "XGROUP CREATE " STREAM " gone 0");
	CHECK(world_await_int(w, 2, WAIT_MS, "SELECT count(*) FROM intake.stream_group"));
	stack_redis(w, "XGROUP DESTROY " STREAM " gone");
	CHECK_INT(read_group(w, "g", 50, 50), 50);
	CHECK(proc_await_log(relay, "group gone is missing", WAIT_MS));
	CHECK(world_await_int(
	    w, 50, WAIT_MS, "SELECT acknowledged_id FROM intake.stream_group WHERE name = 'g'"));
	CHECK_INT(length(w), 50);
	world_sql(w, "DELETE FROM intake.stream_group WHERE name = 'gone'");
	CHECK(await_length(w, 1));
	world_close(w);
}

/* Between storing what is acknowledged and trimming it. */
static void stored_before_trimmed(void)
{
	struct world *w = stack_open(1);
	struct proc *relay;

	relay = stack_relay(w, NULL, NULL);
	stack_emit(w, "a", 50);
	stack_check(w, 0);
	proc_kill(relay, SIGKILL);
	proc_wait(relay, WAIT_MS);
	stack_redis(w, "XGROUP CREATE " STREAM " g 0");
	CHECK_INT(read_group(w, "g", 50, 50), 50);
	proc_set_env(
	    relay, (const char *const[]){"UMAVEZ_FAILPOINTS=relay.before_trim=hang", NULL});
	proc_restart(relay);
	CHECK(world_await_int(w, 50, WAIT_MS, "SELECT acknowledged_id FROM intake.stream_group"));
	CHECK_INT(length(w), 50);

	/* The group goes back before the trim: it is read again. */
	stack_redis(w, "XGROUP SETID " STREAM " g 0");
	proc_set_env(relay, NULL);
	proc_restart(relay);
	CHECK(world_await_int(w, 0, WAIT_MS, "SELECT acknowledged_id FROM intake.stream_group"));
	CHECK_INT(length(w), 50);
	world_close(w);
}

/* Positions are read again by the trim itself: here, a group goes back in between. */
static void group_goes_back_before_the_trim(bool read_again)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);

	stack_emit(w, "a", 50);
	stack_check(w, 0);
	proc_kill(relay, SIGKILL);
	proc_wait(relay, WAIT_MS);
	stack_redis(w, "XGROUP CREATE " STREAM " g 0");
	CHECK_INT(read_group(w, "g", 50, 50), 50);
	proc_set_env(relay,
	    (const char *const[]){"UMAVEZ_FAILPOINTS=relay.before_trim=sleep(1000)@1", NULL});
	proc_restart(relay);
	CHECK(world_await_int(w, 50, WAIT_MS, "SELECT acknowledged_id FROM intake.stream_group"));
	stack_redis(w, "XGROUP SETID " STREAM " g 0");
	if (read_again)
		CHECK_INT(read_group(w, "g", 50, 0), 50);
	CHECK(world_await_int(w, 0, WAIT_MS, "SELECT acknowledged_id FROM intake.stream_group"));
	CHECK_INT(length(w), 50);
	world_close(w);
}

static void set_back_before_the_trim(void)
{
	group_goes_back_before_the_trim(false);
}

static void pending_again_before_the_trim(void)
{
	group_goes_back_before_the_trim(true);
}

/* Read beyond our newest entry, a group has acknowledged no rows there: foreign entries stand for
 * none, and rows that are not published yet may have lower positions. */
static void acknowledged_ends_at_our_newest(void)
{
	struct world *w = stack_open(1);
	struct stream_id own = {5, 7};
	struct err err = ERR_INIT;
	struct trim *trim = trim_new();
	struct stream *stream;
	struct db *db;
	int64_t removed;

	stack_redis(w, "XADD " STREAM " 5-7 a b");
	stack_redis(w, "XADD " STREAM " 9-0 a b");
	stack_redis(w, "XGROUP CREATE " STREAM " g 0");
	CHECK_INT(read_group(w, "g", 2, 2), 2);
	CHECK_INT(db_open(world_relay_url(w), 0, &db, &err), 0);
	CHECK_INT(stream_open(world_redis_url(w), "umavez", 0, "me", &stream, &err), 0);
	CHECK_INT(trim_run(trim, db, stream, own, &removed, &err), 0);
	CHECK_INT(world_int(w, "SELECT acknowledged_tick FROM intake.stream_group"), 5);
	CHECK_INT(world_int(w, "SELECT acknowledged_id FROM intake.stream_group"), 7);
	CHECK_INT(length(w), 2);
	trim_free(trim);
	stream_close(stream);
	db_close(db);
	world_close(w);
}

/* After a flush a stream is filled again from what was acknowledged, less the margin. */
static void filled_from_the_acknowledged(void)
{
	struct world *w = stack_open(1);

	stack_relay(w, (const char *const[]){"--replay-margin", "0", NULL}, NULL);
	stack_emit(w, "a", 50);
	stack_check(w, 0);
	stack_redis(w, "XGROUP CREATE " STREAM " g 0");
	CHECK_INT(read_group(w, "g", 50, 50), 50);
	CHECK(await_length(w, 1));
	stack_emit(w, "b", 30);
	CHECK(await_length(w, 31));
	stack_redis(w, "FLUSHALL");
	/* From the beginning of the acknowledged entry's tick. */
	CHECK(await_length(
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
	CHECK(await_length(w, 10));
	stack_redis(w, "XGROUP CREATE " STREAM " sleepy 0");
	stack_emit(w, "b", 490);
	CHECK(proc_await_log(relay, "group sleepy holds it back", WAIT_MS));
	body = stack_readyz(relay, &status);
	CHECK_INT(status, 503);
	CHECK(strstr(body, "sleepy") != NULL);
	free(body);
	CHECK_INT(metric(relay, "paused"), 1);
	CHECK(length(w) > 100 && length(w) <= 110);

	int64_t effects = 0;
	while (effects < 500) {
		int64_t n = read_group(w, "sleepy", 50, 50);

		effects += n;
		if (n == 0)
			sleep_ms(20);
		CHECK(length(w) <= 110);
	}
	CHECK_INT(effects, 500);
	CHECK(await_length(w, 1));
	CHECK(proc_await_ready(relay, WAIT_MS));
	CHECK_INT(metric(relay, "paused"), 0);
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
	CHECK(await_length(w, 6));
	CHECK_INT(metric(relay, "paused"), 1);

	proc_kill(relay, SIGKILL);
	proc_wait(relay, WAIT_MS);
	stack_relay(w, (const char *const[]){"--max-event", "4KiB", NULL}, NULL);
	stack_check(w, 0);
	CHECK_INT(length(w), 13);
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

static bool is_answered(void *ctx)
{
	return stack_redis_int(ctx, "HEXISTS " REPLAY " answer:c") == 1 &&
	       stack_redis_int(ctx, "HEXISTS " REPLAY " ask:c") == 0;
}

/* malloc'd; the answer is removed. */
static char *ask(struct world *w, const char *cursor)
{
	char *answer;

	stack_redis(w, "HSET " REPLAY " ask:c %s", cursor);
	CHECK(await(is_answered, w, WAIT_MS));
	answer = stack_redis_text(w, "HGET " REPLAY " answer:c");
	stack_redis(w, "HDEL " REPLAY " answer:c");
	return answer;
}

static char *id_of_row(struct world *w, int64_t id)
{
	witness_streams(w);
	return world_text(
	    w, "SELECT tick || '-' || id FROM witness.entry WHERE id = %lld", (long long)id);
}

static void check_answer_none(struct world *w, const char *cursor)
{
	char *answer = ask(w, cursor), *expected = text_format("%s none", cursor);

	CHECK_STR(answer, expected);
	free(answer);
	free(expected);
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
	stack_redis(w, "XGROUP CREATE " STREAM " g %s", cursor);
	CHECK(await_length(w, 31)); /* row 20 itself is still there */
	check_answer_none(w, cursor);
	check_answer_none(w, "99999999999999-0");
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
	stack_redis(w, "XGROUP CREATE " STREAM " g 0");
	CHECK_INT(read_group(w, "g", 50, 50), 50);
	CHECK(await_length(w, 1));

	answer = ask(w, cursor);
	CHECK(strncmp(answer, cursor, strlen(cursor)) == 0);
	tick = tick_of(answer);
	stack_emit(w, "b", 10);
	CHECK(await_length(w, 41)); /* row 50, rows 21 to 50 again, and the new ones */
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
	CHECK(await_length(w, 101));
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
	stack_redis(w, "XGROUP CREATE " STREAM " g 0");
	CHECK_INT(read_group(w, "g", 50, 50), 50);
	CHECK(await_length(w, 1));
	return cursor;
}

static int count(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

struct rounds {
	struct proc *relay;
	int n;
};

static bool has_failed(void *ctx)
{
	const struct rounds *wanted = ctx;
	char *log = file_read(proc_log(wanted->relay), NULL);
	bool has = count(log, "cannot answer a request") >= wanted->n;

	free(log);
	return has;
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
	stack_redis(w, "CONFIG SET maxmemory 0");
	CHECK(await(is_answered, w, WAIT_MS));
	answer = stack_redis_text(w, "HGET " REPLAY " answer:c");
	expected = world_text(w, "SELECT '%s ' || tick FROM intake.tick WHERE replay", cursor);
	CHECK_STR(answer, expected);
	CHECK(await_length(w, 31));
	free(answer);
	free(expected);
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

	return stack_redis_int(wanted->w, "EVAL %s 1 " STREAM " %lld",
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
	stack_redis(w, "XGROUP SETID " STREAM " g %s", cursor);
	stack_redis(w, "HSET " REPLAY " ask:c %s", cursor);
	CHECK(await(is_answered, w, WAIT_MS));
	proc_set_env(relay, NULL);
	proc_restart(relay);
	answer = stack_redis_text(w, "HGET " REPLAY " answer:c");
	tick.tick = tick_of(answer);
	CHECK(await(has_begun, &tick, WAIT_MS));

	stack_redis(w, "XGROUP SETID " STREAM " g %lld-0", tick.tick);
	stack_redis(w, "HDEL " REPLAY " answer:c");
	while (again < 60) {
		int64_t n = read_group(w, "g", 50, 50);

		again += n;
		if (n == 0)
			sleep_ms(20);
		CHECK(
		    length(w) <= 20 + 5 + 31 + 5); /* the limit, and up to where the tick begins */
	}
	CHECK(await_length(w, 1));
	CHECK(proc_await_ready(relay, WAIT_MS));
	free(answer);
	free(cursor);
	world_close(w);
}

static void nonsense_is_asked(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);

	stack_redis(w, "HSET " REPLAY " ask:c nonsense other thing");
	CHECK(proc_await_log(relay, "not a position", WAIT_MS));
	check_answer_none(w, "0-0");
	CHECK_INT(stack_redis_int(w, "HEXISTS " REPLAY " other"), 1);
	world_close(w);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"no group: nothing is trimmed", nobody_reads},
	    {"B43 the slowest group decides, the newest entry stays", slowest_group_decides},
	    {"B44 pending entries stay", pending_entries_stay},
	    {"a registered group is missing: nothing is trimmed", missing_group_stops_trimming},
	    {"acknowledged is stored before it is trimmed", stored_before_trimmed},
	    {"a group is set back before the trim", set_back_before_the_trim},
	    {"a group reads again before the trim", pending_again_before_the_trim},
	    {"acknowledged ends at our newest entry", acknowledged_ends_at_our_newest},
	    {"an empty stream is filled from the acknowledged", filled_from_the_acknowledged},
	    {"B43 pauses at the limit, and resumes alone", pauses_at_the_limit},
	    {"B35 too large an event stops its shard, visibly", too_large_an_event},
	    {"large events", large_events},
	    {"replay: nothing was trimmed", nothing_to_replay},
	    {"replay: what was trimmed comes again", what_was_trimmed_is_replayed},
	    {"replay: one tick while Redis is out of memory", one_tick_while_out_of_memory},
	    {"replay: into a full stream", replayed_into_a_full_stream},
	    {"replay: nonsense", nonsense_is_asked},
	    {NULL, NULL},
	};
	return check_main("relay bounds", checks, argc, argv);
}
