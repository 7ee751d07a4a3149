#include "common/json_syntax.h"

#include "common/memory.h"

#include <stdlib.h>
#include <string.h>

/* Where the scan is, and the kind of each open container: one bit a level. */
struct scan {
	const char *at, *end;
	unsigned char *objects;
	size_t depth;
};

static bool take(struct scan *s, char c)
{
	if (s->at == s->end || *s->at != c)
		return false;
	s->at++;
	return true;
}

/* The next byte is one of these. */
static bool at_one_of(const struct scan *s, const char *bytes)
{
	return s->at < s->end && *s->at != '\0' && strchr(bytes, *s->at);
}

static void skip_space(struct scan *s)
{
	while (
	    s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
		s->at++;
}

static bool take_digits(struct scan *s)
{
	const char *begin = s->at;

	while (s->at < s->end && *s->at >= '0' && *s->at <= '9')
		s->at++;
	return s->at > begin;
}

static bool take_number(struct scan *s)
{
	(void)take(s, '-');
	if (!take(s, '0') && !take_digits(s))
		return false;
	if (take(s, '.') && !take_digits(s))
		return false;
	if (!take(s, 'e') && !take(s, 'E'))
		return true;
	if (!take(s, '+'))
		(void)take(s, '-');
	return take_digits(s);
}

static bool take_word(struct scan *s, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(s->end - s->at) < len || memcmp(s->at, word, len) != 0)
		return false;
	s->at += len;
	return true;
}

/* Behind a backslash. */
static bool take_escape(struct scan *s)
{
	if (!at_one_of(s, "\"\\/bfnrtu"))
		return false;
	if (*s->at++ != 'u')
		return true;
	for (int i = 0; i < 4; i++, s->at++) {
		if (!at_one_of(s, "0123456789abcdefABCDEF"))
			return false;
	}
	return true;
}

static bool take_string(struct scan *s)
{
	if (!take(s, '"'))
		return false;
	while (s->at < s->end) {
		unsigned char c = (unsigned char)*s->at++;
		if (c == '"')
			return true;
		if (c < 0x20 || (c == '\\' && !take_escape(s)))
			return false;
	}
	return false;
}

static bool take_scalar(struct scan *s)
{
	if (s->at == s->end)
		return false;
	switch (*s->at) {
	case '"':
		return take_string(s);
	case 't':
		return take_word(s, "true");
	case 'f':
		return take_word(s, "false");
	case 'n':
		return take_word(s, "null");
	default:
		return take_number(s);
	}
}

static bool in_object(const struct scan *s)
{
	size_t level = s->depth - 1;

	return s->objects[level / 8] >> level % 8 & 1;
}

static void open_container(struct scan *s, bool object)
{
	size_t level = s->depth++;
	unsigned char bit = (unsigned char)(1 << level % 8);

	s->objects[level / 8] &= (unsigned char)~bit;
	if (object)
		s->objects[level / 8] |= bit;
}

static bool take_key(struct scan *s)
{
	skip_space(s);
	if (!take_string(s))
		return false;
	skip_space(s);
	return take(s, ':');
}

/* Up to the next scalar or empty container, opening the containers on the way to it. */
static bool descend(struct scan *s)
{
	for (;;) {
		skip_space(s);
		bool object = take(s, '{');
		if (!object && !take(s, '['))
			return take_scalar(s);
		open_container(s, object);
		skip_space(s);
		if (take(s, object ? '}' : ']')) {
			s->depth--;
			return true;
		}
		if (object && !take_key(s))
			return false;
	}
}

/* Behind a value: close what ends here. True at a comma, or at the end of all. */
static bool ascend(struct scan *s)
{
	while (s->depth > 0) {
		skip_space(s);
		if (take(s, ','))
			return !in_object(s) || take_key(s);
		if (!take(s, in_object(s) ? '}' : ']'))
			return false;
		s->depth--;
	}
	return true;
}

bool json_syntax_valid(const char *text, size_t len)
{
	struct scan s = {.at = text, .end = text + len};
	bool ok;

	/* Each level of depth costs a byte of text. */
	s.objects = mem_alloc(len / 8 + 1);
	do
		ok = descend(&s) && ascend(&s);
	while (ok && s.depth > 0);
	skip_space(&s);
	free(s.objects);
	return ok && s.at == s.end;
}
