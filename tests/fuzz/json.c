/* Foreign JSON: the scanner, jansson and the peek at what jansson refuses must agree. */
#include "producer/json.h"
#include "common/json_syntax.h"
#include "common/utf8.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static bool has(const uint8_t *data, size_t size, const char *text)
{
	return size > 0 && memmem(data, size, text, strlen(text));
}

/* What jansson refuses and PostgreSQL's json takes is of these kinds. */
static bool is_stricter(const json_error_t *error, const uint8_t *data, size_t size)
{
	switch (json_error_code(error)) {
	case json_error_duplicate_key:
	case json_error_stack_overflow:
	case json_error_numeric_overflow:
	case json_error_invalid_utf8:
	case json_error_null_byte_in_key:
		return true;
	case json_error_invalid_syntax: /* a lone surrogate */
		return has(data, size, "\\u");
	default:
		return false;
	}
}

static void check_syntax(const uint8_t *data, size_t size)
{
	json_error_t error;
	json_t *json = json_loadb((const char *)data, size,
	    JSON_DECODE_ANY | JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	bool valid = json_syntax_valid((const char *)data, size);

	/* jansson takes a NUL behind the value for the end. */
	if (json)
		FUZZ_CHECK(valid || memchr(data, '\0', size));
	else if (valid)
		FUZZ_CHECK(is_stricter(&error, data, size));
	json_decref(json);
}

static void check_strings(const json_t *value)
{
	const char *name;
	json_t *item;
	size_t i;

	if (json_is_string(value))
		FUZZ_CHECK(utf8_valid(json_string_value(value), json_string_length(value)));
	json_array_foreach (value, i, item)
		check_strings(item);
	json_object_foreach ((json_t *)value, name, item) {
		FUZZ_CHECK(json_object_get(value, name) == item);
		check_strings(item);
	}
}

/* The peek may find less than is there, but nothing else. */
static void check_peek(const json_t *json, const uint8_t *data, size_t size, const char *path)
{
	char *peeked = json_peek_string(data, size, path);
	const char *read = json_get_string(json, path);

	if (peeked) {
		size_t len = strlen(peeked);

		FUZZ_CHECK(len > 0 && len <= 255);
		for (size_t i = 0; i < len; i++)
			FUZZ_CHECK(peeked[i] >= 0x20 && peeked[i] <= 0x7e);
		FUZZ_CHECK(has(data, size, peeked));
		FUZZ_CHECK(!json || (read && strcmp(read, peeked) == 0));
	} else if (read && json && !has(data, size, "\\")) {
		/* Printable, short, and nothing escaped: then it is found. */
		bool plain = strlen(read) <= 255;

		for (const char *c = read; *c; c++)
			plain = plain && *c >= 0x20 && *c <= 0x7e;
		FUZZ_CHECK(!plain);
	}
	free(peeked);
}

static void check_getters(const json_t *json)
{
	const char *text = json_get_string(json, "id");
	int64_t ms = -1, n = 0;

	FUZZ_CHECK(!text || *text);
	if (json_get_epoch_ms(json, "t", &ms))
		FUZZ_CHECK(ms >= 0);
	else
		FUZZ_CHECK(ms == -1);
	if (json_get_int(json, "t", &n))
		FUZZ_CHECK(n == json_integer_value(json_object_get(json, "t")));
	FUZZ_CHECK(json_get_true(json, "t") == json_is_true(json_object_get(json, "t")));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *why = NULL;
	json_t *json = json_read(data, size, &why);

	FUZZ_CHECK(json ? json_is_object(json) : why != NULL);
	FUZZ_CHECK(!json || json_syntax_valid((const char *)data, size));
	check_syntax(data, size);
	check_strings(json);
	check_peek(json, data, size, "id");
	check_peek(json, data, size, "data.id");
	check_getters(json);
	json_decref(json);
	return 0;
}
