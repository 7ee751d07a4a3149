#include "relay/stream.h"

#include "common/clock.h"
#include "common/memory.h"
#include "relay/script.h"
#include "relay_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What is in front of the entries in append.lua's arguments, and what each entry takes. */
enum { APPEND_HEAD = 6, APPEND_ROW = 1 + EVENT_ROW_FIELDS };

/* Every command's deadline. Not to be short: an append cut off is an append to be found out about.
 */
#define TIMEOUT_MS 10000

#define ASIDE_PAGE 100

struct stream {
	struct redis *redis;
	const char *relay;
	char key[128], aside_key[128], shard[8];
	struct script look, append, aside;
};

int stream_open(const char *url, const char *name_space, unsigned shard, const char *relay,
    struct stream **ret_stream, struct err *err)
{
	struct stream *s = mem_zalloc(1, sizeof(*s));
	int rc = -1;

	s->relay = relay;
	event_key(s->key, sizeof(s->key), name_space, "purchases", shard);
	event_key(s->aside_key, sizeof(s->aside_key), name_space, "aside", shard);
	snprintf(s->shard, sizeof(s->shard), "%u", shard);
	script_init(&s->look, relay_look_lua);
	script_init(&s->append, relay_append_lua);
	script_init(&s->aside, relay_aside_lua);
	if (redis_open(url, TIMEOUT_MS, &s->redis, err) < 0 ||
	    redis_turn_to(s->redis, s->key, err) < 0)
		goto done;
	/* An append that had to be sent twice would be waited for with the query open. */
	if (redis_script_load(s->redis, &s->append.redis, err) < 0)
		goto done;
	*ret_stream = s;
	s = NULL; /* the caller's now */
	rc = 0;
done:
	stream_close(s);
	return rc;
}

void stream_close(struct stream *s)
{
	if (!s)
		return;
	redis_close(s->redis);
	script_done(&s->look);
	script_done(&s->append);
	script_done(&s->aside);
	free(s);
}

struct redis *stream_redis(struct stream *s)
{
	return s->redis;
}

const char *stream_key(const struct stream *s)
{
	return s->key;
}

static bool is_array(const redisReply *reply, size_t elements)
{
	return reply->type == REDIS_REPLY_ARRAY && reply->elements >= elements;
}

static int read_state(const redisReply *reply, struct stream_state *state, struct err *err)
{
	const char *type = is_array(reply, 1) ? redis_text(reply->element[0]) : NULL;

	if (!type)
		return err_set(err, ERR_FATAL, "Redis: look: unexpected reply");
	snprintf(state->type, sizeof(state->type), "%s", type);
	if (strcmp(state->type, "stream") != 0) {
		state->kind = strcmp(state->type, "none") == 0 ? STREAM_MISSING : STREAM_WRONG_TYPE;
		return 0;
	}
	if (!is_array(reply, 5))
		return err_set(err, ERR_FATAL, "Redis: look: unexpected reply");
	state->kind = STREAM_PRESENT;
	state->length = reply->element[2]->integer;
	if (reply->element[3]->len > 0 && script_id(reply->element[3], &state->first, err) < 0)
		return -1;
	if (script_id(reply->element[1], &state->last, err) < 0)
		return -1;
	return script_id(reply->element[4], &state->furthest, err);
}

int stream_look(struct stream *s, struct stream_state *ret_state, struct err *err)
{
	const char *argv[] = {s->key};
	struct stream_state state = {.kind = STREAM_MISSING};
	redisReply *reply = NULL;
	int rc;

	if (script_run(s->redis, &s->look, 1, 1, argv, &reply, err) < 0)
		return -1;
	rc = read_state(reply, &state, err);
	if (rc == 0)
		*ret_state = state;
	freeReplyObject(reply);
	return rc;
}

int stream_page_back(
    struct stream *s, struct stream_id upto, unsigned count, redisReply **ret_page, struct err *err)
{
	char id[STREAM_ID_SIZE];

	return redis_command(s->redis, ret_page, err, "XREVRANGE %s %s - COUNT %u", s->key,
	    stream_id_format(upto, id), count);
}

int stream_copy_aside(struct stream *s, struct stream_id after, struct stream_id upto,
    uint64_t *ret_copied, struct err *err)
{
	char from[STREAM_ID_SIZE], to[STREAM_ID_SIZE], page[16];
	const char *argv[] = {s->key, s->aside_key, from, to, page};
	redisReply *reply = NULL;
	long long n;

	stream_id_format(after, from);
	stream_id_format(upto, to);
	snprintf(page, sizeof(page), "%d", ASIDE_PAGE);
	*ret_copied = 0;
	do {
		if (script_run(s->redis, &s->aside, 2, 5, argv, &reply, err) < 0)
			return -1;
		n = reply->type == REDIS_REPLY_INTEGER ? reply->integer : -1;
		freeReplyObject(reply);
		if (n < 0)
			return err_set(err, ERR_FATAL, "Redis: aside: unexpected reply");
		*ret_copied += (uint64_t)n;
	} while (n == ASIDE_PAGE);
	return 0;
}

struct arguments {
	const char **argv;
	size_t *lens;
	int n;
};

static void add(struct arguments *a, const char *s, size_t len)
{
	a->argv[a->n] = s;
	a->lens[a->n] = len;
	a->n++;
}

static void add_rows(struct arguments *a, const struct batch *batch, char (*ids)[STREAM_ID_SIZE])
{
	for (size_t i = 0; i < batch_rows(batch); i++) {
		stream_id_format(batch_id(batch, i), ids[i]);
		add(a, ids[i], strlen(ids[i]));
		for (int f = 0; f < EVENT_ROW_FIELDS; f++) {
			struct event_text text = batch_field(batch, i, (enum event_field)f);
			add(a, text.s, text.len);
		}
	}
}

int stream_append_send(struct stream *s, const struct batch *batch, struct stream_id expected,
    bool setback, struct err *err)
{
	size_t rows = batch_rows(batch), max = APPEND_HEAD + rows * APPEND_ROW;
	char(*ids)[STREAM_ID_SIZE] = mem_alloc(rows * sizeof(*ids));
	struct arguments a = {mem_alloc(max * sizeof(char *)), mem_alloc(max * sizeof(size_t)), 0};
	char expected_text[STREAM_ID_SIZE], now[CLOCK_RFC3339_SIZE];
	int rc;

	stream_id_format(expected, expected_text);
	clock_rfc3339(clock_wall_ms(), now);
	add(&a, s->key, strlen(s->key));
	add(&a, expected_text, strlen(expected_text));
	add(&a, s->relay, strlen(s->relay));
	add(&a, now, strlen(now));
	add(&a, s->shard, strlen(s->shard));
	add(&a, setback ? "1" : "0", 1);
	add_rows(&a, batch, ids);
	rc = redis_eval_send(s->redis, &s->append.redis, 1, a.n, a.argv, a.lens, err);
	free(a.argv);
	free(a.lens);
	free(ids);
	return rc;
}

int stream_append_wait(struct stream *s, int64_t ms)
{
	return redis_wait(s->redis, ms);
}

int stream_append_receive(struct stream *s, struct append_result *ret, struct err *err)
{
	struct append_result result = {.moved = false};
	redisReply *reply = NULL;
	int rc = -1;

	if (redis_eval_receive(s->redis, &reply, err) < 0)
		return err_wrap(err, "append");
	if (!is_array(reply, 2)) {
		err_set(err, ERR_FATAL, "append: unexpected reply");
		goto done;
	}
	if (script_id(reply->element[1], &result.last, err) < 0)
		goto done;
	result.moved = reply->element[0]->integer == 0;
	if (!result.moved && is_array(reply, 3))
		result.length = reply->element[2]->integer;
	*ret = result;
	rc = 0;
done:
	freeReplyObject(reply);
	return rc;
}
