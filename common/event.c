#include "common/event.h"

#include "common/json_syntax.h"
#include "common/memory.h"
#include "common/utf8.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const event_field_names[EVENT_FIELDS] = {
    [EVENT_ID] = "id",
    [EVENT_SOURCE] = "source",
    [EVENT_TYPE] = "type",
    [EVENT_SUBJECT] = "subject",
    [EVENT_TIME] = "time",
    [EVENT_TRACEPARENT] = "traceparent",
    [EVENT_DATA] = "data",
    [EVENT_FIRST_POSITION] = "first_position",
    [EVENT_SHARD] = "shard",
    [EVENT_RELAY] = "relay",
    [EVENT_PUBLISHED_AT] = "published_at",
};

static const enum event_field required[] = {
    EVENT_ID, EVENT_SOURCE, EVENT_TYPE, EVENT_SUBJECT, EVENT_TIME, EVENT_DATA};

static int find_field(const redisReply *name)
{
	for (int i = 0; i < EVENT_FIELDS; i++) {
		if (strlen(event_field_names[i]) == name->len &&
		    memcmp(event_field_names[i], name->str, name->len) == 0)
			return i;
	}
	return -1;
}

static bool is_string(const redisReply *r)
{
	return r->type == REDIS_REPLY_STRING;
}

/* NULL, or why the value cannot be a field of ours. */
static const char *take_field(struct event *event, int i, const redisReply *value)
{
	if (event->field[i].s)
		return "a field comes twice";
	if (memchr(value->str, '\0', value->len))
		return "a field contains a NUL byte";
	if (!utf8_valid(value->str, value->len))
		return "a field is not valid UTF-8";
	event->field[i] = (struct event_text){value->str, value->len};
	return NULL;
}

static const char *take_fields(struct event *event, const redisReply *fields)
{
	if (fields->type != REDIS_REPLY_ARRAY || fields->elements % 2 != 0)
		return "the entry has no fields";
	for (size_t i = 0; i < fields->elements; i += 2) {
		const redisReply *name = fields->element[i], *value = fields->element[i + 1];
		if (!is_string(name) || !is_string(value))
			return "a field is not a string";
		int known = find_field(name);
		if (known < 0)
			continue;
		const char *reason = take_field(event, known, value);
		if (reason)
			return reason;
	}
	return NULL;
}

static const char *check_required(const struct event *event)
{
	for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
		if (event->field[required[i]].len == 0)
			return "id, source, type, subject, time or data is missing";
	}
	return NULL;
}

static const char *check_keys(const struct event *event)
{
	if (event->field[EVENT_SOURCE].len > EVENT_KEY_MAX ||
	    event->field[EVENT_ID].len > EVENT_KEY_MAX)
		return "source or id is too long";
	return NULL;
}

static const char *check_data(const struct event_text *data)
{
	return json_syntax_valid(data->s, data->len) ? NULL : "data is not one JSON value";
}

bool event_entry_id(const redisReply *entry, struct stream_id *ret_id)
{
	return entry->type == REDIS_REPLY_ARRAY && entry->elements == 2 &&
	       is_string(entry->element[0]) && stream_id_parse(entry->element[0]->str, ret_id);
}

bool event_from_entry(const redisReply *entry, struct event *ret_event, const char **ret_reason)
{
	struct event event = {.stream_id = STREAM_ID_ZERO};
	const char *reason = NULL;

	if (!event_entry_id(entry, &event.stream_id))
		reason = "not a stream entry";
	if (!reason)
		reason = take_fields(&event, entry->element[1]);
	if (!reason)
		reason = check_required(&event);
	if (!reason)
		reason = check_keys(&event);
	if (!reason)
		reason = check_data(&event.field[EVENT_DATA]);
	if (reason) {
		*ret_reason = reason;
		return false;
	}
	*ret_event = event;
	return true;
}

static char *put(char *at, const char *s, size_t len)
{
	memcpy(at, s, len);
	return at + len;
}

/* At most six bytes for one of text. */
static char *put_json(char *at, const struct event_text *text)
{
	*at++ = '"';
	for (size_t i = 0; i < text->len; i++) {
		unsigned char c = (unsigned char)text->s[i];
		if (c < 0x20) {
			at += sprintf(at, "\\u%04x", c);
			continue;
		}
		if (c == '"' || c == '\\')
			*at++ = '\\';
		*at++ = (char)c;
	}
	*at++ = '"';
	return at;
}

static char *put_member(char *at, const char *name, const struct event_text *text)
{
	at = put(at, ",\"", 2);
	at = put(at, name, strlen(name));
	at = put(at, "\":", 2);
	return put_json(at, text);
}

/* Bytes that suffice for the object, its names and a NUL. */
static size_t json_bound(const struct event *event)
{
	size_t size = 256;

	for (int i = 0; i < EVENT_DATA; i++)
		size += 6 * event->field[i].len;
	return size + event->field[EVENT_DATA].len;
}

char *event_to_json(const struct event *event, size_t *ret_len)
{
	const struct event_text *data = &event->field[EVENT_DATA];
	char id[STREAM_ID_SIZE];
	char *json = mem_alloc(json_bound(event));
	char *at = put(json, "{\"specversion\":\"1.0\"", 20);

	for (int i = 0; i < EVENT_DATA; i++) {
		if (event->field[i].s)
			at = put_member(at, event_field_names[i], &event->field[i]);
	}
	at = put(at, ",\"data\":", 8);
	at = put(at, data->s, data->len);
	stream_id_format(event->stream_id, id);
	at = put_member(at, "streamid", &(struct event_text){id, strlen(id)});
	at = put(at, "}", 2); /* and the NUL */
	*ret_len = (size_t)(at - json) - 1;
	return json;
}

void event_key(char *buf, size_t size, const char *name_space, const char *what, unsigned shard)
{
	int n = snprintf(buf, size, "%s:%s:{%u}", name_space, what, shard);

	assert(n > 0 && (size_t)n < size);
	(void)n;
}
