/* Stream entries, cut by the byte 1e; an entry is its ID, names and values, cut by 1f. */
#include "common/event.h"
#include "common/json_syntax.h"
#include "common/memory.h"
#include "common/utf8.h"
#include "consumer/batch.h"
#include "tests/fuzz/fuzz.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* RESP, as Redis sends it. */
struct wire {
	char *bytes;
	size_t len;
};

static void put(struct wire *w, const char *bytes, size_t len)
{
	w->bytes = mem_realloc(w->bytes, w->len + len);
	memcpy(w->bytes + w->len, bytes, len);
	w->len += len;
}

static void put_count(struct wire *w, char type, size_t n)
{
	char text[24];

	put(w, text, (size_t)snprintf(text, sizeof(text), "%c%zu\r\n", type, n));
}

static void put_string(struct wire *w, struct fuzz_piece piece)
{
	put_count(w, '$', piece.len);
	put(w, piece.at, piece.len);
	put(w, "\r\n", 2);
}

static size_t count_pieces(struct fuzz_piece rest, char separator)
{
	struct fuzz_piece piece;
	size_t n = 0;

	while (fuzz_cut(&rest, separator, &piece))
		n++;
	return n;
}

static void put_entry(struct wire *w, struct fuzz_piece entry)
{
	struct fuzz_piece piece = {"", 0};

	fuzz_cut(&entry, 0x1f, &piece);
	put_count(w, '*', 2);
	put_string(w, piece);
	put_count(w, '*', count_pieces(entry, 0x1f));
	while (fuzz_cut(&entry, 0x1f, &piece))
		put_string(w, piece);
}

static redisReply *make_reply(struct fuzz_piece input)
{
	struct wire w = {NULL, 0};
	redisReader *reader = redisReaderCreate();
	struct fuzz_piece entry;
	void *reply = NULL;

	put_count(&w, '*', 1);
	put_count(&w, '*', 2);
	put_string(&w, (struct fuzz_piece){"key", 3});
	put_count(&w, '*', count_pieces(input, 0x1e));
	while (fuzz_cut(&input, 0x1e, &entry))
		put_entry(&w, entry);
	FUZZ_CHECK(redisReaderFeed(reader, w.bytes, w.len) == REDIS_OK);
	FUZZ_CHECK(redisReaderGetReply(reader, &reply) == REDIS_OK && reply);
	redisReaderFree(reader);
	free(w.bytes);
	return reply;
}

static json_t *load(const char *text, size_t len)
{
	return json_loadb(text, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, NULL);
}

/* What the handler is given says what the entry says. */
static void check_members(const json_t *object, const struct event *event)
{
	for (int i = 0; i < EVENT_DATA; i++) {
		const json_t *member = json_object_get(object, event_field_names[i]);
		const struct event_text *text = &event->field[i];

		FUZZ_CHECK(!member == !text->s);
		if (text->s)
			FUZZ_CHECK(json_string_length(member) == text->len &&
				   memcmp(json_string_value(member), text->s, text->len) == 0);
	}
}

static void check_json(const struct event *event)
{
	const struct event_text *data = &event->field[EVENT_DATA];
	char *wrapped = mem_printf("[%s]", data->s);
	json_t *array = load(wrapped, strlen(wrapped)), *object;
	size_t len;
	char *json = event_to_json(event, &len);

	FUZZ_CHECK(strlen(json) == len && utf8_valid(json, len) && json_syntax_valid(json, len));
	object = load(json, len);
	FUZZ_CHECK(!object == !array);
	if (object) {
		check_members(object, event);
		FUZZ_CHECK(json_equal(json_object_get(object, "data"), json_array_get(array, 0)));
	}
	json_decref(object);
	json_decref(array);
	free(json);
	free(wrapped);
}

static void check_event(const struct event *event)
{
	int64_t published = -1, received = -1;

	for (int i = 0; i < EVENT_FIELDS; i++)
		FUZZ_CHECK(!event->field[i].s || strlen(event->field[i].s) == event->field[i].len);
	check_json(event);
	if (batch_published_at(event, &published))
		FUZZ_CHECK(batch_received_at(event, &received));
	else
		(void)batch_received_at(event, &received);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_piece input = {(const char *)data, size};
	size_t entries = count_pieces(input, 0x1e);
	struct batch *batch = NULL;
	struct err err;

	if (batch_from_reply(make_reply(input), INT64_MAX, &batch, &err) < 0)
		return 0;
	FUZZ_CHECK(batch->n + batch->foreign + batch->behind == entries);
	FUZZ_CHECK(batch->foreign + batch->behind == 0 || batch->foreign_why);
	for (size_t i = 0; i < batch->n; i++)
		check_event(&batch->events[i]);
	batch_free(batch);
	return 0;
}
