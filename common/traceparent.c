#include "common/traceparent.h"

#include "common/clock.h"
#include "common/hex.h"

#include <stdio.h>
#include <string.h>

/* Offsets of version 00: "vv-" trace-id "-" parent-id "-" flags */
enum { AT_TRACE = 3, AT_PARENT = 36, AT_FLAGS = 53, LENGTH = 55 };
enum { TRACE_LEN = 32, PARENT_LEN = 16 };
enum { FLAG_SAMPLED = 1, FLAG_RANDOM = 2 }; /* random: level 2 of the specification */

static int hex_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static bool hex_byte(const char *text, unsigned char *ret)
{
	int high = hex_value(text[0]), low = hex_value(text[1]);

	if (high < 0 || low < 0)
		return false;
	*ret = (unsigned char)(high << 4 | low);
	return true;
}

/* len hex digits, not all zero, copied with a NUL. */
static bool copy_id(const char *text, size_t len, char *ret)
{
	bool zero = true;

	for (size_t i = 0; i < len; i++) {
		if (hex_value(text[i]) < 0)
			return false;
		zero = zero && text[i] == '0';
	}
	memcpy(ret, text, len);
	ret[len] = '\0';
	return !zero;
}

bool traceparent_parse(const char *text, size_t len, struct traceparent *ret)
{
	struct traceparent tp;
	unsigned char version;

	if (len < LENGTH || !hex_byte(text, &version) || version == 0xff)
		return false;
	if (len > LENGTH && (version == 0 || text[LENGTH] != '-'))
		return false;
	if (text[AT_TRACE - 1] != '-' || text[AT_PARENT - 1] != '-' || text[AT_FLAGS - 1] != '-')
		return false;
	if (!copy_id(text + AT_TRACE, TRACE_LEN, tp.trace_id) ||
	    !copy_id(text + AT_PARENT, PARENT_LEN, tp.parent_id) ||
	    !hex_byte(text + AT_FLAGS, &tp.flags))
		return false;
	*ret = tp;
	return true;
}

/* A random id that is not all zero. */
static void make_id(char *ret, size_t hex_len)
{
	unsigned char bytes[TRACE_LEN / 2];

	random_bytes(bytes, hex_len / 2);
	bytes[0] |= 1;
	hex_format(bytes, hex_len / 2, ret);
}

void traceparent_new(struct traceparent *ret)
{
	make_id(ret->trace_id, TRACE_LEN);
	make_id(ret->parent_id, PARENT_LEN);
	ret->flags = FLAG_SAMPLED;
}

void traceparent_child(const struct traceparent *parent, struct traceparent *ret)
{
	/* Flags that nobody has defined must be zero. */
	unsigned char flags = parent->flags & (FLAG_SAMPLED | FLAG_RANDOM);

	memmove(ret->trace_id, parent->trace_id, sizeof(ret->trace_id));
	make_id(ret->parent_id, PARENT_LEN);
	ret->flags = flags;
}

void traceparent_format(const struct traceparent *tp, char buf[TRACEPARENT_SIZE])
{
	snprintf(buf, TRACEPARENT_SIZE, "00-%s-%s-%02x", tp->trace_id, tp->parent_id, tp->flags);
}
