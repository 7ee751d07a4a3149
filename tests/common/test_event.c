#include "common/event.h"
#include "common/json_syntax.h"
#include "tests/support/check.h"

#include <jansson.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One stream entry as Redis sends it: an ID, and the fields given as (name, value) pairs. */
static redisReply *entry(const char *id, int n, const char *const *words, const size_t *lens)
{
	redisReader *reader = redisReaderCreate();
	void *reply = NULL;
	char head[100];

	snprintf(head, sizeof(head), "*2\r\n$%zu\r\n%s\r\n*%d\r\n", strlen(id), id, n);
	redisReaderFeed(reader, head, strlen(head));
	for (int i = 0; i < n; i++) {
		size_t len = lens ? lens[i] : strlen(words[i]);
		snprintf(head, sizeof(head), "$%zu\r\n", len);
		redisReaderFeed(reader, head, strlen(head));
		redisReaderFeed(reader, words[i], len);
		redisReaderFeed(reader, "\r\n", 2);
	}
	if (redisReaderGetReply(reader, &reply) != REDIS_OK || !reply)
		abort();
	redisReaderFree(reader);
	return reply;
}

/* A good entry with one of its values replaced (value NULL: the field left out). */
static redisReply *variant(const char *name, const char *value, size_t value_len)
{
	const char *words[] = {"id", "evt_1", "source", "stripe", "type", "purchase.started",
	    "subject", "stripe/sub_1", "time", "2026-01-01T00:00:00.123Z", "traceparent",
	    "00-ab-cd-01", "data", "{\"a\": 1}", "shard", "3", "relay", "host:1:ab", "published_at",
	    "x", "later", "\xff"};
	enum { WORDS = sizeof(words) / sizeof(words[0]) };
	size_t lens[WORDS];
	int n = 0;

	for (int i = 0; i < WORDS; i += 2) {
		bool replaced = name && strcmp(words[i], name) == 0;
		if (replaced && !value)
			continue;
		words[n] = words[i];
		words[n + 1] = replaced ? value : words[i + 1];
		lens[n] = strlen(words[n]);
		lens[n + 1] = replaced ? value_len : strlen(words[n + 1]);
		n += 2;
	}
	return entry("1767225600123-7", n, words, lens);
}

static void whole(void)
{
	redisReply *reply = variant(NULL, NULL, 0);
	const char *reason = NULL;
	struct event event;

	CHECK(event_from_entry(reply, &event, &reason));
	CHECK(event.stream_id.ms == 1767225600123 && event.stream_id.seq == 7);
	CHECK_STR(event.field[EVENT_ID].s, "evt_1");
	CHECK_INT(event.field[EVENT_ID].len, 5);
	CHECK_STR(event.field[EVENT_SUBJECT].s, "stripe/sub_1");
	CHECK_STR(event.field[EVENT_DATA].s, "{\"a\": 1}");
	CHECK_STR(event.field[EVENT_SHARD].s, "3");
	freeReplyObject(reply);
}

static bool accepted(const char *name, const char *value, size_t len)
{
	redisReply *reply = variant(name, value, len);
	const char *reason = NULL;
	struct event event;
	bool ok = event_from_entry(reply, &event, &reason);

	CHECK(ok == (reason == NULL));
	freeReplyObject(reply);
	return ok;
}

static void required_fields(void)
{
	static const char *const required[] = {"id", "source", "type", "subject", "time", "data"};
	static const char *const optional[] = {"traceparent", "shard", "relay", "published_at"};

	for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++) {
		CHECK(!accepted(required[i], NULL, 0));
		CHECK(!accepted(required[i], "", 0));
	}
	for (size_t i = 0; i < sizeof(optional) / sizeof(optional[0]); i++)
		CHECK(accepted(optional[i], NULL, 0));
}

static void bytes(void)
{
	CHECK(!accepted("id", "a\0b", 3));
	CHECK(!accepted("subject", "a\xff", 2));
	CHECK(!accepted("source", "\xed\xa0\x80", 3)); /* a surrogate */
	CHECK(!accepted("type", "\xc0\xaf", 2));       /* overlong */
	CHECK(!accepted("time", "\xf4\x90\x80\x80", 4));
	CHECK(!accepted("traceparent", "\x80", 1));
	CHECK(!accepted("data", "\"\xe2\x82\"", 4));
	CHECK(accepted("subject", "caf\xc3\xa9 \xf0\x9f\x98\x80", 10));
}

static void keys_are_bounded(void)
{
	char text[EVENT_KEY_MAX + 2];

	memset(text, 'k', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	CHECK(accepted("id", text, EVENT_KEY_MAX));
	CHECK(accepted("source", text, EVENT_KEY_MAX));
	CHECK(!accepted("id", text, EVENT_KEY_MAX + 1));
	CHECK(!accepted("source", text, EVENT_KEY_MAX + 1));
	CHECK(accepted("subject", text, EVENT_KEY_MAX + 1));
}

static void data_is_json(void)
{
	CHECK(!accepted("data", "{", 1));
	CHECK(!accepted("data", "{} {}", 5));
	CHECK(!accepted("data", "nonsense", 8));
	CHECK(!accepted("data", " ", 1));
	CHECK(accepted("data", "null", 4));
	CHECK(accepted("data", " [1, \"\\u0000\", 123456789012345678901234567890, 1e999] ", 53));
}

static void twice(void)
{
	const char *words[] = {"id", "a", "id", "b"};
	redisReply *reply = entry("1-1", 4, words, NULL);
	const char *reason = NULL;
	struct event event;

	CHECK(!event_from_entry(reply, &event, &reason));
	CHECK_STR(reason, "a field comes twice");
	freeReplyObject(reply);
}

static void odd_replies(void)
{
	static const struct {
		const char *text;
		bool has_id;
	} cases[] = {
	    {":1\r\n", false},
	    {"*-1\r\n", false},
	    {"$-1\r\n", false},
	    {"*0\r\n", false},
	    {"*2\r\n$3\r\n1-1\r\n$-1\r\n", true},
	    {"*2\r\n$3\r\n1-1\r\n*1\r\n$2\r\nid\r\n", true},
	    {"*2\r\n$1\r\nx\r\n*0\r\n", false},
	    {"*2\r\n:1\r\n*0\r\n", false},
	    {"*2\r\n$-1\r\n*0\r\n", false},
	    {"*2\r\n$3\r\n1-1\r\n*2\r\n$2\r\nid\r\n:5\r\n", true},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		redisReader *reader = redisReaderCreate();
		const char *reason = NULL;
		struct event event;
		void *reply = NULL;

		redisReaderFeed(reader, cases[i].text, strlen(cases[i].text));
		CHECK_INT(redisReaderGetReply(reader, &reply), REDIS_OK);
		CHECK(!event_from_entry(reply, &event, &reason));
		CHECK(reason != NULL);
		CHECK_INT(event_entry_id(reply, &event.stream_id), cases[i].has_id);
		freeReplyObject(reply);
		redisReaderFree(reader);
	}
}

static void as_json(void)
{
	static const char nasty[] = "q\" b\\ n\n t\t \x01\x1f \xc3\xa9";
	redisReply *reply = variant("id", nasty, strlen(nasty));
	const char *reason = NULL;
	struct event event;
	size_t len;

	CHECK(event_from_entry(reply, &event, &reason));
	char *text = event_to_json(&event, &len);
	CHECK_INT(strlen(text), len);
	CHECK(strstr(text, "\"data\":{\"a\": 1}") != NULL);
	json_t *json = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	CHECK(json != NULL);
	CHECK_INT(json_object_size(json), 9);
	CHECK_STR(json_string_value(json_object_get(json, "specversion")), "1.0");
	CHECK_STR(json_string_value(json_object_get(json, "id")), nasty);
	CHECK_STR(json_string_value(json_object_get(json, "streamid")), "1767225600123-7");
	json_decref(json);
	free(text);
	freeReplyObject(reply);
}

static void as_json_grows(void)
{
	char controls[300];
	const char *reason = NULL;
	struct event event;
	size_t len;

	/* The worst growth: each byte becomes six. */
	memset(controls, 1, sizeof(controls));
	redisReply *reply = variant("subject", controls, sizeof(controls));
	CHECK(event_from_entry(reply, &event, &reason));
	event.field[EVENT_TRACEPARENT] = (struct event_text){NULL, 0};
	char *text = event_to_json(&event, &len);
	json_t *json = json_loads(text, 0, NULL);
	CHECK(json != NULL);
	CHECK(json_object_get(json, "traceparent") == NULL);
	CHECK_INT(json_string_length(json_object_get(json, "subject")), sizeof(controls));
	json_decref(json);
	free(text);
	freeReplyObject(reply);
}

static void key(void)
{
	char buf[64];

	event_key(buf, sizeof(buf), "umavez", "purchases", 3);
	CHECK_STR(buf, "umavez:purchases:{3}");
}

static void syntax(void)
{
	static const struct {
		const char *text;
		bool valid;
	} cases[] = {{"{}", true}, {"[]", true}, {"[[],{}]", true}, {"0", true}, {"-0.1e+2", true},
	    {"1E9", true}, {"\"\\ud800\"", true}, {"{\"a\":[1,{\"b\":null}],\"a\":true}", true},
	    {" \t\r\n1 ", true}, {"[{},[{}]]", true}, {"", false}, {"01", false}, {"+1", false},
	    {"1.", false}, {".5", false}, {"1e", false}, {"-", false}, {"[1,]", false},
	    {"[,1]", false}, {"{,}", false}, {"{\"a\"}", false}, {"{\"a\":}", false},
	    {"{\"a\":1,}", false}, {"{a:1}", false}, {"[1}", false}, {"{\"a\":1]", false},
	    {"[", false}, {"]", false}, {"\"", false}, {"\"\\x\"", false}, {"\"\\u12g4\"", false},
	    {"\"\\u12", false}, {"\"a\nb\"", false}, {"tru", false}, {"True", false},
	    {"nulll", false}, {"NaN", false}, {"1 2", false}, {"[1 2]", false}, {"[[1]", false},
	    {"{\"a\":1 \"b\":2}", false}, {"\xef\xbb\xbf{}", false}, {"'a'", false},
	    {"[1]]", false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		/* Of exactly this size, so that a read behind the end is noticed. */
		size_t len = strlen(cases[i].text);
		char *copy = malloc(len ? len : 1);
		memcpy(copy, cases[i].text, len);
		if (json_syntax_valid(copy, len) != cases[i].valid)
			CU_FAIL_FATAL(cases[i].text);
		free(copy);
	}
}

static void deep(void)
{
	const size_t depth = 200000;
	char *text = malloc(2 * depth);

	memset(text, '[', depth);
	memset(text + depth, ']', depth);
	CHECK(json_syntax_valid(text, 2 * depth));
	CHECK(!json_syntax_valid(text, depth));
	CHECK(!json_syntax_valid(text, 2 * depth - 1));
	free(text);
}

static const struct check checks[] = {
    {"a whole entry", whole},
    {"required fields", required_fields},
    {"bytes", bytes},
    {"keys are bounded", keys_are_bounded},
    {"data is one JSON value", data_is_json},
    {"a field twice", twice},
    {"odd replies", odd_replies},
    {"as JSON", as_json},
    {"as JSON: absent and growing fields", as_json_grows},
    {"key", key},
    {"JSON syntax", syntax},
    {"JSON syntax: deep", deep},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common event", checks, argc, argv);
}
