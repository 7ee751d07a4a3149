/* What may be trimmed: what every group has acknowledged, and only that. */
#include "relay/trim.h"
#include "tests/relay/stack.h"
#include "tests/support/pause.h"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

struct length_wanted {
	struct world *w;
	int64_t length;
};

static bool is_shorter(void *ctx)
{
	const struct length_wanted *wanted = ctx;

	return stack_length(wanted->w) <= wanted->length;
}

static bool await_shorter(struct world *w, int64_t n)
{
	struct length_wanted wanted = {w, n};

	return await(is_shorter, &wanted, WAIT_MS);
}

/* Wait for some rounds of trimming: until the relay has looked at groups twice more. */
static void await_rounds(struct world *w)
{
	char name[32];

	for (int round = 0; round < 2; round++) {
		snprintf(name, sizeof(name), "probe%lld", (long long)now_ms());
		world_redis_run(w, "XGROUP CREATE " STREAM " %s 0", name);
		CHECK(world_await_int(w, 1, WAIT_MS,
		    "SELECT count(*) FROM intake.stream_group WHERE name = '%s'", name));
		world_redis_run(w, "XGROUP DESTROY " STREAM " %s", name);
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
	CHECK_INT(stack_length(w), 50);
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
	world_redis_run(w, "XGROUP CREATE " STREAM " fast 0");
	world_redis_run(w, "XGROUP CREATE " STREAM " slow 0");
	CHECK_INT(stack_read_group(w, "fast", 50, 50), 50);
	await_rounds(w);
	CHECK_INT(stack_length(w), 50);
	CHECK_INT(stack_read_group(w, "slow", 20, 20), 20);
	CHECK(stack_await_length(w, 31)); /* the last one acknowledged stays */
	CHECK_INT(stack_read_group(w, "slow", 50, 50), 30);
	CHECK(stack_await_length(w, 1)); /* the newest entry of ours stays */
	CHECK(stack_await_shard_metric(relay, "trimmed_total", 49));
	CHECK_INT(stack_shard_metric(relay, "trimmed_total"), 49);
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
	world_redis_run(w, "XGROUP CREATE " STREAM " g 0");
	CHECK_INT(stack_read_group(w, "g", 30, 10), 30);
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

static void delete_entries(struct world *w, const char *range)
{
	redisContext *redis = world_redis(w);
	redisReply *entries = redisCommand(redis, range);

	CHECK_INT(entries->type, REDIS_REPLY_ARRAY);
	for (size_t i = 0; i < entries->elements; i++)
		world_redis_run(w, "XDEL " STREAM " %s", entries->element[i]->element[0]->str);
	freeReplyObject(entries);
	redisFree(redis);
}

/* What another consumer of the group may take over, or finds deleted: it is claimed at once. */
static void claim(struct world *w, int64_t want, int64_t want_deleted)
{
	redisContext *redis = world_redis(w);
	redisReply *reply = redisCommand(redis, "XAUTOCLAIM " STREAM " g other 0 0-0");

	CHECK_INT(reply->type, REDIS_REPLY_ARRAY);
	CHECK_INT((int64_t)reply->element[1]->elements, want);
	CHECK_INT((int64_t)reply->element[2]->elements, want_deleted);
	for (size_t i = 0; i < reply->element[1]->elements; i++)
		freeReplyObject(redisCommand(
		    redis, "XACK " STREAM " g %s", reply->element[1]->element[i]->element[0]->str));
	freeReplyObject(reply);
	redisFree(redis);
}

/* Three are read, and two of them deleted before they are acknowledged.  The group still holds the
 * stream at its oldest pending one, and lets go of it when somebody has claimed them. */
static void pending_entries_are_deleted(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);

	stack_emit(w, "a", 50);
	stack_check(w, 0);
	world_redis_run(w, "XGROUP CREATE " STREAM " g 0");
	CHECK_INT(stack_read_group(w, "g", 3, 0), 3);
	delete_entries(w, "XRANGE " STREAM " - + COUNT 2");
	CHECK_INT(stack_read_group(w, "g", 50, 50), 47);
	await_rounds(w);
	CHECK_INT(stack_length(w), 48);
	CHECK_INT(world_int(w, "SELECT acknowledged_id FROM intake.stream_group"), 0);
	claim(w, 1, 2);
	CHECK(stack_await_length(w, 1));
	stack_emit(w, "b", 5);
	CHECK(stack_await_length(w, 6));
	CHECK_INT(stack_read_group(w, "g", 50, 50), 5);
	CHECK(stack_await_length(w, 1));
	CHECK(!proc_log_has(relay, "level=error"));
	world_close(w);
}

/* The stream then ends in an ID that no entry has: its row comes again under another one. */
static void newest_entry_is_deleted(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);

	stack_emit(w, "a", 20);
	stack_check(w, 0);
	world_redis_run(w, "XGROUP CREATE " STREAM " g 0");
	CHECK_INT(stack_read_group(w, "g", 19, 19), 19);
	CHECK(stack_await_length(w, 2));
	delete_entries(w, "XREVRANGE " STREAM " + - COUNT 1");
	proc_restart(relay);
	CHECK(stack_await_length(w, 2));
	CHECK_INT(stack_read_group(w, "g", 50, 50), 1);
	stack_emit(w, "b", 5);
	CHECK(stack_await_length(w, 6));
	CHECK_INT(stack_read_group(w, "g", 50, 50), 5);
	world_close(w);
}

static void missing_group_stops_trimming(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);

	stack_emit(w, "a", 50);
	stack_check(w, 0);
	world_redis_run(w, "XGROUP CREATE " STREAM " g 0");
	world_redis_run(w, "XGROUP CREATE " STREAM " gone 0");
	CHECK(world_await_int(w, 2, WAIT_MS, "SELECT count(*) FROM intake.stream_group"));
	world_redis_run(w, "XGROUP DESTROY " STREAM " gone");
	CHECK_INT(stack_read_group(w, "g", 50, 50), 50);
	CHECK(proc_await_log(relay, "group gone is missing", WAIT_MS));
	CHECK(world_await_int(
	    w, 50, WAIT_MS, "SELECT acknowledged_id FROM intake.stream_group WHERE name = 'g'"));
	CHECK_INT(stack_length(w), 50);
	world_sql(w, "DELETE FROM intake.stream_group WHERE name = 'gone'");
	CHECK(stack_await_length(w, 1));
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
	world_redis_run(w, "XGROUP CREATE " STREAM " g 0");
	CHECK_INT(stack_read_group(w, "g", 50, 50), 50);
	proc_set_env(
	    relay, (const char *const[]){"UMAVEZ_FAILPOINTS=relay.before_trim=hang", NULL});
	proc_restart(relay);
	CHECK(world_await_int(w, 50, WAIT_MS, "SELECT acknowledged_id FROM intake.stream_group"));
	CHECK_INT(stack_length(w), 50);

	/* The group goes back before the trim: it is read again. */
	world_redis_run(w, "XGROUP SETID " STREAM " g 0");
	proc_set_env(relay, NULL);
	proc_restart(relay);
	CHECK(world_await_int(w, 0, WAIT_MS, "SELECT acknowledged_id FROM intake.stream_group"));
	CHECK_INT(stack_length(w), 50);
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
	world_redis_run(w, "XGROUP CREATE " STREAM " g 0");
	CHECK_INT(stack_read_group(w, "g", 50, 50), 50);
	proc_set_env(relay,
	    (const char *const[]){"UMAVEZ_FAILPOINTS=relay.before_trim=sleep(1000)@1", NULL});
	proc_restart(relay);
	CHECK(world_await_int(w, 50, WAIT_MS, "SELECT acknowledged_id FROM intake.stream_group"));
	world_redis_run(w, "XGROUP SETID " STREAM " g 0");
	if (read_again)
		CHECK_INT(stack_read_group(w, "g", 50, 0), 50);
	CHECK(world_await_int(w, 0, WAIT_MS, "SELECT acknowledged_id FROM intake.stream_group"));
	CHECK_INT(stack_length(w), 50);
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

/* As a relay does that takes this for its newest entry. */
static int64_t trim_as(struct world *w, struct stream_id own)
{
	struct err err = ERR_INIT;
	struct trim *trim = trim_new();
	struct stream *stream;
	struct db *db;
	int64_t removed;

	CHECK_INT(db_open(world_relay_url(w), 0, DB_SILENCE_MIN_MS, &db, &err), 0);
	CHECK_INT(stream_open(world_redis_url(w), "umavez", 0, "me", &stream, &err), 0);
	CHECK_INT(trim_run(trim, db, stream, own, &removed, &err), 0);
	trim_free(trim);
	stream_close(stream);
	db_close(db);
	return removed;
}

/* Read beyond our newest entry, a group has acknowledged no rows there: foreign entries stand for
 * none, and rows that are not published yet may have lower positions. */
static void acknowledged_ends_at_our_newest(void)
{
	struct world *w = stack_open(1);

	world_redis_run(w, "XADD " STREAM " 5-7 a b");
	world_redis_run(w, "XADD " STREAM " 9-0 a b");
	world_redis_run(w, "XGROUP CREATE " STREAM " g 0");
	CHECK_INT(stack_read_group(w, "g", 2, 2), 2);
	CHECK_INT(trim_as(w, (struct stream_id){5, 7}), 0);
	CHECK_INT(world_int(w, "SELECT acknowledged_tick FROM intake.stream_group"), 5);
	CHECK_INT(world_int(w, "SELECT acknowledged_id FROM intake.stream_group"), 7);
	CHECK_INT(stack_length(w), 2);
	world_close(w);
}

/* Redis has lost our newest entry, and a consumer's cursor may have been restored to what is left.
 */
static void newest_entry_is_lost(void)
{
	struct world *w = stack_open(1);

	world_redis_run(w, "XADD " STREAM " 5-6 a b");
	world_redis_run(w, "XADD " STREAM " 5-7 a b");
	world_redis_run(w, "XGROUP CREATE " STREAM " g 5-7");
	CHECK_INT(trim_as(w, (struct stream_id){5, 8}), 0);
	CHECK_INT(stack_length(w), 2);
	CHECK_INT(trim_as(w, (struct stream_id){5, 7}), 1);
	CHECK_INT(stack_length(w), 1);
	world_close(w);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"no group: nothing is trimmed", nobody_reads},
	    {"B43 the slowest group decides, the newest entry stays", slowest_group_decides},
	    {"B44 pending entries stay", pending_entries_stay},
	    {"B44 pending entries are deleted", pending_entries_are_deleted},
	    {"B44 the newest entry is deleted", newest_entry_is_deleted},
	    {"a registered group is missing: nothing is trimmed", missing_group_stops_trimming},
	    {"acknowledged is stored before it is trimmed", stored_before_trimmed},
	    {"a group is set back before the trim", set_back_before_the_trim},
	    {"a group reads again before the trim", pending_again_before_the_trim},
	    {"acknowledged ends at our newest entry", acknowledged_ends_at_our_newest},
	    {"Redis has lost our newest entry", newest_entry_is_lost},
	    {NULL, NULL},
	};
	return check_main("relay trim", checks, argc, argv);
}
