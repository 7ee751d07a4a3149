#include "common/chunked.h"

#include "tests/support/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BODY = 1000 };

struct result {
	int status;
	bool complete;
	size_t used;
	char body[MAX_BODY + 1];
	size_t len;
};

/* Read in pieces of this many bytes, each in memory of its own size for a sanitizer to watch. */
static struct result read_pieces(const char *bytes, size_t len, size_t piece)
{
	struct result r = {0};
	struct chunked c = {0};
	const char *detail;

	for (size_t at = 0; at < len && r.status == 0 && !c.complete; at += piece) {
		size_t n = len - at < piece ? len - at : piece, used = 0, data = 0;
		char *copy = malloc(n);

		memcpy(copy, bytes + at, n);
		r.status = chunked_read(&c, copy, n, MAX_BODY, &used, &data, &detail);
		if (r.status == 0) {
			CHECK(used == n || c.complete);
			CHECK(r.len + data <= MAX_BODY);
			memcpy(r.body + r.len, copy, data);
			r.len += data;
			r.used += used;
		}
		free(copy);
	}
	r.complete = c.complete;
	return r;
}

static struct result read_text(const char *text)
{
	size_t len = strlen(text);
	struct result whole = read_pieces(text, len, len);

	for (size_t piece = 1; piece < len && piece < 10; piece++) {
		struct result again = read_pieces(text, len, piece);
		CHECK_INT(again.status, whole.status);
		CHECK_INT(again.complete, whole.complete);
		if (whole.status == 0)
			CHECK_STR(again.body, whole.body);
	}
	return whole;
}

static void bodies(void)
{
	struct result r = read_text("3\r\nabc\r\n00A\r\n0123456789\r\n0\r\n\r\nGET /");

	CHECK(r.status == 0 && r.complete);
	CHECK_STR(r.body, "abc0123456789");
	CHECK_INT(r.used, strlen("3\r\nabc\r\n00A\r\n0123456789\r\n0\r\n\r\n"));
	r = read_text("0\r\n\r\n");
	CHECK(r.status == 0 && r.complete);
	CHECK_INT(r.len, 0);
	r = read_text("1;a=\"\r");
	CHECK(r.status == 0 && !r.complete);
	r = read_text("1 ; x\r\n\r\r\n0;y\r\nT: u\r\n\r\n");
	CHECK(r.status == 0 && r.complete);
	CHECK_STR(r.body, "\r");
}

static void as_long_as_allowed(void)
{
	static char text[2200];
	size_t at = 0;

	for (int i = 0; i < 2; i++) {
		at += (size_t)snprintf(text + at, sizeof(text) - at, "1f4\r\n");
		memset(text + at, 'x', 500);
		at += 500;
		at += (size_t)snprintf(text + at, sizeof(text) - at, "\r\n");
	}
	snprintf(text + at, sizeof(text) - at, "0\r\n\r\n");
	struct result r = read_text(text);
	CHECK(r.status == 0 && r.complete);
	CHECK_INT(r.len, 1000);
	snprintf(text + at, sizeof(text) - at, "1\r\nx\r\n0\r\n\r\n");
	CHECK_INT(read_text(text).status, 413);
}

/* Sizes that overflow a number are too long, not short. */
static void too_long(void)
{
	static const char *const sizes[] = {"3e9\r\n", "80000000\r\n", "100000001\r\n",
	    "7fffffffffffffff\r\n", "ffffffffffffffff\r\n", "10000000000000001\r\n",
	    "1\r\nx\r\nffffffffffffffff\r\n"};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		CHECK_INT(read_text(sizes[i]).status, 413);
}

static void malformed(void)
{
	static const char *const bad[] = {"x\r\n", "\r\n", ";\r\n", "+1\r\n", "-1\r\n", "0x1\r\n",
	    " 1\r\n", "1 \r\n", "1 2\r\n", "1\n", "1\rx", "1\r\nxy", "1\r\nx\n", "1\r\nx\rx",
	    "1;\n", "1;\x7f", "0\r\n\n", "0\r\n\rx", "0\r\n a: b\r\n", "0\r\na\n", "0\r\na\rb"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(read_text(bad[i]).status, 400);
}

/* Nothing that is dropped may come without end: zeros, extensions, trailers. */
static void endless(void)
{
	static const char *const starts[] = {"0", "1;", "0\r\nT:", "1 "};
	static const char filling[] = "0xx ";
	static char text[20000];

	for (size_t i = 0; i < sizeof(starts) / sizeof(starts[0]); i++) {
		size_t len = strlen(starts[i]);
		memcpy(text, starts[i], len);
		memset(text + len, filling[i], sizeof(text) - 1 - len);
		CHECK_INT(read_text(text).status, 400);
	}
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"bodies", bodies},
	    {"as long as allowed", as_long_as_allowed},
	    {"too long", too_long},
	    {"malformed", malformed},
	    {"endless", endless},
	    {NULL, NULL},
	};

	return check_main("common chunked", checks, argc, argv);
}
