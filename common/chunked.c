#include "common/chunked.h"

#include <string.h>

/* Of extensions and trailers together. They mean nothing to us. */
enum { MAX_EXTRA = 16384 };

/*
 *	SIZE ─▶ BLANK ─▶ EXTENSION ─▶ SIZE_LF ─▶ DATA ─▶ DATA_CR ─▶ DATA_LF ─▶ SIZE
 *	                                 │ 0
 *	                                 ▼
 *	                 END_LF ◀── TRAILER_START ◀──▶ TRAILER ─▶ TRAILER_LF
 */
enum state {
	SIZE,
	BLANK,
	EXTENSION,
	SIZE_LF,
	DATA,
	DATA_CR,
	DATA_LF,
	TRAILER_START,
	TRAILER,
	TRAILER_LF,
	END_LF,
};

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool is_text(char c)
{
	return ((unsigned char)c >= ' ' && c != 0x7f) || c == '\t';
}

/* Where a size leads to that ends here. -1: nowhere. */
static int after_size(const struct chunked *c, char byte)
{
	if (!c->has_digit)
		return -1;
	if (byte == '\r')
		return SIZE_LF;
	if (byte == ';')
		return EXTENSION;
	return byte == ' ' || byte == '\t' ? BLANK : -1;
}

static int begin_chunk(struct chunked *c)
{
	c->has_digit = false;
	c->len += c->left;
	return c->left > 0 ? DATA : TRAILER_START;
}

/* The state that this byte, which is not data, leads to. -1: it does not belong here. */
static int next_state(struct chunked *c, char byte)
{
	switch ((enum state)c->state) {
	case SIZE:
		return after_size(c, byte);
	case BLANK:
		if (byte == ';')
			return EXTENSION;
		return byte == ' ' || byte == '\t' ? BLANK : -1;
	case EXTENSION:
		if (byte == '\r')
			return SIZE_LF;
		return is_text(byte) ? EXTENSION : -1;
	case SIZE_LF:
		return byte == '\n' ? begin_chunk(c) : -1;
	case DATA_CR:
		return byte == '\r' ? DATA_LF : -1;
	case DATA_LF:
		return byte == '\n' ? SIZE : -1;
	case TRAILER_START:
		if (byte == '\r')
			return END_LF;
		return is_text(byte) && byte != ' ' && byte != '\t' ? TRAILER : -1;
	case TRAILER:
		if (byte == '\r')
			return TRAILER_LF;
		return is_text(byte) ? TRAILER : -1;
	case TRAILER_LF:
		return byte == '\n' ? TRAILER_START : -1;
	case END_LF:
		c->complete = byte == '\n';
		return c->complete ? END_LF : -1;
	case DATA:
		break;
	}
	return -1;
}

/* True: it was one more digit of a size. One above the limit needs no more of them. */
static bool read_digit(struct chunked *c, char byte, int64_t max_body)
{
	int digit = c->state == SIZE ? hex_digit(byte) : -1;

	if (digit < 0)
		return false;
	c->left = c->has_digit ? c->left : 0;
	if (c->left <= max_body)
		c->left = c->left * 16 + digit;
	c->has_digit = true;
	return true;
}

static int read_framing(struct chunked *c, char byte, int64_t max_body, const char **ret_detail)
{
	if (read_digit(c, byte, max_body)) {
		*ret_detail = "The body is longer than this server takes (--max-body).";
		if (c->len + c->left > max_body)
			return 413;
		c->extra += c->left == 0;
	} else {
		int next = next_state(c, byte);
		*ret_detail = "The chunks of the body are malformed.";
		if (next < 0)
			return 400;
		c->state = next;
		c->extra += next == BLANK || next == EXTENSION || next == TRAILER;
	}
	*ret_detail = "There is too much between the chunks of the body.";
	return c->extra > MAX_EXTRA ? 400 : 0;
}

static size_t read_data(struct chunked *c, char *to, const char *from, size_t len)
{
	size_t n = (uint64_t)c->left < len ? (size_t)c->left : len;

	memmove(to, from, n);
	c->left -= (int64_t)n;
	if (c->left == 0)
		c->state = DATA_CR;
	return n;
}

int chunked_read(struct chunked *c, char *bytes, size_t len, int64_t max_body, size_t *ret_used,
    size_t *ret_data, const char **ret_detail)
{
	const char *detail;
	size_t used = 0, data = 0;

	while (used < len && !c->complete) {
		if (c->state == DATA) {
			size_t n = read_data(c, bytes + data, bytes + used, len - used);
			data += n;
			used += n;
			continue;
		}
		int status = read_framing(c, bytes[used++], max_body, &detail);
		if (status != 0) {
			*ret_detail = detail;
			return status;
		}
	}
	*ret_used = used;
	*ret_data = data;
	return 0;
}
