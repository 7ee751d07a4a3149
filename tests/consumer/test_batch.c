#include "consumer/batch.h"

#include "consumer/lag.h"
#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What Redis would send, from a short notation: words, and '[' ... ']' for arrays. */
static void encode(const char **text, FILE *out)
{
	char *inner = NULL;
	size_t len = 0;
	int n = 0;
	FILE *items = open_memstream(&inner, &len);

	for (; **text && **text != ']'; n++) {
		size_t word = strcspn(*text, " []");

		if (**text == '[') {
			++*text;
			encode(text, items);
		} else {
			fprintf(items, "$%zu\r\n%.*s\r\n", word, (int)word, *text);
			*text += word;
		}
		*text += strspn(*text, " ");
	}
	if (**text == ']')
		++*text;
	fclose(items);
	fprintf(out, "*%d\r\n", n);
	fwrite(inner, 1, len, out);
	free(inner);
}

static redisReply *reply_of(const char *text)
{
	redisReader *reader = redisReaderCreate();
	char *bytes = NULL;
	size_t len = 0;
	void *reply = NULL;
	FILE *out = open_memstream(&bytes, &len);

	encode(&text, out);
	fclose(out);
	CHECK_INT(redisReaderFeed(reader, bytes, len), REDIS_OK);
	CHECK_INT(redisReaderGetReply(reader, &reply), REDIS_OK);
	redisReaderFree(reader);
	free(bytes);
	return reply;
}

#define ROW(id) "id " id " source app_store type t subject s time 2026-01-01T00:00:00Z"

static void check_id(struct stream_id id, const char *expected)
{
	char text[STREAM_ID_SIZE];

	CHECK_STR(stream_id_format(id, text), expected);
}

#define MIXED                                                                                      \
	"[key [[5-1 [" ROW("a") " data 1]] [5-2 [some thing]] [6-0 [" ROW(                         \
	    "b") " data {]] [6-1 [" ROW("c") " data 2]] [7-9 [x y]] [7-10 [x y]]]]"

static void foreign_entries_are_passed_with_what_follows(void)
{
	struct err err = ERR_INIT;
	struct batch *b = NULL;

	CHECK_INT(batch_from_reply(reply_of(MIXED), 10, &b, &err), 0);
	CHECK_INT((int64_t)b->n, 2);
	CHECK_STR(b->events[0].field[EVENT_ID].s, "a");
	CHECK_STR(b->events[1].field[EVENT_ID].s, "c");
	CHECK_INT((int64_t)b->foreign, 2);
	CHECK_INT((int64_t)b->behind, 2);
	CHECK_INT((int64_t)b->foreign_at.seq, 10);
	CHECK(b->foreign_why != NULL);
	CHECK_INT((int64_t)b->first.ms, 5);
	check_id(b->last, "6-1");
	check_id(b->end, "7-10");
	CHECK_INT((int64_t)batch_foreign_after(b, STREAM_ID_ZERO), 4);
	CHECK_INT((int64_t)batch_foreign_after(b, (struct stream_id){5, 2}), 3);
	CHECK_INT((int64_t)batch_foreign_after(b, (struct stream_id){6, 1}), 2);
	CHECK_INT((int64_t)batch_foreign_after(b, b->end), 0);
	batch_pass_all(b);
	check_id(b->last, "7-10");
	CHECK_INT((int64_t)b->foreign, 4);
	CHECK_INT((int64_t)b->behind, 0);
	batch_free(b);
}

static void a_batch_ends_at_its_last_message(void)
{
	struct err err = ERR_INIT;
	struct batch *b = NULL;

	CHECK_INT(batch_from_reply(reply_of(MIXED), 2, &b, &err), 0);
	CHECK_INT((int64_t)b->n, 2);
	CHECK_INT((int64_t)b->behind, 0);
	check_id(b->end, "6-1");
	batch_free(b);
	CHECK_INT(batch_from_reply(reply_of(MIXED), 1, &b, &err), 0);
	CHECK_INT((int64_t)b->n, 1);
	CHECK_INT((int64_t)b->foreign, 0);
	check_id(b->last, "5-1");
	batch_free(b);
	CHECK_INT(batch_from_reply(reply_of("[key [[7-9 [x y]]]]"), 1, &b, &err), 0);
	CHECK_INT((int64_t)b->behind, 1);
	check_id(b->last, "0-0");
	check_id(b->end, "7-9");
	batch_free(b);
}

static void replies_of_another_form_are_errors(void)
{
	static const char *const rows[] = {"", "[key]", "[key []]", "[key [[5-1]]]",
	    "[key [[5 [a b]]]]", "[key [[[a] [a b]]]]", "[key [[5-1 [a b]]]] [key [[5-1 [a b]]]]",
	    "word", NULL};

	for (int i = 0; rows[i]; i++) {
		struct err err = ERR_INIT;
		struct batch *b = NULL;

		CHECK(batch_from_reply(reply_of(rows[i]), 2, &b, &err) < 0);
		CHECK_INT(err.kind, ERR_RETRY);
		CHECK(b == NULL);
	}
}

static bool received(const char *data, const char *published, int64_t *ret)
{
	struct event event = {.field[EVENT_DATA] = {data, strlen(data)}};

	if (published)
		event.field[EVENT_PUBLISHED_AT] = (struct event_text){published, strlen(published)};
	return batch_received_at(&event, ret);
}

static void receipt_is_in_the_data_or_else_the_publication(void)
{
	const char *published = "2026-01-01T00:00:09Z";
	int64_t ms = 0;

	CHECK(received(
	    "{\"x\" : 1, \"received_at\" : \"2026-01-01T00:00:00.5+00:00\"}", published, &ms));
	CHECK_INT(ms, INT64_C(1767225600500));
	CHECK(received("{\"received_at\":null}", published, &ms));
	CHECK_INT(ms, INT64_C(1767225609000));
	CHECK(received("{\"received_at\":\"2026", published, &ms));
	CHECK(received("{\"received_at\"", published, &ms));
	CHECK(received("{}", published, &ms));
	CHECK(!received("{}", NULL, &ms));
	CHECK(!received("{}", "yesterday", &ms));
}

static void lag_is_a_difference_once_the_place_is_known(void)
{
	struct stream_size size = {.length = 10, .added = 110, .first = {5, 0}, .end = {9, 9}};
	struct stream_id before = {4, 9}, middle = {7, 0};

	CHECK_INT(lag_place(&size, size.end, LAG_UNKNOWN), 110);
	CHECK_INT(lag_place(&size, before, LAG_UNKNOWN), 100);
	CHECK_INT(lag_place(&size, middle, LAG_UNKNOWN), LAG_UNKNOWN);
	CHECK_INT(lag_place(&size, middle, 104), 104);
	CHECK_INT(lag_entries(&size, middle, 104), 6);
	CHECK_INT(lag_entries(&size, middle, LAG_UNKNOWN), 10);
	CHECK_INT(lag_entries(&size, size.end, LAG_UNKNOWN), 0);
	size.added = LAG_UNKNOWN; /* Redis 6 */
	CHECK_INT(lag_place(&size, size.end, 7), LAG_UNKNOWN);
	CHECK_INT(lag_entries(&size, middle, LAG_UNKNOWN), 10);
}

static struct stream_id first_position(const char *field)
{
	struct event event = {.stream_id = {20, 7}};

	if (field)
		event.field[EVENT_FIRST_POSITION] = (struct event_text){field, strlen(field)};
	return batch_first_position(&event);
}

static void a_republished_message_first_stood_elsewhere(void)
{
	CHECK_INT((int64_t)first_position(NULL).ms, 20);
	CHECK_INT((int64_t)first_position("10-3").ms, 10);
	CHECK_INT((int64_t)first_position("10-3").seq, 3);
	CHECK_INT((int64_t)first_position("nowhere").ms, 20);
	CHECK_INT((int64_t)first_position("30-1").ms, 20);
}

static const struct check checks[] = {
    {"foreign entries are passed with what follows", foreign_entries_are_passed_with_what_follows},
    {"a batch ends at its last message", a_batch_ends_at_its_last_message},
    {"replies of another form are errors", replies_of_another_form_are_errors},
    {"receipt is in the data, or else the publication",
	receipt_is_in_the_data_or_else_the_publication},
    {"a republished message first stood elsewhere", a_republished_message_first_stood_elsewhere},
    {"lag is a difference once the place is known", lag_is_a_difference_once_the_place_is_known},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer batch", checks, argc, argv);
}
