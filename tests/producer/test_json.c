#include "common/memory.h"
#include "producer/json.h"
#include "tests/support/check.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>

static json_t *read_text(const char *text, const char **ret_why)
{
	return json_read(text, strlen(text), ret_why);
}

static void expect_refused(const char *text, const char *why_part)
{
	const char *why = NULL;

	CHECK(read_text(text, &why) == NULL);
	CHECK(why && strstr(why, why_part));
}

static void test_refused(void)
{
	expect_refused("", "no JSON");
	expect_refused("null", "no JSON");
	expect_refused("[]", "no object");
	expect_refused("{", "no JSON");
	expect_refused("{}x", "no JSON");
	expect_refused("{\"a\":1,\"a\":2}", "two members");
	expect_refused("{\"x\":{\"a\":1,\"a\":2}}", "two members");
	expect_refused("{\"n\":9223372036854775808}", "out of range");
	expect_refused("{\"n\":1e999}", "out of range");
	expect_refused("{\"s\":\"\\ud800\"}", "no JSON");
	expect_refused("{\"s\":\"\xff\"}", "UTF-8");
}

static void test_nul(void)
{
	static const char *const texts[] = {
	    "{\"a\":1}#", "{\"a\":1}#{\"a\":2}", "{\"a\":\"#\"}", "#"};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		size_t len = strlen(texts[i]);
		char *bytes = mem_strdup(texts[i]);
		const char *why = NULL;

		*strchr(bytes, '#') = '\0';
		CHECK(json_read(bytes, len, &why) == NULL);
		CHECK_STR(why, "it is no JSON");
		free(bytes);
	}
}

/* B27: neither the parser nor the scan may follow the nesting with its stack. */
static void test_deep(void)
{
	static const char start[] = "{\"id\":\"e\",\"x\":";
	const size_t prefix = sizeof(start) - 1, depth = 200000;
	char *text = mem_alloc(prefix + depth);
	const char *why = NULL;
	char *id;

	memset(text, '[', prefix + depth);
	CHECK(json_read(text, depth, &why) == NULL);
	CHECK_STR(why, "it is nested too deeply");
	memcpy(text, start, prefix);
	CHECK(json_read(text, prefix + depth, &why) == NULL);
	CHECK_STR(why, "it is nested too deeply");
	id = json_peek_string(text, prefix + depth, "id");
	CHECK_STR(id, "e");
	free(id);
	free(text);
}

static void test_getters(void)
{
	const char *why;
	int64_t value = -1;
	json_t *o =
	    read_text("{\"s\":\"text\",\"empty\":\"\",\"nul\":\"a\\u0000b\",\"n\":9007199254740993,"
		      "\"real\":1e3,\"t\":true,\"ts\":\"true\",\"o\":{\"list\":[{\"id\":\"x\"}]}}",
		&why);

	CHECK(o != NULL);
	CHECK_STR(json_get_string(o, "s"), "text");
	CHECK_STR(json_get_string(o, "empty"), NULL);
	CHECK_STR(json_get_string(o, "nul"), NULL);
	CHECK_STR(json_get_string(o, "n"), NULL);
	CHECK_STR(json_get_string(o, "o.list.0.id"), "x");
	CHECK_STR(json_get_string(o, "o.list.1.id"), NULL);
	CHECK_STR(json_get_string(o, "o.list.id"), NULL);
	CHECK_STR(json_get_string(o, "s.id"), NULL);
	CHECK_STR(json_get_string(NULL, "s"), NULL);
	CHECK(json_get_int(o, "n", &value));
	CHECK_INT(value, 9007199254740993);
	CHECK(!json_get_int(o, "real", &value));
	CHECK(!json_get_int(o, "s", &value));
	CHECK(json_get_true(o, "t"));
	CHECK(!json_get_true(o, "ts"));
	CHECK(!json_get_true(o, "n"));
	CHECK(json_get_object(o, "o") != NULL);
	CHECK(json_get_object(o, "o.list") == NULL);
	json_decref(o);
}

static bool epoch(const char *value, int64_t *ret_ms)
{
	char *text = text_format("{\"t\":%s}", value);
	const char *why;
	json_t *o = read_text(text, &why);
	bool found = json_get_epoch_ms(o, "t", ret_ms);

	CHECK(o != NULL);
	json_decref(o);
	free(text);
	return found;
}

/* B07: milliseconds, as a number or as digits. */
static void test_epoch(void)
{
	static const char *const bad[] = {"\"\"", "\" 1\"", "\"1 \"", "\"+1\"", "\"-1\"", "\"1e9\"",
	    "\"0x1\"", "\"99999999999999999999\"", "-1", "1.5", "null", "true", "{}"};
	int64_t ms = -7;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK(!epoch(bad[i], &ms));
	CHECK_INT(ms, -7);
	CHECK(epoch("1767225600123", &ms));
	CHECK_INT(ms, 1767225600123);
	CHECK(epoch("\"1767225600123\"", &ms));
	CHECK_INT(ms, 1767225600123);
	CHECK(epoch("0", &ms));
	CHECK_INT(ms, 0);
	CHECK(epoch("\"999999999999999999\"", &ms));
	CHECK_INT(ms, 999999999999999999);
}

static void expect_peek(const char *text, const char *path, const char *expected)
{
	char *found = json_peek_string(text, strlen(text), path);

	CHECK_STR(found, expected);
	free(found);
}

static void test_peek_finds(void)
{
	expect_peek("{\"id\":\"e\",\"s\":\"\\ud800\"}", "id", "e");
	expect_peek(" {\"s\":\"\\ud800\" , \"id\" : \"e\" } \n", "id", "e");
	expect_peek("{\"n\":99999999999999999999,\"id\":\"e\"}", "id", "e");
	expect_peek("{\"s\":\"\xff\",\"id\":\"e\"}", "id", "e");
	expect_peek("{\"x\":{\"id\":\"no\"},\"id\":\"e\",\"y\":[{\"id\":\"no\"}]}", "id", "e");
	expect_peek("{\"s\":\"\\\"id\\\":\\\"no\\\"\",\"id\":\"e\"}", "id", "e");
	expect_peek(
	    "{\"message\":{\"messageId\":\"7\",\"a\":1,\"a\":2}}", "message.messageId", "7");
	expect_peek("{\"id\":\"e\",\"x\":[{", "id", "e");
	expect_peek("{\"id\":\"e\",\"x\":\"cut", "id", "e");
}

static void test_peek_refuses(void)
{
	expect_peek("{\"id\":\"A\",\"id\":\"B\"}", "id", NULL);
	expect_peek("{\"id\":\"A\",\"i\\u0064\":\"B\"}", "id", NULL);
	expect_peek("{\"x\":{\"id\":\"A\"}}", "id", NULL);
	expect_peek("{\"id\":7}", "id", NULL);
	expect_peek("{\"id\":\"\"}", "id", NULL);
	expect_peek("{\"id\":\"a\\n\"}", "id", NULL);
	expect_peek("{\"id\":\"a\tb\"}", "id", NULL);
	expect_peek("{\"id\":\"\xc3\xa9\"}", "id", NULL);
	expect_peek("{\"id\":\"cut", "id", NULL);
	expect_peek("{\"id\":\"a\" \"b\"}", "id", NULL);
	expect_peek("{\"id\":\"a\"}{\"id\":\"b\"}", "id", NULL);
	expect_peek("[{\"id\":\"a\"}]", "id", NULL);
	expect_peek("\"id\"", "id", NULL);
	expect_peek("", "id", NULL);
	expect_peek("{", "id", NULL);
	expect_peek("{\"id\"", "id", NULL);
	expect_peek("{\"message\":\"x\"}", "message.messageId", NULL);
}

static void test_peek_length(void)
{
	char id[257] = "", *text;

	memset(id, 'x', 255);
	text = text_format("{\"id\":\"%s\"}", id);
	expect_peek(text, "id", id);
	free(text);
	id[255] = 'x';
	text = text_format("{\"id\":\"%s\"}", id);
	expect_peek(text, "id", NULL);
	free(text);
}

/* Every prefix and every single-byte change is scanned within its bytes (the sanitizers watch). */
static void test_peek_stays_inside(void)
{
	static const char text[] = "{\"a\":[{\"b\":\"\\\\\\\"\"},1],\"id\":\"evt\",\"z\":{}}";

	for (size_t len = 0; len < sizeof(text); len++) {
		char *copy = malloc(len ? len : 1);

		memcpy(copy, text, len);
		free(json_peek_string(copy, len, "id"));
		for (size_t i = 0; i < len; i++) {
			copy[i] = "{}[]\",:\\"[i % 8];
			free(json_peek_string(copy, len, "id"));
			copy[i] = text[i];
		}
		free(copy);
	}
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"B27 what two readers could read differently is refused", test_refused},
	    {"NUL bytes", test_nul},
	    {"B27 200000 brackets", test_deep},
	    {"typed getters", test_getters},
	    {"B07 epoch milliseconds", test_epoch},
	    {"peek finds the only id", test_peek_finds},
	    {"peek refuses what is not certain", test_peek_refuses},
	    {"peek takes up to 255 characters", test_peek_length},
	    {"peek stays inside its bytes", test_peek_stays_inside},
	    {NULL, NULL},
	};

	return check_main("producer json", checks, argc, argv);
}
