/* With the real relay: an effects database that goes back to an earlier moment, and a Redis that
 * loses everything, while rows keep coming. */
#include "tests/consumer/stage.h"

#include "tests/support/files.h"

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

static const struct check checks[] = {
    {"restored behind the trim", restored_behind_the_trim},
    {"restored while the relay is away", restored_while_the_relay_is_away},
    {"restored and flushed at the same time", restored_and_flushed},
    {"flushed while rows come", flushed_while_rows_come},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer with relay", checks, argc, argv);
}
