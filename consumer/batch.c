#include "consumer/batch.h"

#include "common/clock.h"
#include "common/memory.h"
#include "consumer/timestamp.h"

#include <stdlib.h>
#include <string.h>

/* [[key, [entry, ...]]], or NULL. */
static const redisReply *entries_of(const redisReply *reply)
{
	const redisReply *stream, *entries;

	if (reply->type != REDIS_REPLY_ARRAY || reply->elements != 1)
		return NULL;
	stream = reply->element[0];
	if (stream->type != REDIS_REPLY_ARRAY || stream->elements != 2)
		return NULL;
	entries = stream->element[1];
	return entries->type == REDIS_REPLY_ARRAY && entries->elements > 0 ? entries : NULL;
}

static void take_entry(struct batch *b, const redisReply *entry)
{
	const char *why;

	if (event_from_entry(entry, &b->events[b->n], &why)) {
		b->n++;
		batch_pass_all(b);
		return;
	}
	b->behind++;
	b->foreign_at = b->end;
	b->foreign_why = why;
}

int batch_from_reply(redisReply *reply, int64_t most, struct batch **ret_batch, struct err *err)
{
	struct batch *b = mem_zalloc(1, sizeof(*b));
	const redisReply *entries = entries_of(reply);
	int rc = -1;

	b->reply = reply;
	b->read_at = clock_wall_ms();
	if (!entries) {
		err_set(err, ERR_RETRY, "XREAD: unexpected reply");
		goto done;
	}
	b->events = mem_zalloc(entries->elements, sizeof(*b->events));
	for (size_t i = 0; i < entries->elements && b->n < (size_t)most; i++) {
		if (!event_entry_id(entries->element[i], &b->end)) {
			err_set(err, ERR_RETRY, "XREAD: an entry has no ID");
			goto done;
		}
		if (i == 0)
			b->first = b->end;
		take_entry(b, entries->element[i]);
	}
	*ret_batch = b;
	b = NULL; /* the caller's now */
	rc = 0;
done:
	batch_free(b);
	return rc;
}

void batch_free(struct batch *b)
{
	if (!b)
		return;
	if (b->reply)
		freeReplyObject(b->reply);
	free(b->events);
	free(b);
}

void batch_pass_all(struct batch *b)
{
	b->last = b->end;
	b->foreign += b->behind;
	b->behind = 0;
}

size_t batch_foreign_after(const struct batch *b, struct stream_id id)
{
	const redisReply *entries = entries_of(b->reply);
	size_t looked_at = b->n + b->foreign + b->behind, after = 0;
	struct stream_id at;

	for (size_t i = 0; i < looked_at; i++)
		if (event_entry_id(entries->element[i], &at) && stream_id_compare(at, id) > 0)
			after++;
	for (size_t i = 0; i < b->n; i++)
		if (stream_id_compare(b->events[i].stream_id, id) > 0)
			after--;
	return after;
}

bool batch_published_at(const struct event *event, int64_t *ret_wall_ms)
{
	const struct event_text *text = &event->field[EVENT_PUBLISHED_AT];

	return text->s && timestamp_parse(text->s, text->len, ret_wall_ms);
}

struct stream_id batch_first_position(const struct event *event)
{
	const struct event_text *text = &event->field[EVENT_FIRST_POSITION];
	struct stream_id first;

	/* Nothing appears first behind itself: such a field is not the relay's. */
	if (!text->s || !stream_id_parse(text->s, &first) ||
	    stream_id_compare(first, event->stream_id) > 0)
		return event->stream_id;
	return first;
}

/* The string after "name" and a colon, without parsing the JSON around it: for a metric, which may
 * be wrong about an event that says received_at somewhere else. */
static bool string_member(const struct event_text *json, const char *name, struct event_text *ret)
{
	const char *end = json->s + json->len;
	const char *at = memmem(json->s, json->len, name, strlen(name));
	const char *close;

	if (!at)
		return false;
	at += strlen(name);
	while (at < end && (*at == ' ' || *at == ':'))
		at++;
	if (at == end || *at++ != '"')
		return false;
	close = memchr(at, '"', (size_t)(end - at));
	if (!close)
		return false;
	*ret = (struct event_text){at, (size_t)(close - at)};
	return true;
}

bool batch_received_at(const struct event *event, int64_t *ret_wall_ms)
{
	struct event_text text;

	if (string_member(&event->field[EVENT_DATA], "\"received_at\"", &text) &&
	    timestamp_parse(text.s, text.len, ret_wall_ms))
		return true;
	return batch_published_at(event, ret_wall_ms);
}
