#include "cli/stream.h"

#include "common/event.h"
#include "common/memory.h"

#include <stdlib.h>
#include <string.h>

void stream_entry_done(struct stream_entry *e)
{
	free(e->source);
	free(e->message_id);
	free(e->relay);
	free(e->published_at);
	*e = (struct stream_entry){0};
}

static void odd_reply(struct err *err)
{
	err_set(err, ERR_FATAL, "Redis answered in a form that is not a stream's");
}

/* XRANGE or XREVRANGE: an array of entries, each an ID and its fields. */
static int range(struct redis *r, const char *verb, const char *key, const char *from,
    const char *to, unsigned count, redisReply **ret_reply, struct err *err)
{
	redisReply *reply = NULL;

	if (redis_command(r, &reply, err, "%s %s %s %s COUNT %u", verb, key, from, to, count) < 0)
		return -1;
	if (reply->type != REDIS_REPLY_ARRAY) {
		freeReplyObject(reply);
		odd_reply(err);
		return -1;
	}
	*ret_reply = reply;
	return 0;
}

static int entry_id(const redisReply *entry, struct stream_id *ret_id, struct err *err)
{
	if (!event_entry_id(entry, ret_id)) {
		odd_reply(err);
		return -1;
	}
	return 0;
}

/* The ID of the first entry of a range; 0-0: it is empty. */
static int range_id(struct redis *r, const char *verb, const char *key, const char *from,
    const char *to, struct stream_id *ret_id, struct err *err)
{
	redisReply *reply = NULL;
	int rc = -1;

	if (range(r, verb, key, from, to, 1, &reply, err) < 0)
		goto done;
	*ret_id = STREAM_ID_ZERO;
	if (reply->elements > 0 && entry_id(reply->element[0], ret_id, err) < 0)
		goto done;
	rc = 0;
done:
	freeReplyObject(reply);
	return rc;
}

static char *copy_field(const struct event *event, enum event_field field)
{
	const struct event_text *text = &event->field[field];

	return text->s ? mem_strndup(text->s, text->len) : NULL;
}

static int read_entry(const redisReply *reply, struct stream_entry *ret_entry, struct err *err)
{
	struct stream_entry e = {0};
	struct event event;
	const char *reason;

	if (entry_id(reply, &e.id, err) < 0)
		return -1;
	e.is_event = event_from_entry(reply, &event, &reason);
	if (e.is_event) {
		e.source = copy_field(&event, EVENT_SOURCE);
		e.message_id = copy_field(&event, EVENT_ID);
		e.relay = copy_field(&event, EVENT_RELAY);
		e.published_at = copy_field(&event, EVENT_PUBLISHED_AT);
	}
	*ret_entry = e;
	return 0;
}

int stream_look(struct redis *r, const char *key, struct stream_view *ret_view, struct err *err)
{
	struct stream_view view = {0};
	redisReply *reply = NULL;

	if (redis_command(r, &reply, err, "XLEN %s", key) < 0)
		return -1;
	view.length = reply->type == REDIS_REPLY_INTEGER ? reply->integer : -1;
	freeReplyObject(reply);
	if (view.length < 0) {
		odd_reply(err);
		return -1;
	}
	if (range_id(r, "XRANGE", key, "-", "+", &view.first, err) < 0 ||
	    range_id(r, "XREVRANGE", key, "+", "-", &view.last, err) < 0)
		return -1;
	*ret_view = view;
	return 0;
}

int stream_find(struct redis *r, const char *key, struct stream_id id, bool *ret_found,
    struct stream_entry *ret_entry, struct err *err)
{
	char text[STREAM_ID_SIZE];
	redisReply *reply = NULL;
	int rc = -1;

	stream_id_format(id, text);
	if (range(r, "XRANGE", key, text, text, 1, &reply, err) < 0)
		goto done;
	*ret_found = reply->elements > 0;
	if (*ret_found && read_entry(reply->element[0], ret_entry, err) < 0)
		goto done;
	rc = 0;
done:
	freeReplyObject(reply);
	return rc;
}

int stream_newest(struct redis *r, const char *key, unsigned count,
    struct stream_entry **ret_entries, size_t *ret_n, struct err *err)
{
	struct stream_entry *entries = NULL;
	redisReply *reply = NULL;
	size_t n = 0;
	int rc = -1;

	if (range(r, "XREVRANGE", key, "+", "-", count, &reply, err) < 0)
		goto done;
	entries = mem_zalloc(reply->elements, sizeof(*entries));
	for (; n < reply->elements; n++) {
		if (read_entry(reply->element[n], &entries[n], err) < 0)
			goto done;
	}
	*ret_entries = entries;
	*ret_n = n;
	entries = NULL; /* the caller's now */
	n = 0;
	rc = 0;
done:
	for (size_t i = 0; i < n; i++)
		stream_entry_done(&entries[i]);
	free(entries);
	freeReplyObject(reply);
	return rc;
}

int stream_next(struct redis *r, const char *key, struct stream_id after, struct stream_id *ret_id,
    struct err *err)
{
	char from[STREAM_ID_SIZE + 1] = "(";

	stream_id_format(after, from + 1);
	return range_id(r, "XRANGE", key, from, "+", ret_id, err);
}
