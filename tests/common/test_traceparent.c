#include "common/traceparent.h"
#include "tests/support/check.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static json_t *load(const char *name)
{
	char path[400];
	json_error_t error;

	snprintf(path, sizeof(path), "%s/tests/vectors/tracecontext/%s", UMAVEZ_SOURCE_DIR, name);
	json_t *json = json_load_file(path, 0, &error);
	if (!json) {
		fprintf(stderr, "test vectors: %s: %s\n", path, error.text);
		exit(1);
	}
	return json;
}

static bool parse(const char *text, struct traceparent *ret)
{
	return traceparent_parse(text, strlen(text), ret);
}

/* What an HTTP server hands on: the value without the white space around it (RFC 9110, 5.5). */
static bool parse_header(const char *value, struct traceparent *ret)
{
	size_t len;

	value += strspn(value, " \t");
	len = strlen(value);
	while (len > 0 && strchr(" \t", value[len - 1]))
		len--;
	return traceparent_parse(value, len, ret);
}

/* Continue the trace that the headers name: exactly one traceparent, and a valid one. */
static bool continues(json_t *headers, struct traceparent *ret)
{
	const char *value = NULL;
	size_t i;
	json_t *header;
	int n = 0;

	json_array_foreach (headers, i, header) {
		if (strcasecmp(json_string_value(json_array_get(header, 0)), "traceparent") != 0)
			continue;
		value = json_string_value(json_array_get(header, 1));
		n++;
	}
	return n == 1 && parse_header(value, ret);
}

static void w3c_harness(void)
{
	json_t *root = load("w3c_harness_cases.json");
	json_t *cases = json_object_get(root, "cases"), *c;
	size_t i;

	CHECK_INT(json_array_size(cases), 83);
	json_array_foreach (cases, i, c) {
		const char *want = json_string_value(json_object_get(c, "trace"));
		struct traceparent tp;

		if (continues(json_object_get(c, "headers"), &tp) !=
		    (strcmp(want, "continue") == 0))
			CU_FAIL_FATAL(json_string_value(json_object_get(c, "test")));
		if (strcmp(want, "continue") == 0)
			CHECK_STR(tp.trace_id, "12345678901234567890123456789012");
	}
	json_decref(root);
}

static void check_list(json_t *root, const char *name, size_t n, bool valid)
{
	json_t *list = json_object_get(root, name), *item;
	size_t i;

	CHECK_INT(json_array_size(list), n);
	json_array_foreach (list, i, item) {
		struct traceparent tp;

		if (parse(json_string_value(item), &tp) != valid)
			CU_FAIL_FATAL(json_string_value(item));
	}
}

static void parser_units(void)
{
	json_t *root = load("parser_unit_cases.json");

	check_list(root, "accepted_any_version", 11, true);
	check_list(root, "rejected", 9, false);
	check_list(root, "spec_examples", 4, true);
	json_decref(root);
}

static void b60_traceparents(void)
{
	static const struct {
		const char *text;
		bool valid;
	} cases[] = {
	    {"00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01", false},
	    {"00-0af7651916cd43dd8448eb211c80319c-B7AD6B7169203331-01", false},
	    {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0A", false},
	    {"0A-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false},
	    {"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", false},
	    {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x", false},
	    {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-", false},
	    {"01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x", true},
	    {"01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x", false},
	    {"00-00000000000000000000000000000000-b7ad6b7169203331-01", false},
	    {"00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", false},
	    {"00-12345678901234567890123456789012-1234567890123456-01", true},
	    {"00_12345678901234567890123456789012-1234567890123456-01", false},
	    {"00-12345678901234567890123456789012_1234567890123456-01", false},
	    {"00-12345678901234567890123456789012-1234567890123456_01", false},
	    {"", false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct traceparent tp = {"untouched", "", 0};

		if (parse(cases[i].text, &tp) != cases[i].valid)
			CU_FAIL_FATAL(cases[i].text);
		if (!cases[i].valid)
			CHECK_STR(tp.trace_id, "untouched");
	}
}

static void every_byte_counts(void)
{
	static const char good[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
	struct traceparent tp;
	char text[sizeof(good)];

	for (size_t i = 0; i < sizeof(good) - 1; i++) {
		memcpy(text, good, sizeof(good));
		text[i] = '\0';
		CHECK(!traceparent_parse(text, sizeof(good) - 1, &tp));
		text[i] = 'g';
		CHECK(!traceparent_parse(text, sizeof(good) - 1, &tp));
		CHECK(!traceparent_parse(good, i, &tp));
	}
}

static void written_again(void)
{
	static const char text[] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
	struct traceparent tp;
	char buf[TRACEPARENT_SIZE];

	CHECK(parse(text, &tp));
	CHECK_STR(tp.trace_id, "0af7651916cd43dd8448eb211c80319c");
	CHECK_STR(tp.parent_id, "b7ad6b7169203331");
	CHECK_INT(tp.flags, 1);
	traceparent_format(&tp, buf);
	CHECK_STR(buf, text);
}

static void made(void)
{
	struct traceparent a, b, parsed;
	char buf[TRACEPARENT_SIZE];

	traceparent_new(&a);
	traceparent_new(&b);
	CHECK(strcmp(a.trace_id, b.trace_id) != 0);
	CHECK_INT(a.flags, 1);
	traceparent_format(&a, buf);
	CHECK(parse(buf, &parsed));
	CHECK_STR(parsed.trace_id, a.trace_id);
}

static void child(void)
{
	struct traceparent parent, tp;

	CHECK(parse("cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-fe-later", &parent));
	traceparent_child(&parent, &tp);
	CHECK_STR(tp.trace_id, parent.trace_id);
	CHECK(strcmp(tp.parent_id, parent.parent_id) != 0);
	CHECK_INT(tp.flags, 2);
	traceparent_child(&tp, &tp);
	CHECK_STR(tp.trace_id, parent.trace_id);
}

static const struct check checks[] = {
    {"the W3C harness's cases", w3c_harness},
    {"other parsers' cases", parser_units},
    {"B60: traceparents", b60_traceparents},
    {"every byte counts", every_byte_counts},
    {"written again", written_again},
    {"made", made},
    {"child", child},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common traceparent", checks, argc, argv);
}
