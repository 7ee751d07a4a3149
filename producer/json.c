#include "producer/json.h"

#include "common/memory.h"

#include <stdlib.h>
#include <string.h>

json_t *json_read(const void *bytes, size_t len, const char **ret_why)
{
	json_error_t error;
	json_t *json;

	/* jansson takes a NUL behind the value for the end, whatever follows it. */
	if (len > 0 && memchr(bytes, '\0', len)) {
		*ret_why = "it is no JSON";
		return NULL;
	}
	json = json_loadb(bytes, len, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &error);
	if (json_is_object(json))
		return json;
	if (json) {
		json_decref(json);
		*ret_why = "it is JSON, but no object";
		return NULL;
	}
	switch (json_error_code(&error)) {
	case json_error_duplicate_key:
		*ret_why = "an object has two members of one name";
		break;
	case json_error_stack_overflow:
		*ret_why = "it is nested too deeply";
		break;
	case json_error_numeric_overflow:
		*ret_why = "a number is out of range";
		break;
	case json_error_invalid_utf8:
		*ret_why = "it is no valid UTF-8";
		break;
	default:
		*ret_why = "it is no JSON";
	}
	return NULL;
}

/* The first name of path, and what follows it (NULL: nothing). */
static size_t first_name(const char *path, const char **ret_rest)
{
	const char *dot = strchr(path, '.');

	*ret_rest = dot ? dot + 1 : NULL;
	return dot ? (size_t)(dot - path) : strlen(path);
}

/* SIZE_MAX, where no element is, unless name begins with a digit. */
static size_t array_index(const char *name)
{
	return *name >= '0' && *name <= '9' ? strtoul(name, NULL, 10) : SIZE_MAX;
}

json_t *json_at(const json_t *root, const char *path)
{
	json_t *at = (json_t *)root;

	while (at && path) {
		const char *name = path;
		size_t len = first_name(name, &path);

		if (json_is_array(at))
			at = json_array_get(at, array_index(name));
		else
			at = json_object_getn(at, name, len);
	}
	return at;
}

json_t *json_get_object(const json_t *root, const char *path)
{
	json_t *value = json_at(root, path);

	return json_is_object(value) ? value : NULL;
}

const char *json_get_string(const json_t *root, const char *path)
{
	const json_t *value = json_at(root, path);
	const char *text = json_string_value(value);

	if (!text || !*text || strlen(text) != json_string_length(value))
		return NULL;
	return text;
}

char *json_dup_string(const json_t *root, const char *path)
{
	return mem_strdup(json_get_string(root, path));
}

bool json_get_true(const json_t *root, const char *path)
{
	return json_is_true(json_at(root, path));
}

bool json_get_int(const json_t *root, const char *path, int64_t *ret_value)
{
	const json_t *value = json_at(root, path);

	if (!json_is_integer(value))
		return false;
	*ret_value = json_integer_value(value);
	return true;
}

/* 18 digits always fit. */
static bool parse_digits(const char *text, int64_t *ret_value)
{
	size_t len = strspn(text, "0123456789");
	int64_t value = 0;

	if (len == 0 || len > 18 || text[len])
		return false;
	for (; *text; text++)
		value = value * 10 + (*text - '0');
	*ret_value = value;
	return true;
}

bool json_get_epoch_ms(const json_t *root, const char *path, int64_t *ret_ms)
{
	const char *text = json_get_string(root, path);
	int64_t value;

	if (text)
		return parse_digits(text, ret_ms);
	if (!json_get_int(root, path, &value) || value < 0)
		return false;
	*ret_ms = value;
	return true;
}

/* Bytes that json_read() refused, from here to there. */
struct span {
	const char *p, *end;
};

static bool at_byte(const struct span *s, char byte)
{
	return s->p < s->end && *s->p == byte;
}

static void skip_space(struct span *s)
{
	while (s->p < s->end && strchr(" \t\r\n", *s->p) && *s->p)
		s->p++;
}

/* Step over a string, quotes included, and set *ret_inner to what is between them. False if it does
 * not end. */
static bool skip_string(struct span *s, struct span *ret_inner, bool *ret_escapes)
{
	ret_inner->p = ++s->p;
	*ret_escapes = false;
	for (; s->p < s->end; s->p++) {
		if (*s->p == '"') {
			ret_inner->end = s->p++;
			return true;
		}
		if (*s->p == '\\') {
			*ret_escapes = true;
			if (++s->p == s->end)
				break;
		}
	}
	return false;
}

/* Step over a value of any kind or depth, up to what ends it in its object. Brackets are counted,
 * not matched. */
static void skip_value(struct span *s)
{
	struct span inner;
	size_t depth = 0;
	bool escapes;

	while (s->p < s->end) {
		char byte = *s->p;

		if (byte == '"') {
			if (!skip_string(s, &inner, &escapes))
				return;
			continue;
		}
		if (depth == 0 && (byte == ',' || byte == '}'))
			return;
		if (byte == '{' || byte == '[')
			depth++;
		else if (byte == '}' || byte == ']')
			depth -= depth > 0;
		s->p++;
	}
}

/* Read `"name": value` and set the spans of both. */
static bool skip_member(struct span *s, struct span *ret_name, struct span *ret_value)
{
	bool escapes;

	if (!at_byte(s, '"') || !skip_string(s, ret_name, &escapes) || escapes)
		return false;
	skip_space(s);
	if (!at_byte(s, ':'))
		return false;
	s->p++;
	skip_space(s);
	ret_value->p = s->p;
	skip_value(s);
	ret_value->end = s->p;
	return true;
}

/* The value of the only member of this name in the object that s is. An object that is cut short
 * counts as far as it goes. */
static bool find_member(struct span s, const char *name, size_t len, struct span *ret_value)
{
	bool found = false;

	skip_space(&s);
	if (!at_byte(&s, '{'))
		return false;
	do {
		struct span member, value;

		s.p++;
		skip_space(&s);
		if (s.p == s.end || *s.p == '}')
			break;
		if (!skip_member(&s, &member, &value))
			return false;
		if ((size_t)(member.end - member.p) != len || memcmp(member.p, name, len) != 0)
			continue;
		if (found)
			return false;
		found = true;
		*ret_value = value;
	} while (at_byte(&s, ','));
	if (at_byte(&s, '}'))
		s.p++;
	skip_space(&s);
	return found && s.p == s.end;
}

char *json_peek_string(const void *bytes, size_t len, const char *path)
{
	struct span s = {bytes, (const char *)bytes + len};
	struct span text;
	bool escapes;

	while (path) {
		const char *name = path;
		size_t name_len = first_name(name, &path);

		if (!find_member(s, name, name_len, &s))
			return NULL;
	}
	if (!at_byte(&s, '"') || !skip_string(&s, &text, &escapes) || escapes)
		return NULL;
	skip_space(&s);
	if (s.p != s.end || text.p == text.end || text.end - text.p > 255)
		return NULL;
	for (const char *p = text.p; p < text.end; p++)
		if (*p < 0x20 || *p > 0x7e)
			return NULL;
	return mem_strndup(text.p, (size_t)(text.end - text.p));
}
