/*
 * Positions that a repair has made void: a consumer's cursor may stand at one, and an older copy of
 * Redis brings their entries back.
 */
#include "tests/relay/stack.h"
#include "tests/support/text.h"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REPLAY "umavez:replay:{0}"

struct scene {
	struct world *w;
	struct proc *relay;
	redisContext *redis;
};

static void open_scene(struct scene *s)
{
	s->w = stack_open(1);
	s->redis = world_redis(s->w);
	s->relay = stack_relay(s->w, NULL, NULL);
}

static void close_scene(struct scene *s)
{
	redisFree(s->redis);
	world_close(s->w);
}

/* The relay is away, and comes back to another stream. */
static void leave(struct scene *s)
{
	proc_kill(s->relay, SIGTERM);
	CHECK_INT(proc_wait(s->relay, WAIT_MS), 0);
}

static redisReply *copy_stream(struct scene *s)
{
	redisReply *copy = redisCommand(s->redis, "DUMP " STREAM);

	CHECK(copy != NULL && copy->type == REDIS_REPLY_STRING);
	return copy;
}

static void restore_stream(struct scene *s, const redisReply *copy)
{
	redisReply *reply =
	    redisCommand(s->redis, "RESTORE " STREAM " 0 %b REPLACE", copy->str, copy->len);

	CHECK(reply != NULL && reply->type == REDIS_REPLY_STATUS);
	freeReplyObject(reply);
}

/* Where a row stands last; malloc'd. */
static char *id_of_row(struct scene *s, int64_t id)
{
	witness_streams(s->w);
	return world_text(s->w,
	    "SELECT tick || '-' || id FROM witness.entry WHERE id = %lld"
	    " ORDER BY place DESC LIMIT 1",
	    (long long)id);
}

/* Rows a1 to a<n>, and then what is lost of them: all after `keep`, below somebody else's entry. */
static void lose_behind(struct scene *s, int n, int keep, char **ret_last)
{
	redisReply *copy;

	stack_emit(s->w, "a", keep);
	stack_check(s->w, 0);
	leave(s);
	copy = copy_stream(s);
	proc_restart(s->relay);
	stack_emit(s->w, "b", n - keep);
	stack_check(s->w, 0);
	*ret_last = id_of_row(s, n);
	leave(s);
	restore_stream(s, copy);
	world_redis_run(s->w, "XADD " STREAM " * some thing");
	proc_restart(s->relay);
	CHECK(stack_await_shard_metric(s->relay, "repairs_total", 1));
	freeReplyObject(copy);
}

static bool is_answered(void *ctx)
{
	return world_redis_int(ctx, "HEXISTS " REPLAY " answer:c") == 1;
}

/* What the relay answers to this position; malloc'd. */
static char *ask(struct scene *s, const char *cursor)
{
	char *answer, *what;

	world_redis_run(s->w, "HSET " REPLAY " ask:c %s", cursor);
	CHECK(await(is_answered, s->w, WAIT_MS));
	answer = world_redis_text(s->w, "HGET " REPLAY " answer:c");
	CHECK(strncmp(answer, cursor, strlen(cursor)) == 0);
	what = strdup(answer + strlen(cursor) + 1);
	world_redis_run(s->w, "HDEL " REPLAY " answer:c");
	free(answer);
	return what;
}

static int64_t rows_of_tick(struct scene *s, const char *tick)
{
	witness_streams(s->w);
	return world_int(s->w, "SELECT count(*) FROM witness.entry WHERE tick = %s", tick);
}

static bool has_three_rows(void *ctx)
{
	char *tick = world_redis_text(((struct scene *)ctx)->w, "GET void:tick");
	bool has = rows_of_tick(ctx, tick) == 3;

	free(tick);
	return has;
}

/* What stands behind it now does not follow it, whatever the numbers say. */
static void a_cursor_at_a_void_position(void)
{
	struct scene s;
	char *last, *at_47, *what;

	open_scene(&s);
	lose_behind(&s, 50, 45, &last);
	what = ask(&s, last);
	CHECK(strlen(what) > 2 && strcmp(what + strlen(what) - 2, "-0") == 0);
	free(what);

	at_47 = text_format("%.*s-47", (int)strcspn(last, "-"), last);
	what = ask(&s, at_47);
	CHECK(strchr(what, '-') == NULL);
	world_redis_run(s.w, "SET void:tick %s", what);
	CHECK(await(has_three_rows, &s, WAIT_MS));
	free(what);
	free(at_47);
	free(last);
	close_scene(&s);
}

static bool is_answered_anew(void *ctx)
{
	char *answer = world_redis_text(ctx, "HGET " REPLAY " answer:c");
	bool is = answer != NULL && strstr(answer, " none") == NULL;

	free(answer);
	return is;
}

/* An answer is about a stream. */
static void answers_are_taken_back(void)
{
	struct scene s;
	char *last, *text;

	open_scene(&s);
	lose_behind(&s, 50, 45, &last);
	leave(&s);
	text = text_format("%s none", last);
	world_redis_run(s.w, "HSET " REPLAY " answer:c %b", text, strlen(text));
	proc_restart(s.relay);
	CHECK(await(is_answered_anew, s.w, WAIT_MS));
	free(text);
	free(last);
	close_scene(&s);
}

/* 45 rows of which the first 40 were trimmed, and 11 to 45 again for a consumer that asked. Gives
 * the stream as it was before, and as it was when 20 had come again. */
static void replay_half_way(struct scene *s, redisReply **ret_before, redisReply **ret_half)
{
	char *at_10, *at_40, *tick, *half;

	stack_emit(s->w, "a", 45);
	stack_check(s->w, 0);
	at_10 = id_of_row(s, 10);
	at_40 = id_of_row(s, 40);
	world_redis_run(s->w, "XTRIM " STREAM " MINID %s", at_40);
	*ret_before = copy_stream(s);
	tick = ask(s, at_10);
	half = text_format("%s-20", tick);
	CHECK(stack_await_length(s->w, 6 + 35));
	leave(s);
	world_redis_run(s->w, "EVAL %s 1 " STREAM " %s",
	    "for _, e in ipairs(redis.call('XRANGE', KEYS[1], '(' .. ARGV[1], '+')) do"
	    " redis.call('XDEL', KEYS[1], e[1]) end"
	    " redis.call('XSETID', KEYS[1], ARGV[1])",
	    half);
	*ret_half = copy_stream(s);
	free(at_10);
	free(at_40);
	free(tick);
	free(half);
}

static bool has_46(void *ctx)
{
	struct scene *s = ctx;

	witness_streams(s->w);
	return world_int(s->w, "SELECT count(*) FROM witness.entry WHERE id = 46") > 0;
}

/* Whether 21 to 46 come behind the row 20 that stands there. */
static bool is_whole(void *ctx)
{
	struct scene *s = ctx;

	witness_streams(s->w);
	return world_int(s->w,
		   "SELECT count(DISTINCT id) FROM witness.entry WHERE id BETWEEN 21 AND 46"
		   " AND place > (SELECT min(place) FROM witness.entry WHERE id = 20)") == 26;
}

/* A replay goes back in the outbox; the repair that made it void began where the stream had been.
 */
static void a_replay_that_comes_back(void)
{
	struct scene s;
	redisReply *before, *half;

	open_scene(&s);
	replay_half_way(&s, &before, &half);
	restore_stream(&s, before);
	world_redis_run(s.w, "XADD " STREAM " * some thing");
	proc_restart(s.relay);
	CHECK(stack_await_shard_metric(s.relay, "repairs_total", 1));
	stack_emit(s.w, "b", 1);
	CHECK(await(has_46, &s, WAIT_MS));
	leave(&s);

	restore_stream(&s, half);
	proc_restart(s.relay);
	CHECK(await(is_whole, &s, WAIT_MS));
	CHECK_INT(
	    world_int(s.w, "SELECT count(*) FROM (SELECT id, max(id) OVER (ORDER BY place) AS most"
			   " FROM witness.entry WHERE place > (SELECT min(place) FROM witness.entry"
			   " WHERE id = 20)) AS e WHERE id = 46 AND most > 46"),
	    0);
	/* None of them is first seen behind 46. */
	CHECK_INT(
	    world_int(s.w, "SELECT count(*) FROM (SELECT id, min(place) AS place FROM witness.entry"
			   " WHERE place > (SELECT min(place) FROM witness.entry WHERE id = 20)"
			   " GROUP BY id) AS e WHERE id BETWEEN 21 AND 45 AND place >"
			   " (SELECT min(place) FROM witness.entry WHERE id = 46)"),
	    0);
	freeReplyObject(before);
	freeReplyObject(half);
	close_scene(&s);
}

static bool is_acknowledged(void *ctx)
{
	return world_int(ctx, "SELECT count(*) FROM intake.stream_group"
			      " WHERE name = 'g' AND acknowledged_id = 21") == 1;
}

/* Redis has lost row 21, and somebody else's entry has got its very ID. */
static void at_the_id_of_a_lost_row(void)
{
	static const char *const no_margin[] = {"--replay-margin", "0s", NULL};
	struct scene s = {.w = stack_open(1)};
	char *at_20, *at_21, *what;

	s.redis = world_redis(s.w);
	s.relay = stack_relay(s.w, no_margin, NULL);
	stack_emit(s.w, "a", 21);
	stack_check(s.w, 0);
	at_20 = id_of_row(&s, 20);
	at_21 = id_of_row(&s, 21);
	world_redis_run(s.w, "XGROUP CREATE " STREAM " g %s", at_21);
	CHECK(await(is_acknowledged, s.w, WAIT_MS));
	leave(&s);
	world_redis_run(s.w, "DEL " STREAM);
	world_redis_run(s.w, "XADD " STREAM " %s some thing", at_21);
	world_redis_run(s.w, "XGROUP CREATE " STREAM " g %s", at_21);
	proc_restart(s.relay);
	what = ask(&s, at_20);
	CHECK(strcmp(what, "none") != 0);
	free(what);
	free(at_20);
	free(at_21);
	close_scene(&s);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"a cursor at a void position", a_cursor_at_a_void_position},
	    {"answers are taken back", answers_are_taken_back},
	    {"P9 a replay that comes back", a_replay_that_comes_back},
	    {"at the ID of a lost row", at_the_id_of_a_lost_row},
	    {NULL, NULL},
	};
	return check_main("relay void", checks, argc, argv);
}
