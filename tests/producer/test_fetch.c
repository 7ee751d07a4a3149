#include "producer/fetch.h"
#include "tests/support/check.h"
#include "tests/support/pause.h"
#include "tests/support/stub_server.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* What a callback was told. */
struct outcome {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	int calls, status;
	char *body, *cache_control, *error;
	size_t len;
};

static char *copy(const char *text)
{
	return text ? strdup(text) : NULL;
}

static void outcome_init(struct outcome *o)
{
	*o = (struct outcome){0};
	pthread_mutex_init(&o->lock, NULL);
	pthread_cond_init(&o->changed, NULL);
}

static void outcome_done(struct outcome *o)
{
	free(o->body);
	free(o->cache_control);
	free(o->error);
	pthread_mutex_destroy(&o->lock);
	pthread_cond_destroy(&o->changed);
}

static void on_answer(void *ctx, const struct fetch_answer *answer)
{
	struct outcome *o = ctx;

	pthread_mutex_lock(&o->lock);
	o->calls++;
	o->status = answer->status;
	o->len = answer->len;
	free(o->body);
	free(o->cache_control);
	free(o->error);
	o->body = copy(answer->body);
	o->cache_control = copy(answer->cache_control);
	o->error = copy(answer->error);
	pthread_cond_signal(&o->changed);
	pthread_mutex_unlock(&o->lock);
}

static void await_calls(struct outcome *o, int calls)
{
	pthread_mutex_lock(&o->lock);
	while (o->calls < calls)
		pthread_cond_wait(&o->changed, &o->lock);
	pthread_mutex_unlock(&o->lock);
}

struct bench {
	struct stub_server *server;
	struct fetcher *fetcher;
	struct outcome outcome;
};

static void bench_open(struct bench *b)
{
	struct err err = ERR_INIT;

	b->server = stub_open();
	outcome_init(&b->outcome);
	CHECK_INT(fetch_open(&b->fetcher, &err), 0);
}

static void bench_close(struct bench *b)
{
	fetch_close(b->fetcher);
	stub_close(b->server);
	outcome_done(&b->outcome);
}

static struct fetch_request request_to(const char *url)
{
	return (struct fetch_request){
	    .url = url, .secure = true, .max_bytes = 1000, .timeout_ms = 5000};
}

/* Start it and wait for the answer. */
static void fetch(struct bench *b, const struct fetch_request *request)
{
	struct err err = ERR_INIT;
	int calls = b->outcome.calls;

	CHECK_INT(fetch_start(b->fetcher, request, on_answer, &b->outcome, &err), 0);
	await_calls(&b->outcome, calls + 1);
}

static void test_get(void)
{
	struct bench b;
	struct fetch_request request;
	char *sent;

	bench_open(&b);
	stub_answer(b.server, 200,
	    "Cache-Control: public, max-age=7\r\ncache-control:  must-revalidate \r\n", "ke\0ys",
	    5);
	request = request_to(stub_url(b.server));
	fetch(&b, &request);
	CHECK_INT(b.outcome.status, 200);
	CHECK_INT(b.outcome.len, 5);
	CHECK_STR(b.outcome.body, "ke");
	CHECK_STR(b.outcome.cache_control, "public, max-age=7, must-revalidate");
	CHECK_STR(b.outcome.error, NULL);
	sent = stub_last_request(b.server);
	CHECK(strncmp(sent, "GET /x HTTP/1.1\r\n", 17) == 0);
	free(sent);
	bench_close(&b);
}

static void test_post(void)
{
	struct bench b;
	struct fetch_request request;
	char *sent;

	bench_open(&b);
	stub_answer(b.server, 200, "", "", 0);
	request = request_to(stub_url(b.server));
	request.body = "question";
	request.len = 8;
	request.content_type = "application/ocsp-request";
	fetch(&b, &request);
	CHECK_INT(b.outcome.status, 200);
	CHECK_STR(b.outcome.body, "");
	CHECK_STR(b.outcome.cache_control, NULL);
	sent = stub_last_request(b.server);
	CHECK(strncmp(sent, "POST ", 5) == 0);
	CHECK(strstr(sent, "Content-Type: application/ocsp-request\r\n") != NULL);
	CHECK(strstr(sent, "\r\n\r\nquestion") != NULL);
	free(sent);
	bench_close(&b);
}

static void test_no_redirects(void)
{
	struct bench b;
	struct fetch_request request;

	bench_open(&b);
	stub_answer(b.server, 302, "Location: /elsewhere\r\n", "", 0);
	request = request_to(stub_url(b.server));
	fetch(&b, &request);
	CHECK_INT(b.outcome.status, 302);
	CHECK_INT(stub_hits(b.server), 1);
	bench_close(&b);
}

static void test_limits(void)
{
	static const char body[1001];
	struct bench b;
	struct fetch_request request;
	int64_t begin = now_ms();

	bench_open(&b);
	request = request_to(stub_url(b.server));
	stub_answer(b.server, 200, "", body, 1000);
	fetch(&b, &request);
	CHECK_INT(b.outcome.status, 200);
	CHECK_INT(b.outcome.len, 1000);
	stub_answer(b.server, 200, "", body, 1001);
	fetch(&b, &request);
	CHECK_INT(b.outcome.status, 0);
	CHECK_STR(b.outcome.error, "the answer is too long");

	stub_answer(b.server, 0, "", "", 0);
	request.timeout_ms = 200;
	fetch(&b, &request);
	CHECK_INT(b.outcome.status, 0);
	CHECK(b.outcome.error != NULL);
	CHECK(now_ms() - begin < 3000);
	bench_close(&b);
}

static void test_broken(void)
{
	struct bench b;
	struct fetch_request request;

	bench_open(&b);
	stub_answer(b.server, -1, "", "", 0);
	request = request_to(stub_url(b.server));
	fetch(&b, &request);
	CHECK_INT(b.outcome.status, 0);
	CHECK(b.outcome.error != NULL);
	request.url = "http://127.0.0.1:1/";
	fetch(&b, &request);
	CHECK_INT(b.outcome.status, 0);
	bench_close(&b);
}

/* A slow one does not hold up the others, and the number of them all is bounded. */
static void test_many(void)
{
	struct bench b;
	struct outcome slow;
	struct fetch_request request;
	struct err err = ERR_INIT;

	bench_open(&b);
	outcome_init(&slow);
	stub_answer(b.server, 0, "", "", 0);
	request = request_to(stub_url(b.server));
	request.timeout_ms = 60000;
	for (int i = 1; i < FETCH_MAX_REQUESTS; i++)
		CHECK_INT(fetch_start(b.fetcher, &request, on_answer, &slow, &err), 0);
	while (stub_hits(b.server) < FETCH_MAX_REQUESTS - 1)
		sleep_ms(2);
	stub_answer(b.server, 200, "", "", 0);
	fetch(&b, &request);
	CHECK_INT(b.outcome.status, 200);

	stub_answer(b.server, 0, "", "", 0);
	CHECK_INT(fetch_start(b.fetcher, &request, on_answer, &slow, &err), 0);
	CHECK_INT(fetch_start(b.fetcher, &request, on_answer, &slow, &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK_INT(slow.calls, 0);
	fetch_close(b.fetcher);
	CHECK_INT(slow.calls, FETCH_MAX_REQUESTS);
	CHECK_INT(slow.status, 0);
	CHECK(slow.error != NULL);
	b.fetcher = NULL;
	bench_close(&b);
	outcome_done(&slow);
}

static void expect_url(const char *url, bool secure, const char *message)
{
	struct err err = ERR_INIT;

	CHECK_INT(fetch_check_url(url, secure, &err), message ? -1 : 0);
	if (message) {
		CHECK_INT(err.kind, ERR_REJECT);
		CHECK(strstr(err.message, message) != NULL);
	}
}

static void test_urls(void)
{
	expect_url("https://www.googleapis.com/oauth2/v3/certs", true, NULL);
	expect_url("http://ocsp.apple.com/x", false, NULL);
	expect_url("http://localhost:1/x", true, NULL);
	expect_url("http://127.9.9.9/x", true, NULL);
	expect_url("http://[::1]:80/x", true, NULL);
	expect_url("http://www.googleapis.com/x", true, "https");
	expect_url("http://127.0.0.1.example.com/x", true, "https");
	expect_url("http://localhost.example.com/x", true, "https");
	expect_url("http://127.0.0.1@example.com/x", true, "https");
	expect_url("http://[::2]/x", true, "https");
	expect_url("http://128.0.0.1/x", true, "https");
	expect_url("file:///etc/passwd", false, "neither");
	expect_url("ftp://127.0.0.1/x", false, "neither");
	expect_url("nonsense", false, "not a URL");
	expect_url("", false, "not a URL");
}

static void test_refused_start(void)
{
	struct bench b;
	struct fetch_request request = request_to("http://example.com/");
	struct err err = ERR_INIT;

	bench_open(&b);
	CHECK_INT(fetch_start(b.fetcher, &request, on_answer, &b.outcome, &err), -1);
	CHECK_INT(err.kind, ERR_REJECT);
	bench_close(&b);
	CHECK_INT(b.outcome.calls, 0);
	fetch_close(NULL);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"GET", test_get},
	    {"POST", test_post},
	    {"redirects are not followed", test_no_redirects},
	    {"length and time are limited", test_limits},
	    {"a server that breaks off, or is not there", test_broken},
	    {"many at once, and no more", test_many},
	    {"secure is https or this machine", test_urls},
	    {"what is refused is not called back", test_refused_start},
	    {NULL, NULL},
	};

	return check_main("producer fetch", checks, argc, argv);
}
