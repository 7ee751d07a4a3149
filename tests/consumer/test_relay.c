/* With the real relay: an effects database that goes back to an earlier moment, and a Redis that
 * loses everything, while rows keep coming. */
#include "tests/consumer/stage.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static const char *const relay_args[] = {"--lease-off", "--poll-interval", "50ms",
    "--trim-interval", "50ms", "--replay-margin", "0", NULL};

static void emit(struct stage *s, int first, int last)
{
	world_sql(s->w,
	    "INSERT INTO intake.outbox (shard, source, message_id, type, subject, time, data)"
	    " SELECT 0, 'app_store', 'm' || n, 'purchase.noted', 'app_store/p' || n %% 5, now(),"
	    " json_build_object('n', n, 'shard', 0) FROM generate_series(%d, %d) AS n",
	    first, last);
}

/* Until the relay has trimmed what was acknowledged: the stream holds its newest entry only. */
static bool is_trimmed(void *ctx)
{
	char *length = stage_redis_text(ctx, "XLEN " STAGE_STREAM);
	bool is = strcmp(length, "0") == 0 || strcmp(length, "1") == 0;

	free(length);
	return is;
}

static void forget_after(struct stage *s, int n)
{
	world_sql(s->w,
	    "BEGIN; UPDATE effects.cursor SET stream_id ="
	    " (SELECT stream_id FROM effects.inbox WHERE message_id = 'm%d');"
	    "DELETE FROM stage.log WHERE n > %d;"
	    "DELETE FROM effects.inbox WHERE substr(message_id, 2)::int > %d; COMMIT",
	    n, n, n);
}

static void restored_behind_the_trim(void)
{
	struct stage *s = stage_open(1);

	world_relay(s->w, relay_args, NULL);
	stage_consumer(s, NULL, NULL);
	emit(s, 1, 100);
	CHECK(stage_await_effects(s, 100));
	CHECK(await(is_trimmed, s, STAGE_MS));
	for (int round = 1; round <= 3; round++) {
		forget_after(s, 30 * round);
		emit(s, 100 * round + 1, 100 * round + 100);
		CHECK(stage_await_effects(s, 100 * round + 100));
		stage_check_effects(s, 100 * round + 100);
		CHECK(await(is_trimmed, s, STAGE_MS));
	}
	CHECK(stage_await_field(s, "ask:" STAGE_CONSUMER, NULL));
	CHECK(stage_await_field(s, "answer:" STAGE_CONSUMER, NULL));
	stage_close(s);
}

static void restored_while_the_relay_is_away(void)
{
	struct stage *s = stage_open(1);
	struct proc *relay = world_relay(s->w, relay_args, NULL),
		    *p = stage_consumer(s, NULL, NULL);

	emit(s, 1, 100);
	CHECK(stage_await_effects(s, 100));
	CHECK(await(is_trimmed, s, STAGE_MS));
	proc_kill(relay, SIGKILL);
	CHECK_INT(proc_wait(relay, STAGE_MS), 128 + SIGKILL);
	forget_after(s, 50);
	CHECK(stage_await_says(p, "/readyz", "waiting for the relay"));
	emit(s, 101, 150);
	proc_restart(relay);
	CHECK(stage_await_effects(s, 150));
	stage_check_effects(s, 150);
	CHECK(proc_await_ready(p, STAGE_MS));
	stage_close(s);
}

/* The relay fills the stream again from what was acknowledged, which is further on. */
static void restored_and_flushed(void)
{
	struct stage *s = stage_open(1);
	struct proc *relay = world_relay(s->w, relay_args, NULL),
		    *p = stage_consumer(s, NULL, NULL);

	for (int n = 1; n <= 100; n += 10) {
		emit(s, n, n + 9);
		CHECK(stage_await_effects(s, n + 9));
	}
	CHECK(await(is_trimmed, s, STAGE_MS));
	proc_kill(p, SIGTERM);
	CHECK_INT(proc_wait(p, STAGE_MS), 0);
	proc_kill(relay, SIGKILL);
	CHECK_INT(proc_wait(relay, STAGE_MS), 128 + SIGKILL);
	forget_after(s, 30);
	stage_redis(s, "FLUSHALL");
	proc_restart(p);
	CHECK(proc_await_ready(p, STAGE_MS)); /* it has seen the empty stream */
	emit(s, 101, 150);
	proc_restart(relay);
	CHECK(stage_await_effects(s, 150));
	stage_check_effects(s, 150);
	stage_close(s);
}

static void flushed_while_rows_come(void)
{
	struct stage *s = stage_open(1);

	world_relay(s->w, relay_args, NULL);
	stage_consumer(s, NULL, NULL);
	for (int round = 0; round < 5; round++) {
		emit(s, 100 * round + 1, 100 * round + 50);
		stage_redis(s, "FLUSHALL");
		emit(s, 100 * round + 51, 100 * round + 100);
		CHECK(stage_await_effects(s, 100 * round + 100));
		stage_check_effects(s, 100 * round + 100);
	}
	stage_close(s);
}

static bool has_asked(void *ctx)
{
	char *ask = stage_redis_text(ctx, "HGET " STAGE_REPLAY " ask:" STAGE_CONSUMER);
	bool has = ask != NULL;

	free(ask);
	return has;
}

/* Redis comes back as it was long ago, and the consumer has asked how to go on before anything is
 * appended.  It is away from its place for longer than the stream may get. */
static void older_than_a_stream_is_long(void)
{
	static const char *const args[] = {"--lease-off", "--poll-interval", "50ms",
	    "--trim-interval", "50ms", "--replay-margin", "0", "--append-batch", "10",
	    "--stream-max-length", "50", NULL};
	struct stage *s = stage_open(1);
	struct proc *relay = world_relay(s->w, args, NULL);
	redisReply *copy;

	stage_consumer(s, NULL, NULL);
	emit(s, 1, 20);
	CHECK(stage_await_effects(s, 20));
	CHECK(await(is_trimmed, s, STAGE_MS));
	copy = redisCommand(s->redis, "DUMP " STAGE_STREAM);
	emit(s, 21, 200);
	CHECK(stage_await_effects(s, 200));
	CHECK(await(is_trimmed, s, STAGE_MS));
	proc_kill(relay, SIGKILL);
	CHECK_INT(proc_wait(relay, STAGE_MS), 128 + SIGKILL);
	freeReplyObject(
	    redisCommand(s->redis, "RESTORE " STAGE_STREAM " 0 %b REPLACE", copy->str, copy->len));
	CHECK(await(has_asked, s, STAGE_MS));
	emit(s, 201, 210);
	proc_restart(relay);
	CHECK(stage_await_effects(s, 210));
	stage_check_effects(s, 210);
	freeReplyObject(copy);
	stage_close(s);
}

static bool is_published(void *ctx)
{
	char *row = stage_redis_text(ctx, "XLEN " STAGE_STREAM);
	bool is = strcmp(row, "2") == 0;

	free(row);
	return is;
}

/* The first row of two is published, and an entry of somebody else takes the second one's ID. */
static char *add_in_its_place(struct stage *s)
{
	char *id = world_text(s->w,
	    "SELECT t.tick || '-' || max(o.id) FROM intake.outbox AS o, intake.tick AS t"
	    " GROUP BY t.tick ORDER BY t.tick DESC LIMIT 1");

	stage_redis(s, "COPY " STAGE_STREAM " saved");
	stage_redis(s, "XADD " STAGE_STREAM " %s some thing", id);
	return id;
}

/*
 * The consumer has seen somebody's entry at 2-2, where row 2 was to come; Redis loses it; and
 * before the consumer looks again the row is there.
 */
static void a_row_in_the_place_of_a_lost_entry(void)
{
	static const char *const one_by_one[] = {"--lease-off", "--append-batch", "1", NULL};
	static const char *const dies[] = {"UMAVEZ_FAILPOINTS=relay.mid_tick=crash", NULL};
	struct stage *s = stage_open(1);
	struct proc *p = stage_consumer(s, NULL, NULL), *relay;
	char *id;

	emit(s, 1, 2);
	relay = world_relay(s->w, one_by_one, dies);
	CHECK_INT(proc_wait(relay, STAGE_MS), 128 + SIGKILL);
	CHECK(stage_await_effects(s, 1));
	id = add_in_its_place(s);
	CHECK(proc_await_log(p, "passed over entries", STAGE_MS));
	proc_kill(p, SIGSTOP);
	stage_redis(s, "COPY saved " STAGE_STREAM " REPLACE");
	proc_set_env(relay, NULL);
	proc_restart(relay);
	CHECK(await(is_published, s, STAGE_MS));
	proc_kill(p, SIGCONT);
	CHECK(stage_await_cursor(s, id));
	CHECK(stage_await_effects(s, 2));
	stage_check_effects(s, 2);
	free(id);
	stage_close(s);
}

static const struct check checks[] = {
    {"restored behind the trim", restored_behind_the_trim},
    {"restored while the relay is away", restored_while_the_relay_is_away},
    {"restored and flushed at the same time", restored_and_flushed},
    {"flushed while rows come", flushed_while_rows_come},
    {"older than a stream is long", older_than_a_stream_is_long},
    {"a row in the place of a lost entry", a_row_in_the_place_of_a_lost_entry},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer with relay", checks, argc, argv);
}
