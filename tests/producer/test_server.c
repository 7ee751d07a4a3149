#include "tests/producer/deliver.h"
#include "tests/producer/stage.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/http.h"
#include "tests/support/signer.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct world *world;
static struct proc *producer;
static const char *url;

static int64_t rows(const char *id)
{
	return world_int(
	    world, "SELECT count(*) FROM intake.notification WHERE notification_id = '%s'", id);
}

/* A request whose answer must be a problem document with this status. */
static void expect_problem(
    const char *method, const char *path, const char *const *headers, const char *body, int status)
{
	char *full = text_format("%s%s", url, path), *type, *member;
	struct http_answer answer;

	http_request(method, full, headers, body, body ? strlen(body) : 0, 10000, &answer);
	CHECK_INT(answer.status, status);
	type = http_header(&answer, "Content-Type");
	CHECK_STR(type, "application/problem+json");
	member = text_format("\"status\":%d,", status);
	CHECK(strstr(answer.body, member) && strstr(answer.body, "\"detail\":\""));
	free(type);
	free(member);
	free(full);
	http_answer_done(&answer);
}

static void errors_are_problem_documents(void)
{
	const char *const none[] = {NULL};
	const char *const signed_by_nobody[] = {"Stripe-Signature: t=1,v1=00", NULL};

	expect_problem("GET", "/nowhere", none, NULL, 404);
	expect_problem("POST", "/nowhere", none, "{}", 404);
	expect_problem("GET", "/webhooks/stripe", none, NULL, 405);
	expect_problem("PUT", "/webhooks/stripe", none, "{}", 405);
	expect_problem("POST", "/webhooks/stripe", none, "{}", 400);
	expect_problem("POST", "/webhooks/stripe", signed_by_nobody, "{}", 401);
	expect_problem("POST", "/webhooks/google-play", none, "{}", 401);
	expect_problem("POST", "/webhooks/app-store", none, "{}", 400);
}

static void method_not_allowed_says_what_is(void)
{
	char *full = text_format("%s/webhooks/stripe", url), *allow;
	struct http_answer answer;

	http_request("GET", full, NULL, NULL, 0, 10000, &answer);
	allow = http_header(&answer, "Allow");
	CHECK_STR(allow, "POST");
	free(allow);
	free(full);
	http_answer_done(&answer);
}

static void the_answer_to_a_notification(void)
{
	char *body;

	CHECK_INT(deliver(url, "evt_answer", "sub_answer", &body), 200);
	CHECK_STR(body, "{\"outcome\":\"accepted\"}");
	free(body);
	CHECK_INT(deliver(url, "evt_answer", "sub_answer", &body), 200);
	CHECK_STR(body, "{\"outcome\":\"duplicate\"}");
	free(body);
}

/* The raw answer to these bytes, up to the end of the connection. */
static char *exchange(const char *text)
{
	return http_raw(url, text, strlen(text), 15000, NULL);
}

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static void expect_413(const char *answer)
{
	CHECK(starts_with(answer, "HTTP/1.1 413 "));
	CHECK(strstr(answer, "\r\nConnection: close\r\n") != NULL);
	CHECK(strstr(answer, "application/problem+json") != NULL);
	CHECK(strstr(answer, "100 Continue") == NULL);
}

#define HEAD "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\n"

static void b28_content_length_too_long(void)
{
	size_t len = 5 << 20;
	char *text = text_format(HEAD "Content-Length: %zu\r\n\r\n", len), *answer;
	size_t head = strlen(text);

	answer = exchange(text); /* not a byte of the body */
	expect_413(answer);
	free(answer);
	text = realloc(text, head + len);
	memset(text + head, 'x', len);
	answer = http_raw(url, text, head + len, 15000, NULL); /* all of it */
	expect_413(answer);
	free(answer);
	free(text);
}

static void b28_chunked_too_long(void)
{
	enum { CHUNK = 65536, CHUNKS = 80 };
	static const char start[] = HEAD "Transfer-Encoding: chunked\r\n\r\n";
	char *text = malloc(sizeof(start) + (size_t)CHUNKS * (CHUNK + 16)), *at = text, *answer;

	at += sprintf(at, "%s", start);
	for (int i = 0; i < CHUNKS; i++) {
		at += sprintf(at, "%x\r\n", CHUNK);
		memset(at, 'x', CHUNK);
		at += CHUNK;
		at += sprintf(at, "\r\n");
	}
	at += sprintf(at, "0\r\n\r\n");
	answer = http_raw(url, text, (size_t)(at - text), 15000, NULL);
	expect_413(answer);
	free(answer);
	free(text);
}

static void b28_chunked_a_little_too_long(void)
{
	enum { LEN = 300000 };
	char *text = malloc(LEN + 200), *at = text, *answer;

	at +=
	    sprintf(at, HEAD "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n%x\r\n", LEN);
	memset(at, 'x', LEN);
	at += LEN;
	at += sprintf(at, "\r\n0\r\n\r\n");
	answer = http_raw(url, text, (size_t)(at - text), 15000, NULL);
	expect_413(answer);
	free(answer);
	free(text);
}

static void b28_no_continue_for_a_body_too_long(void)
{
	char *answer = exchange(HEAD "Content-Length: 5242880\r\nExpect: 100-continue\r\n\r\n");

	expect_413(answer);
	free(answer);
	answer = exchange(HEAD "Content-Length: 10\r\nExpect: 100-continue\r\n"
			       "Connection: close\r\n\r\n0123456789");
	CHECK(strstr(answer, "HTTP/1.1 400 ") != NULL);
	free(answer);
}

static void a_chunked_notification_is_taken(void)
{
	char *event = deliver_event("evt_chunked", "sub_chunked");
	char *signature = sign_stripe(SIGNER_STRIPE_SECRET, time(NULL), event, strlen(event));
	char *text = text_format(HEAD
	    "Transfer-Encoding: chunked\r\nStripe-Signature: %s\r\nConnection: close\r\n\r\n"
	    "1\r\n%.1s\r\n%zx\r\n%s\r\n0\r\n\r\n",
	    signature, event, strlen(event) - 1, event + 1);
	char *answer = exchange(text);

	CHECK(starts_with(answer, "HTTP/1.1 200 "));
	CHECK_INT(rows("evt_chunked"), 1);
	free(answer);
	free(text);
	free(signature);
	free(event);
}

static void a_head_too_long_is_431(void)
{
	char *filler = malloc(20001), *text, *answer;

	memset(filler, 'x', 20000);
	filler[20000] = '\0';
	text = text_format(HEAD "X-Filler: %s\r\nContent-Length: 0\r\n\r\n", filler);
	answer = exchange(text);
	CHECK(starts_with(answer, "HTTP/1.1 431 "));
	free(answer);
	free(text);
	free(filler);
}

static void a_bad_head_is_a_problem_document(void)
{
	char *answer = exchange("POST /webhooks/stripe HTTP/1.1\nContent-Length: 0\n\n\r\n\r\n");

	CHECK(starts_with(answer, "HTTP/1.1 400 "));
	CHECK(strstr(answer, "application/problem+json") != NULL);
	free(answer);
}

static void deciding_headers_come_once(void)
{
	char *text = deliver_request(
	    "evt_twice", "sub_twice", "Stripe-Signature: t=1,v1=00\r\nConnection: close\r\n");
	char *answer = exchange(text);

	CHECK(starts_with(answer, "HTTP/1.1 400 "));
	CHECK_INT(rows("evt_twice"), 0);
	free(answer);
	free(text);
}

static int times(const char *text, const char *what)
{
	int n = 0;

	for (; (text = strstr(text, what)); text++)
		n++;
	return n;
}

/* What is kept without being understood is told once, on one line, however often it comes. */
static void a_quarantined_one_is_logged(void)
{
	static const char event[] = "{\"id\":\"evt_odd level=error\",\"livemode\":true,"
				    "\"n\":18446744073709551616}";
	static const char line[] = "level=warn service=producer msg=\"notification quarantined\" "
				   "store=stripe notification_id=\"evt_odd level=error\" "
				   "reason=\"a number is out of range\"\n";
	char *log, *body;

	for (int i = 0; i < 3; i++) {
		CHECK_INT(post_stripe(url, event, &body), 200);
		CHECK_STR(
		    body, i == 0 ? "{\"outcome\":\"accepted\"}" : "{\"outcome\":\"duplicate\"}");
		free(body);
	}
	log = file_read(proc_log(producer), NULL);
	CHECK_INT(times(log, line), 1);
	free(log);
}

/* So many distinct ones, on one connection. */
static void ask_for_unknown_paths(int from, int n)
{
	char *requests = malloc((size_t)n * 100 + 100), *at = requests, *answers;

	for (int i = from; i < from + n; i++)
		at += sprintf(at, "GET /secret/%d HTTP/1.1\r\nHost: x\r\n%s\r\n", i,
		    i == from + n - 1 ? "Connection: close\r\n" : "");
	answers = exchange(requests);
	CHECK_INT(times(answers, "HTTP/1.1 404 "), n);
	free(answers);
	free(requests);
}

static void b60_paths_make_no_series(void)
{
	char *metrics = text_format("%s/metrics", proc_admin_url(producer));
	struct http_answer answer;
	size_t before;

	http_request("GET", metrics, NULL, NULL, 0, 5000, &answer);
	before = answer.len;
	http_answer_done(&answer);
	for (int i = 0; i < 10000; i += 100)
		ask_for_unknown_paths(i, 100);
	http_request("GET", metrics, NULL, NULL, 0, 5000, &answer);
	CHECK_INT(answer.status, 200);
	CHECK(strstr(answer.body, "/secret/") == NULL);
	CHECK(answer.len < before + 200);
	CHECK(strstr(answer.body, "umavez_refused_total{store=\"none\",reason=\"no_route\"}") !=
	      NULL);
	CHECK(strstr(answer.body, "umavez_build_info{service=\"producer\",version=\"" UMAVEZ_VERSION
				  "\"} 1\n") != NULL);
	free(metrics);
	http_answer_done(&answer);
}

static char *column(const char *name, const char *id)
{
	return world_text(
	    world, "SELECT %s FROM intake.notification WHERE notification_id = '%s'", name, id);
}

#define OUTSIDE "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"

static void post_with(const char *id, const char *more)
{
	char *lines = text_format("%sConnection: close\r\n", more);
	char *request = deliver_request(id, "sub_trace", lines), *answer = exchange(request);

	CHECK(starts_with(answer, "HTTP/1.1 200 "));
	free(answer);
	free(request);
	free(lines);
}

static void b60_a_traceparent_from_outside(void)
{
	static const char digits[] = "00-12345678901234567890123456789012-1234567890123456-01";
	static const char *const invalid[] = {
	    "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x\r\n",
	    "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01\r\n",
	    "traceparent: 00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01\r\n",
	    "traceparent: ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n",
	    "traceparent: 00-00000000000000000000000000000000-00f067aa0ba902b7-01\r\n",
	    "traceparent: " OUTSIDE "\r\ntraceparent: " OUTSIDE "\r\n",
	};
	char *text, *more;

	post_with("evt_trace", "traceparent: " OUTSIDE "\r\n");
	text = column("trace_link", "evt_trace");
	CHECK_STR(text, OUTSIDE);
	free(text);
	text = column("traceparent", "evt_trace");
	CHECK(strstr(text, "4bf92f3577b34da6a3ce929d0e0e4736") == NULL && strlen(text) == 55);
	free(text);
	more = text_format("traceparent: %s\r\n", digits);
	post_with("evt_trace_digits", more);
	text = column("trace_link", "evt_trace_digits");
	CHECK_STR(text, digits);
	free(text);
	free(more);
	for (size_t i = 0; i < sizeof(invalid) / sizeof(invalid[0]); i++) {
		char id[32];
		snprintf(id, sizeof(id), "evt_trace_%zu", i);
		post_with(id, invalid[i]);
		text = column("trace_link", id);
		CHECK(text == NULL);
	}
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"errors are problem documents", errors_are_problem_documents},
	    {"method not allowed says what is", method_not_allowed_says_what_is},
	    {"the answer to a notification", the_answer_to_a_notification},
	    {"B28 Content-Length too long", b28_content_length_too_long},
	    {"B28 chunked, too long", b28_chunked_too_long},
	    {"B28 chunked, a little too long", b28_chunked_a_little_too_long},
	    {"B28 no 100 for a body too long", b28_no_continue_for_a_body_too_long},
	    {"a chunked notification is taken", a_chunked_notification_is_taken},
	    {"a head too long is 431", a_head_too_long_is_431},
	    {"a bad head is a problem document", a_bad_head_is_a_problem_document},
	    {"deciding headers come once", deciding_headers_come_once},
	    {"a quarantined one is logged", a_quarantined_one_is_logged},
	    {"B60 paths make no series", b60_paths_make_no_series},
	    {"B60 a traceparent from outside", b60_a_traceparent_from_outside},
	    {NULL, NULL},
	};
	const char *const args[] = {"--request-timeout", "2s", NULL};
	int status;

	world = world_open(1);
	producer = stage_producer(world, args);
	url = proc_url(producer);
	status = check_main("producer server", checks, argc, argv);
	world_close(world);
	return status;
}
