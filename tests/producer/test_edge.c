/*
 * Raw requests, as no honest client sends them: what is answered, whether the connection goes on,
 * and what is stored.  The section numbers are those of RFC 9112 where no RFC is named.
 */
#include "tests/producer/deliver.h"
#include "tests/producer/stage.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/http.h"
#include "tests/support/signer.h"
#include "tests/support/world.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct world *world;
static const char *url;

/*
 * In the bytes of a case stands
 *	$P a POST's request line and Host, $S its signature line, $E the notification,
 *	$L and $X its length, decimal and hexadecimal, $0 a NUL byte, $F 20 KiB of filling
 */
struct raw {
	const char *bytes;
	int status;
};

#define CHUNKED "$P$STransfer-Encoding: chunked\r\n\r\n"
#define PLAIN(lines) "$P$S" lines "\r\n$E"
#define WHOLE "Content-Length: $L\r\n"

static const struct raw taken[] = {
    {PLAIN(WHOLE), 200},
    {PLAIN("content-length:\t$L \t\r\n"), 200},
    {PLAIN("Content-Length: 000$L\r\n"), 200},      /* RFC 9110, 8.6: 1*DIGIT */
    {PLAIN(WHOLE "X: \xe4\xff\r\n"), 200},          /* RFC 9110, 5.5: obs-text */
    {PLAIN(WHOLE "Expect: 100-continue\r\n"), 200}, /* RFC 9110, 10.1.1: it is here already */
    {"\r\n" PLAIN(WHOLE), 200},                     /* 2.2 */
    {"POST /webhooks/stripe?a=//b HTTP/1.1\r\nHost:\r\n$S" WHOLE "\r\n$E", 200},
    /* 3.2.2 */
    {"POST http://any/webhooks/stripe HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 200},
    {"POST HTTPS://any:8443/webhooks/stripe?x HTTP/1.1\r\nHost: x\r\n$S" WHOLE "\r\n$E", 200},
    {"POST http://any/webhooks/stripe HTTP/1.1\r\nHost: x\r\nProxy-Connection: close\r\n$S" WHOLE
     "\r\n$E",
	200},
    /* 7.1 */
    {CHUNKED "$X\r\n$E\r\n0\r\n\r\n", 200},
    {CHUNKED "000$X\r\n$E\r\n000\r\n\r\n", 200},
    {"$P$Stransfer-encoding: CHUNKED\r\n\r\n$X\r\n$E\r\n0\r\n\r\n", 200},
    {CHUNKED "$X;a;b=c;d=\"e;f\"\r\n$E\r\n0;last\r\n\r\n", 200},
    {CHUNKED "$X \t; a\r\n$E\r\n0\r\n\r\n", 200},
    {CHUNKED "$X\r\n$E\r\n0\r\nX: a\r\nStripe-Signature: t=1,v1=00\r\nContent-Length: 3\r\n\r\n",
	200},
};

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

/* Bytes that grow. */
struct bytes {
	char *at;
	size_t len;
};

static void add(struct bytes *b, const char *text, size_t len)
{
	b->at = realloc(b->at, b->len + len + 1);
	if (!b->at)
		die("out of memory");
	memcpy(b->at + b->len, text, len);
	b->len += len;
	b->at[b->len] = '\0';
}

static void add_filling(struct bytes *b)
{
	for (int i = 0; i < 20; i++) {
		char kib[1024];
		memset(kib, 'f', sizeof(kib));
		add(b, kib, sizeof(kib));
	}
}

static void add_token(struct bytes *b, char token, const char *event)
{
	size_t len = strlen(event);
	char *text = NULL, *signature;

	switch (token) {
	case 'P':
		text = strdup("POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\n");
		break;
	case 'S':
		signature = sign_stripe(SIGNER_STRIPE_SECRET, time(NULL), event, len);
		text = text_format("Stripe-Signature: %s\r\n", signature);
		free(signature);
		break;
	case 'E':
		text = strdup(event);
		break;
	case 'L':
		text = text_format("%zu", len);
		break;
	case 'X':
		text = text_format("%zX", len);
		break;
	case '0':
		add(b, "", 1);
		return;
	case 'F':
		add_filling(b);
		return;
	default:
		die("no such token: %c", token);
	}
	add(b, text, strlen(text));
	free(text);
}

/* The bytes of a case, about this notification. */
static struct bytes expand(const char *text, const char *id)
{
	char *event = deliver_event(id, id);
	struct bytes b = {NULL, 0};

	for (; *text; text++) {
		if (*text == '$')
			add_token(&b, *++text, event);
		else
			add(&b, text, 1);
	}
	free(event);
	return b;
}

static int connect_here(void)
{
	const struct timeval patience = {5, 0};
	const int on = 1;
	int fd = http_connect(url);

	CHECK(fd >= 0);
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	return fd;
}

/* All that comes until the peer closes in order: a reset is a failure. */
static char *exchange(const struct bytes *b, size_t piece, bool end)
{
	struct bytes got = {NULL, 0};
	int fd = connect_here();
	char buf[4096];
	ssize_t n;

	for (size_t at = 0; at < b->len; at += piece) {
		size_t len = b->len - at < piece ? b->len - at : piece;
		CHECK(send(fd, b->at + at, len, MSG_NOSIGNAL) == (ssize_t)len);
	}
	if (end)
		CHECK(shutdown(fd, SHUT_WR) == 0);
	add(&got, "", 0);
	while ((n = recv(fd, buf, sizeof(buf), 0)) > 0)
		add(&got, buf, (size_t)n);
	CHECK_INT(n, 0);
	close(fd);
	return got.at;
}

static int count(const char *text, const char *word)
{
	int n = 0;

	for (; (text = strstr(text, word)); text++)
		n++;
	return n;
}

/* One answer and no more, readable, and the last on its connection. */
static void expect_problem(const struct raw *raw, const char *answer)
{
	char *start = text_format("HTTP/1.1 %d ", raw->status);
	char *member = text_format("\"status\":%d,", raw->status);
	bool good = strncmp(answer, start, strlen(start)) == 0 && strstr(answer, member) &&
		    count(answer, "HTTP/1.1 ") == 1 &&
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
	struct bytes b = expand(raw->bytes, "evt_edge_refused");
	char *hidden = deliver_request("evt_edge_hidden", "sub_edge", "");
	int64_t started = now_ms();
	char *answer;

	if (!end)
		add(&b, hidden, strlen(hidden));
	answer = exchange(&b, piece, end);
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

/* Who expects to be told to go on may be, unless the body came with the head. */
static char *behind_continue(const struct raw *raw, char *answer)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";

	if (strstr(raw->bytes, "100-continue") && strncmp(answer, go_on, strlen(go_on)) == 0)
		return answer + strlen(go_on);
	return answer;
}

/* What follows on the connection is read from the right place. */
static void expect_taken(const struct raw *raw, const char *id, size_t piece)
{
	static const char next[] = "GET /nowhere HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
	struct bytes b = expand(raw->bytes, id);
	char *answer, *first, *second;

	add(&b, next, sizeof(next) - 1);
	answer = exchange(&b, piece, false);
	first = behind_continue(raw, answer);
	second = strstr(first + 1, "HTTP/1.1 ");
	bool good = strncmp(first, "HTTP/1.1 200 ", 13) == 0 && second &&
		    strncmp(second, "HTTP/1.1 404 ", 13) == 0 && count(first, "HTTP/1.1 ") == 2;
	if (!good)
		fprintf(stderr, "\n%s\ngot %s\n", raw->bytes, answer);
	CHECK(good);
	CHECK_INT(stage_whole(world, id), 1);
	free(answer);
	free(b.at);
}

static void taken_and_read_on(void)
{
	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++) {
		char id[40];
		snprintf(id, sizeof(id), "evt_edge_taken_%zu_whole", i);
		expect_taken(&taken[i], id, SIZE_MAX / 2);
		snprintf(id, sizeof(id), "evt_edge_taken_%zu_bytes", i);
		expect_taken(&taken[i], id, 1);
	}
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"refused, and nothing stored", refused_and_nothing_stored},
	    {"B28 bodies that end early", b28_bodies_that_end_early},
	    {"taken, and read on behind it", taken_and_read_on},
	    {NULL, NULL},
	};
	const char *const args[] = {"--request-timeout", "3s", NULL};
	int status;

	world = world_open(1);
	url = proc_url(stage_producer(world, args));
	status = check_main("producer edge", checks, argc, argv);
	world_close(world);
	return status;
}
