/*
 * Raw requests that no server may take: what is answered, and that nothing is stored, of them or of
 * what follows on the connection.  The section numbers are those of RFC 9112 where no RFC is named.
 */
#include "tests/producer/deliver.h"
#include "tests/producer/raw.h"
#include "tests/producer/stage.h"
#include "tests/support/check.h"
#include "tests/support/pause.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world *world;
static const char *url;

static const struct raw refused[] = {
    /* 6.3: how long is the body? */
    {PLAIN(WHOLE WHOLE), 400},
    {PLAIN(WHOLE "Content-Length: 0\r\n"), 400},
    {PLAIN("Content-Length: $L, $L\r\n"), 400},
    {PLAIN("Content-Length: $L $L\r\n"), 400},
    {PLAIN("Content-Length: +$L\r\n"), 400},
    {PLAIN("Content-Length: -$L\r\n"), 400},
    {PLAIN("Content-Length: 0x$X\r\n"), 400},
    {PLAIN("Content-Length: $L;\r\n"), 400},
    {PLAIN("Content-Length: 1e3\r\n"), 400},
    {PLAIN("Content-Length: \"$L\"\r\n"), 400},
    {PLAIN("Content-Length: $L$0\r\n"), 400},
    {PLAIN("Content-Length: \r\n"), 400},
    {PLAIN("Content-Length: 18446744073709551616\r\n"), 413},
    {PLAIN(""), 411},
    {PLAIN(WHOLE "Transfer-Encoding: chunked\r\n"), 400},
    {"$P$STransfer-Encoding: chunked\r\n" WHOLE "\r\n$X\r\n$E\r\n0\r\n\r\n", 400},
    {PLAIN(WHOLE "Transfer-Encoding: identity\r\n"), 501},
    /* 6.1: something like chunked */
    {PLAIN("Transfer-Encoding: gzip, chunked\r\n"), 501},
    {PLAIN("Transfer-Encoding: chunked, chunked\r\n"), 501},
    {PLAIN("Transfer-Encoding: chunked, identity\r\n"), 501},
    {PLAIN("Transfer-Encoding: chunked,\r\n"), 501},
    {PLAIN("Transfer-Encoding: ,chunked\r\n"), 501},
    {PLAIN("Transfer-Encoding: xchunked\r\n"), 501},
    {PLAIN("Transfer-Encoding: chunked;a=b\r\n"), 501},
    {PLAIN("Transfer-Encoding: \"chunked\"\r\n"), 501},
    {PLAIN("Transfer-Encoding: 'chunked'\r\n"), 501},
    {PLAIN("Transfer-Encoding: \xef\xbb\xbf"
	   "chunked\r\n"),
	501},
    {PLAIN("Transfer-Encoding: \r\n"), 501},
    {PLAIN("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n"), 501},
    {PLAIN("Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n"), 501},
    {PLAIN("Transfer-Encoding:\x0b"
	   "chunked\r\n"),
	400},
    {PLAIN("Transfer-Encoding: chunked$0\r\n"), 400},
    {PLAIN("Transfer-Encoding:\r\n chunked\r\n"), 501},
    {"POST /webhooks/stripe HTTP/1.0\r\n$STransfer-Encoding: chunked\r\n\r\n$X\r\n$E\r\n0\r\n\r\n",
	400},
    /* 5: field lines */
    {PLAIN("Content-Length : $L\r\n"), 400},
    {PLAIN("Content-Length\t: $L\r\n"), 400},
    {PLAIN("Transfer-Encoding : chunked\r\n"), 400},
    {PLAIN("Transfer-Encoding$0: chunked\r\n"), 400},
    {PLAIN(" " WHOLE), 400},
    {PLAIN(WHOLE "X: a\r\n b\r\n"), 400},
    {PLAIN(WHOLE "X: a\r\n\tb\r\n"), 400},
    {PLAIN(WHOLE "no colon\r\n"), 400},
    {PLAIN(WHOLE ": no name\r\n"), 400},
    {PLAIN(WHOLE "a b: c\r\n"), 400},
    {PLAIN(WHOLE "a\xe4: c\r\n"), 400},
    {PLAIN(WHOLE "X: a\x01\r\n"), 400},
    {PLAIN(WHOLE "X: a\x7f\r\n"), 400},
    {PLAIN(WHOLE "X: a$0b\r\n"), 400},
    {PLAIN(WHOLE "$0: a\r\n"), 400},
    {PLAIN(WHOLE "X: \x1b[2J\r\n"), 400},
    /* 2.2: the ends of lines */
    {PLAIN("X: a\n" WHOLE), 400},
    {PLAIN("X: a\r" WHOLE), 400},
    {PLAIN("X: a\r\r\n" WHOLE), 400},
    {"POST /webhooks/stripe HTTP/1.1\nHost: x\nContent-Length: 0\n\n", 400},
    {"$P$S" WHOLE "\n$E", 400},
    {"\n" PLAIN(WHOLE), 400},
    {"\r\n\r\n" PLAIN(WHOLE), 400},
    /* 3.2: Host */
    {"POST /webhooks/stripe HTTP/1.1\r\n$S" WHOLE "\r\n$E", 400},
    {PLAIN(WHOLE "Host: x\r\n"), 400},
    {"POST /webhooks/stripe HTTP/1.1\r\nHost: a b\r\n$S" WHOLE "\r\n$E", 400},
    {"POST /webhooks/stripe HTTP/1.1\r\nHost: a,b\r\n$S" WHOLE "\r\n$E", 400},
    {"POST /webhooks/stripe HTTP/1.1\r\nHost: u@a\r\n$S" WHOLE "\r\n$E", 400},
    {"POST /webhooks/stripe HTTP/1.1\r\nHost: a/b\r\n$S" WHOLE "\r\n$E", 400},
    /* 3: the request line */
    {"POST  /webhooks/stripe HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {"POST /webhooks/stripe  HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {"POST\t/webhooks/stripe HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {"POST /webhooks/stripe HTTP/1.1 \r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {"POST /webhooks/stripe x HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {"POST /webhooks/stripe$0 HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {"POST /webhooks/stripe\x01 HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {"POST /webhooks/stripe\xe4 HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {"POST /webhooks/stripe#a HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {"POST //x/webhooks/stripe HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {"POST webhooks/stripe HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {"POST http:///webhooks/stripe HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {"POST http://x//webhooks/stripe HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {"POST ftp://x/webhooks/stripe HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {"POST x:80 HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {"POST * HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 400},
    {"POST$0 /webhooks/stripe HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {" POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {"post /webhooks/stripe HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 501},
    {"POSTS /webhooks/stripe HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 501},
    {"TRACE / HTTP/1.1\r\nHost: x\r\n\r\n", 501},
    {"CONNECT x:443 HTTP/1.1\r\nHost: x:443\r\n\r\n", 501},
    /* 2.3: the version */
    {"POST /webhooks/stripe HTTP/1.2\r\nHost: x\r\n$S" WHOLE "\r\n$E", 505},
    {"POST /webhooks/stripe HTTP/0.9\r\nHost: x\r\n$S" WHOLE "\r\n$E", 505},
    {"POST /webhooks/stripe HTTP/2.0\r\nHost: x\r\n$S" WHOLE "\r\n$E", 505},
    {"POST /webhooks/stripe HTTP/1.10\r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {"POST /webhooks/stripe http/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 400},
    {"GET /\r\n", 400},
    {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505}, /* RFC 9113, 3.4 */
    /* Other protocols: TLS (RFC 8446, 5.1), SSH, a PROXY header */
    {"\x16\x03\x01\x02$0\x01$0\x01\xfc\x03\x03", 400},
    {"SSH-2.0-OpenSSH_9.2\r\n", 400},
    {"PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\n" PLAIN(WHOLE), 400},
    /* RFC 9110, 9.3.1 */
    {"GET /webhooks/stripe HTTP/1.1\r\nHost: x\r\n" WHOLE "\r\n$E", 400},
    {"HEAD /webhooks/stripe HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
	400},
    {PLAIN(WHOLE "Expect: 200-ok\r\n"), 417},
    /* Floods */
    {PLAIN(WHOLE "X: $F\r\n"), 431},
    {PLAIN(WHOLE "X$F: a\r\n"), 431},
    {"POST /webhooks/stripe?$F HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 414},
    {"$F", 414},
    /* 7.1: chunks */
    {CHUNKED "+$X\r\n$E\r\n0\r\n\r\n", 400},
    {CHUNKED "-$X\r\n$E\r\n0\r\n\r\n", 400},
    {CHUNKED "0x$X\r\n$E\r\n0\r\n\r\n", 400},
    {CHUNKED " $X\r\n$E\r\n0\r\n\r\n", 400},
    {CHUNKED "$X \r\n$E\r\n0\r\n\r\n", 400},
    {CHUNKED "$X 0\r\n$E\r\n0\r\n\r\n", 400},
    {CHUNKED "$X,\r\n$E\r\n0\r\n\r\n", 400},
    {CHUNKED "\r\n$X\r\n$E\r\n0\r\n\r\n", 400},
    {CHUNKED ";a\r\n$E\r\n0\r\n\r\n", 400},
    {CHUNKED "$0$X\r\n$E\r\n0\r\n\r\n", 400},
    {CHUNKED "$X\n$E\r\n0\r\n\r\n", 400},
    {CHUNKED "$X\r$E\r\n0\r\n\r\n", 400},
    {CHUNKED "$X\r\n$E\n0\r\n\r\n", 400},
    {CHUNKED "$X\r\n$E0\r\n\r\n", 400},
    {CHUNKED "$X\r\n$E!\r\n0\r\n\r\n", 400},
    {CHUNKED "$X\r\n$E\r\n\r\n0\r\n\r\n", 400},
    {CHUNKED "$X;a\nb\r\n$E\r\n0\r\n\r\n", 400},
    {CHUNKED "$X;a\x01\r\n$E\r\n0\r\n\r\n", 400},
    {CHUNKED "$X;$F\r\n$E\r\n0\r\n\r\n", 400},
    {CHUNKED "$X\r\n$E\r\n0\r\nX: a\n\r\n", 400},
    {CHUNKED "$X\r\n$E\r\n0\r\nX: a\r\n b\r\n\r\n", 400},
    {CHUNKED "$X\r\n$E\r\n0\r\nX: $F\r\n\r\n", 400},
    {CHUNKED "FFFFFFFFFFFFFFFF\r\n$E\r\n0\r\n\r\n", 413},
    {CHUNKED "100000000000000$X\r\n$E\r\n0\r\n\r\n", 413},
    {CHUNKED "$X\r\n$E\r\n7FFFFFFFFFFFFFFF\r\n", 413},
};

/* It ends here: the client closes its side. */
static const struct raw broken_off[] = {
    {"$P$SContent-Len", 400},
    {"$P$SContent-Length: 99999\r\n\r\n$E", 400},
    {CHUNKED "$X\r\n$E\r\n", 400},
    {CHUNKED "$X\r\n$E\r\n0\r\n", 400},
};

/* One answer and no more, readable, and the last on its connection. */
static void expect_problem(const struct raw *raw, const char *answer)
{
	char *start = text_format("HTTP/1.1 %d ", raw->status);
	char *member = text_format("\"status\":%d,", raw->status);
	bool good = strncmp(answer, start, strlen(start)) == 0 && strstr(answer, member) &&
		    text_count(answer, "HTTP/1.1 ") == 1 &&
		    strstr(answer, "\r\nConnection: close\r\n") &&
		    strstr(answer, "\r\nContent-Type: application/problem+json\r\n");

	if (!good)
		fprintf(stderr, "\n%s\nexpected %d, got %s\n", raw->bytes, raw->status, answer);
	CHECK(good);
	free(start);
	free(member);
}

/* A good request follows, which must not be taken for one. */
static void expect_refused(const struct raw *raw, size_t piece, bool end)
{
	struct bytes b = raw_expand(raw->bytes, "evt_edge_refused");
	char *hidden = deliver_request("evt_edge_hidden", "sub_edge", "");
	int64_t started = now_ms();
	char *answer;

	if (!end)
		bytes_add(&b, hidden, strlen(hidden));
	answer = raw_exchange(url, &b, piece, end);
	expect_problem(raw, answer);
	CHECK(now_ms() - started < 1500);
	free(answer);
	free(hidden);
	free(b.at);
}

static void refused_and_nothing_stored(void)
{
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		expect_refused(&refused[i], SIZE_MAX / 2, false);
		if (!strstr(refused[i].bytes, "$F"))
			expect_refused(&refused[i], 1, false);
	}
	CHECK_INT(stage_rows(world, "^evt_edge_(refused|hidden)"), 0);
}

static void b28_bodies_that_end_early(void)
{
	for (size_t i = 0; i < sizeof(broken_off) / sizeof(broken_off[0]); i++)
		expect_refused(&broken_off[i], SIZE_MAX / 2, true);
	CHECK_INT(stage_rows(world, "^evt_edge_refused"), 0);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"refused, and nothing stored", refused_and_nothing_stored},
	    {"B28 bodies that end early", b28_bodies_that_end_early},
	    {NULL, NULL},
	};
	const char *const args[] = {"--request-timeout", "3s", NULL};
	int status;

	world = world_open(1);
	url = proc_url(stage_producer(world, args));
	status = check_main("producer edge, refused", checks, argc, argv);
	world_close(world);
	return status;
}
