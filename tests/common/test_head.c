#include "common/head.h"

#include "tests/support/check.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BODY = 1000 };

/* The verdict must not depend on the pieces in which the bytes come. */
static int read_bytes(const char *bytes, size_t len, struct head *ret)
{
	struct head piecemeal = {0};
	const char *detail = NULL, *again;
	int status, status_again = 0;

	*ret = (struct head){0};
	status = head_read(ret, bytes, len, MAX_BODY, &detail);
	for (size_t n = 1; n <= len && status_again == 0; n++)
		status_again = head_read(&piecemeal, bytes, n, MAX_BODY, &again);
	CHECK_INT(status_again, status);
	CHECK_INT(piecemeal.len, ret->len);
	CHECK((status == 0) == (detail == NULL));
	CHECK(status != 0 || ret->complete);
	return status;
}

/* A POST with these header lines. */
static int post(const char *lines, struct head *ret)
{
	char *text = text_format("POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\n%s\r\n", lines);
	int status = read_bytes(text, strlen(text), ret);

	free(text);
	return status;
}

static int line(const char *request_line)
{
	struct head head;
	char *text = text_format("%s\r\nHost: x\r\n\r\n", request_line);
	int status = read_bytes(text, strlen(text), &head);

	free(text);
	return status;
}

static void the_length_of_the_body(void)
{
	struct head head;

	CHECK_INT(post("Content-Length: 0\r\n", &head), 0);
	CHECK_INT(head.content_length, 0);
	CHECK_INT(post("content-length:1000 \r\n", &head), 0);
	CHECK_INT(head.content_length, 1000);
	CHECK_INT(head.chunked, false);
	CHECK_INT(post("Transfer-Encoding: chunked\r\n", &head), 0);
	CHECK_INT(head.has_length, false);
	CHECK_INT(head.chunked, true);
}

static void too_long_is_413(void)
{
	struct head head;

	CHECK_INT(post("Content-Length: 1001\r\n", &head), 413);
	CHECK_INT(post("Content-Length: 5242880\r\nExpect: 100-continue\r\n", &head), 413);
	CHECK_INT(post("Content-Length: 99999999999999999999999999\r\n", &head), 413);
}

static void no_length_is_411(void)
{
	struct head head;

	CHECK_INT(post("", &head), 411);
}

static void two_readers_must_agree(void)
{
	static const char *const bad[] = {
	    "Content-Length: 1\r\nContent-Length: 1\r\n",
	    "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n",
	    "Content-Length: +1\r\n",
	    "Content-Length: 0x1\r\n",
	    "Content-Length: 1, 1\r\n",
	    "Content-Length:\r\n",
	    "Content-Length : 1\r\n",
	    "Content-Length: 1\r\nX: a\r\n b\r\n",
	    "Content-Length: 1\r\nX: a\nY: b\r\n",
	    "Content-Length: 1\r\nX: a\rb\r\n",
	    "Content-Length: 1\r\nno colon\r\n",
	    "Content-Length: 1\r\n: no name\r\n",
	};
	struct head head;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(post(bad[i], &head), 400);
	CHECK_INT(post("Transfer-Encoding: gzip, chunked\r\n", &head), 501);
	CHECK_INT(post("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", &head), 501);
	CHECK_INT(line("POST / HTTP/1.0"), 411);
}

static void a_nul_is_not_text(void)
{
	static const char bytes[] = "GET / HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n";
	struct head head;

	CHECK_INT(read_bytes(bytes, sizeof(bytes) - 1, &head), 400);
}

static void request_lines(void)
{
	CHECK_INT(line("GET / HTTP/1.1"), 0);
	CHECK_INT(line("GET /a?b=%20 HTTP/1.0"), 0);
	CHECK_INT(line("GET http://host/a HTTP/1.1"), 0);
	CHECK_INT(line("GET https://host.example:8080?a HTTP/1.1"), 0);
	CHECK_INT(line("GET http://[::1]:80/a HTTP/1.1"), 0);
	CHECK_INT(line("HEAD / HTTP/1.1"), 0);
	CHECK_INT(line("GET a HTTP/1.1"), 400);
	CHECK_INT(line("GET  / HTTP/1.1"), 400);
	CHECK_INT(line("GET / HTTP/1.1 "), 400);
	CHECK_INT(line("GET /"), 400);
	CHECK_INT(line(""), 400);
	CHECK_INT(line("GET / http/1.1"), 400);
	CHECK_INT(line("GET / HTTP/2.0"), 505);
	CHECK_INT(line("CONNECT host:1 HTTP/1.1"), 501);
	CHECK_INT(line("CONNECT /x HTTP/1.1"), 501);
	CHECK_INT(line("get / HTTP/1.1"), 501);
}

static void targets_that_are_read_in_two_ways(void)
{
	static const char *const bad[] = {"//evil/webhooks/stripe", "/\xff", "/a#b", "http://",
	    "http:///a", "http://a:b/", "http://a:1:2/", "http://u@a/", "http://a:/",
	    "http://[::1/", "http://[::::]/", "http://[]", "http://::1/", "http://\xff/",
	    "http://a\\b/"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *text = text_format("GET %s HTTP/1.1", bad[i]);
		CHECK_INT(line(text), 400);
		free(text);
	}
}

static void what_has_no_body(void)
{
	static const char text[] = "GET / HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n";
	struct head head;

	CHECK_INT(read_bytes(text, sizeof(text) - 1, &head), 400);
}

static void expectations(void)
{
	struct head head;

	CHECK_INT(post("Content-Length: 9\r\nExpect: 100-Continue\r\n", &head), 0);
	CHECK_INT(post("Content-Length: 9\r\nExpect: coffee\r\n", &head), 417);
}

static char *written(const char *request)
{
	struct head head;
	char *text = calloc(1, strlen(request) + 1);

	CHECK_INT(read_bytes(request, strlen(request), &head), 0);
	CHECK(head_write(&head, request, text) <= head.len);
	return text;
}

static void what_evhttp_is_given(void)
{
	char *text = written("\r\nPOST http://h:1?q HTTP/1.1\r\nHost: x\r\nA: b \r\n"
			     "transfer-encoding: chunked\r\nExpect: 100-continue\r\n"
			     "Trailer: A\r\nProxy-Connection: close\r\n\r\n");

	CHECK_STR(text, "POST /?q HTTP/1.1\r\nHost: x\r\nA: b \r\n");
	free(text);
	text = written("POST /a?b HTTP/1.0\r\nContent-Length: 007\r\n\r\n");
	CHECK_STR(text, "POST /a?b HTTP/1.0\r\n");
	free(text);
}

/* A POST with so many header lines, Host among them. */
static int post_lines(int n)
{
	char lines[2000];
	struct head head;
	int at = snprintf(lines, sizeof(lines), "Content-Length: 1\r\n");

	for (int i = 2; i < n; i++)
		at += snprintf(lines + at, sizeof(lines) - (size_t)at, "a: b\r\n");
	return post(lines, &head);
}

static void many_lines_are_431(void)
{
	CHECK_INT(post_lines(127), 0);
	CHECK_INT(post_lines(128), 431);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"the length of the body", the_length_of_the_body},
	    {"B28 too long is 413", too_long_is_413},
	    {"no length is 411", no_length_is_411},
	    {"two readers must agree", two_readers_must_agree},
	    {"a NUL is not text", a_nul_is_not_text},
	    {"request lines", request_lines},
	    {"targets that are read in two ways", targets_that_are_read_in_two_ways},
	    {"what has no body", what_has_no_body},
	    {"expectations", expectations},
	    {"what evhttp is given", what_evhttp_is_given},
	    {"many lines are 431", many_lines_are_431},
	    {NULL, NULL},
	};

	return check_main("common head", checks, argc, argv);
}
