/*
 * Raw requests that are odd, and right: they are stored whole, and the connection goes on. The
 * section numbers are those of RFC 9112 where no RFC is named.
 */
#include "tests/producer/raw.h"
#include "tests/producer/stage.h"
#include "tests/support/check.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world *world;
static const char *url;

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
	struct bytes b = raw_expand(raw->bytes, id);
	char *answer, *first, *second;

	bytes_add(&b, next, sizeof(next) - 1);
	answer = raw_exchange(url, &b, piece, false);
	first = behind_continue(raw, answer);
	second = strstr(first + 1, "HTTP/1.1 ");
	bool good = strncmp(first, "HTTP/1.1 200 ", 13) == 0 && second &&
		    strncmp(second, "HTTP/1.1 404 ", 13) == 0 &&
		    text_count(first, "HTTP/1.1 ") == 2;
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
	    {"taken, and read on behind it", taken_and_read_on},
	    {NULL, NULL},
	};
	const char *const args[] = {"--request-timeout", "3s", NULL};
	int status;

	world = world_open(1);
	url = proc_url(stage_producer(world, args));
	status = check_main("producer edge, taken", checks, argc, argv);
	world_close(world);
	return status;
}
