#include "consumer/feed.h"

#include "common/event.h"
#include "common/memory.h"
#include "common/redis.h"
#include "consumer/batch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Beyond BLOCK: a server that is silent for longer is taken for dead, and asked anew. */
#define COMMAND_TIMEOUT_MS 5000

struct feed {
	struct redis *redis;
	const char *consumer;
	char *stream; /* keys */
	char *replay;
	char *ask, *answer; /* fields of replay */
	bool counts;        /* the server knows ENTRIESREAD (Redis 7) */
};

static char *key_of(const struct feed_options *o, const char *what, unsigned shard)
{
	size_t size = strlen(o->name_space) + strlen(what) + 16;
	char *key = mem_alloc(size);

	event_key(key, size, o->name_space, what, shard);
	return key;
}

int feed_open(
    const struct feed_options *options, unsigned shard, struct feed **ret_feed, struct err *err)
{
	struct feed *f = mem_zalloc(1, sizeof(*f));
	int rc = -1;

	f->consumer = options->consumer;
	f->stream = key_of(options, "purchases", shard);
	f->replay = key_of(options, "replay", shard);
	f->ask = mem_printf("ask:%s", options->consumer);
	f->answer = mem_printf("answer:%s", options->consumer);
	if (redis_open(options->redis_url, COMMAND_TIMEOUT_MS, &f->redis, err) < 0 ||
	    redis_turn_to(f->redis, f->stream, err) < 0)
		goto done;
	*ret_feed = f;
	f = NULL; /* the caller's now */
	rc = 0;
done:
	feed_close(f);
	return rc;
}

bool feed_broken(const struct feed *f)
{
	return redis_broken(f->redis);
}

void feed_close(struct feed *f)
{
	if (!f)
		return;
	redis_close(f->redis);
	free(f->stream);
	free(f->replay);
	free(f->ask);
	free(f->answer);
	free(f);
}

/* Redis has no code of its own for a key that is missing. */
static bool is_missing_key(const struct redis *r)
{
	return redis_failed_with(r, "ERR no such key") ||
	       redis_failed_with(r, "ERR The XGROUP subcommand requires the key to exist");
}

static int unexpected(const char *command, struct err *err)
{
	return err_set(err, ERR_RETRY, "Redis: %s: unexpected reply", command);
}

static bool id_field(const redisReply *reply, const char *name, struct stream_id *ret_id)
{
	const redisReply *value = redis_field(reply, name);

	return value && value->type == REDIS_REPLY_STRING && stream_id_parse(value->str, ret_id);
}

static bool is_group(const redisReply *group, const char *name)
{
	const redisReply *value = redis_field(group, "name");

	return value && value->type == REDIS_REPLY_STRING && strcmp(value->str, name) == 0;
}

static int look_at_bookmark(struct feed *f, struct standing *s, struct err *err)
{
	struct err cause = ERR_INIT;
	redisReply *reply = NULL;
	int rc = -1;

	s->has_group = false;
	if (redis_command(f->redis, &reply, &cause, "XINFO GROUPS %s", f->stream) < 0) {
		if (is_missing_key(f->redis))
			return 0;
		*err = cause;
		return -1;
	}
	for (size_t i = 0; i < reply->elements; i++) {
		const redisReply *group = reply->element[i];

		if (!is_group(group, f->consumer))
			continue;
		if (!id_field(group, "last-delivered-id", &s->bookmark)) {
			unexpected("XINFO GROUPS", err);
			goto done;
		}
		s->has_group = true;
	}
	rc = 0;
done:
	freeReplyObject(reply);
	return rc;
}

static int look_at_replay(struct feed *f, struct replay *r, struct err *err)
{
	redisReply *reply = NULL;
	int rc = -1;

	*r = (struct replay){.asked = false};
	if (redis_command(f->redis, &reply, err, "HMGET %s %s %s", f->replay, f->ask, f->answer) <
	    0)
		return -1;
	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 2) {
		unexpected("HMGET", err);
		goto done;
	}
	if (reply->element[0]->type == REDIS_REPLY_STRING)
		(void)replay_set_ask(r, reply->element[0]->str);
	if (reply->element[1]->type == REDIS_REPLY_STRING)
		(void)replay_set_answer(r, reply->element[1]->str);
	rc = 0;
done:
	freeReplyObject(reply);
	return rc;
}

int feed_look_at_group(struct feed *f, struct standing *ret_standing, struct err *err)
{
	if (look_at_bookmark(f, ret_standing, err) < 0)
		return -1;
	return look_at_replay(f, &ret_standing->replay, err);
}

static int64_t int_field(const redisReply *reply, const char *name, int64_t absent)
{
	const redisReply *value = redis_field(reply, name);

	return value && value->type == REDIS_REPLY_INTEGER ? value->integer : absent;
}

static struct stream_id first_entry(const redisReply *reply)
{
	const redisReply *entry = redis_field(reply, "first-entry");
	struct stream_id id = STREAM_ID_ZERO;

	if (entry)
		(void)event_entry_id(entry, &id);
	return id;
}

static int look_at_size(struct feed *f, struct stream_size *ret_size, struct err *err)
{
	struct stream_size size = {.added = LAG_UNKNOWN};
	struct err cause = ERR_INIT;
	redisReply *reply = NULL;
	int rc = -1;

	if (redis_command(f->redis, &reply, &cause, "XINFO STREAM %s", f->stream) < 0) {
		if (!is_missing_key(f->redis)) {
			*err = cause;
			return -1;
		}
	} else {
		if (!id_field(reply, "last-generated-id", &size.end)) {
			unexpected("XINFO STREAM", err);
			goto done;
		}
		size.length = int_field(reply, "length", 0);
		size.added = int_field(reply, "entries-added", LAG_UNKNOWN);
		size.first = first_entry(reply);
	}
	f->counts = size.added != LAG_UNKNOWN;
	*ret_size = size;
	rc = 0;
done:
	freeReplyObject(reply);
	return rc;
}

/* A message of that tick is the first entry after <tick>-0. */
static int look_for_tick(
    struct feed *f, struct stream_id start, enum replay_seen *ret_seen, struct err *err)
{
	struct batch *batch = NULL;

	if (feed_read(f, start, 1, 0, 1, &batch, err) < 0)
		return -1;
	if (!batch)
		*ret_seen = REPLAY_NOTHING;
	else
		*ret_seen =
		    batch->n == 1 && batch->first.ms == start.ms ? REPLAY_ROW : REPLAY_OTHER;
	batch_free(batch);
	return 0;
}

static int has_entry(struct feed *f, struct stream_id at, bool *ret_has, struct err *err)
{
	struct batch *batch = NULL;

	if (feed_read(f, stream_id_before(at), 1, 0, 1, &batch, err) < 0)
		return -1;
	*ret_has = batch && stream_id_compare(batch->first, at) == 0;
	batch_free(batch);
	return 0;
}

/* A cursor that has jumped stands at no entry, but between what the stream had before and the first
 * row of its tick. */
static int look_at_cursor(struct feed *f, struct standing *s, struct err *err)
{
	enum replay_seen seen;

	s->stands = false;
	if (stream_id_compare(s->cursor, STREAM_ID_ZERO) == 0 ||
	    stream_id_compare(s->cursor, s->stream_first) < 0)
		return 0;
	if (has_entry(f, s->cursor, &s->stands, err) < 0)
		return -1;
	if (s->stands || s->cursor.seq > 0)
		return 0;
	if (look_for_tick(f, s->cursor, &seen, err) < 0)
		return -1;
	s->stands = seen == REPLAY_ROW;
	return 0;
}

/* The relay may have taken an answer back, and gone on, before the stream was looked at. */
static int check_answer(struct feed *f, struct standing *s, struct err *err)
{
	struct replay now;

	if (look_at_replay(f, &now, err) < 0)
		return -1;
	if (!replay_same(&now, &s->replay))
		s->replay = (struct replay){.asked = true, .ask = s->cursor};
	return 0;
}

int feed_look_at_stream(
    struct feed *f, struct standing *ret_standing, struct stream_size *ret_size, struct err *err)
{
	const struct replay *replay = &ret_standing->replay;

	if (look_at_size(f, ret_size, err) < 0)
		return -1;
	ret_standing->stream_first = ret_size->first;
	ret_standing->replay_seen = REPLAY_NOTHING;
	if (look_at_cursor(f, ret_standing, err) < 0)
		return -1;
	if (!replay->answered)
		return 0;
	if (replay->answer == REPLAY_AGAIN &&
	    look_for_tick(f, replay->at, &ret_standing->replay_seen, err) < 0)
		return -1;
	return check_answer(f, ret_standing, err);
}

int feed_read(struct feed *f, struct stream_id from, int64_t most, int64_t beside, int64_t block_ms,
    struct batch **ret_batch, struct err *err)
{
	char id[STREAM_ID_SIZE], count_text[24], block_text[24];
	const char *argv[] = {"XREAD", "COUNT", count_text, "BLOCK", block_text, "STREAMS",
	    f->stream, stream_id_format(from, id)};
	redisReply *reply = NULL;

	snprintf(count_text, sizeof(count_text), "%" PRId64, most + beside);
	snprintf(block_text, sizeof(block_text), "%" PRId64, block_ms);
	if (redis_argv(
		f->redis, block_ms, sizeof(argv) / sizeof(argv[0]), argv, NULL, &reply, err) < 0)
		return -1;
	if (reply->type == REDIS_REPLY_NIL) {
		freeReplyObject(reply);
		*ret_batch = NULL;
		return 0;
	}
	return batch_from_reply(reply, most, ret_batch, err);
}

int feed_make_group(struct feed *f, struct err *err)
{
	struct err cause = ERR_INIT;

	if (redis_command(f->redis, NULL, &cause, "XGROUP CREATE %s %s 0 MKSTREAM", f->stream,
		f->consumer) == 0 ||
	    redis_failed_with(f->redis, "BUSYGROUP"))
		return 0;
	*err = cause;
	return -1;
}

int feed_set_bookmark(
    struct feed *f, struct stream_id at, int64_t place, bool *ret_there, struct err *err)
{
	char id[STREAM_ID_SIZE], place_text[24];
	const char *argv[] = {"XGROUP", "SETID", f->stream, f->consumer, stream_id_format(at, id),
	    "ENTRIESREAD", place_text};
	struct err cause = ERR_INIT;

	snprintf(place_text, sizeof(place_text), "%" PRId64, place);
	*ret_there = redis_argv(f->redis, 0, f->counts ? 7 : 5, argv, NULL, NULL, &cause) == 0;
	if (*ret_there || is_missing_key(f->redis) || redis_failed_with(f->redis, "NOGROUP"))
		return 0;
	*err = cause;
	return -1;
}

int feed_ask(struct feed *f, struct stream_id cursor, struct err *err)
{
	char id[STREAM_ID_SIZE];

	stream_id_format(cursor, id);
	if (redis_multi(f->redis, err) < 0 ||
	    redis_command(f->redis, NULL, err, "HDEL %s %s", f->replay, f->answer) < 0 ||
	    redis_command(f->redis, NULL, err, "HSET %s %s %s", f->replay, f->ask, id) < 0 ||
	    redis_command(
		f->redis, NULL, err, "XGROUP SETID %s %s %s", f->stream, f->consumer, id) < 0)
		return -1;
	return redis_exec(f->redis, err);
}

int feed_forget(struct feed *f, struct stream_id cursor, struct err *err)
{
	char id[STREAM_ID_SIZE];

	stream_id_format(cursor, id);
	if (redis_multi(f->redis, err) < 0 ||
	    redis_command(
		f->redis, NULL, err, "XGROUP SETID %s %s %s", f->stream, f->consumer, id) < 0 ||
	    redis_command(f->redis, NULL, err, "HDEL %s %s %s", f->replay, f->ask, f->answer) < 0)
		return -1;
	return redis_exec(f->redis, err);
}
