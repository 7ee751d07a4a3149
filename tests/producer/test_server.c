#include "tests/producer/deliver.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/http.h"
#include "tests/support/signer.h"
#include "tests/support/world.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

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

static int connect_to_producer(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)strtol(strrchr(url, ':') + 1, NULL, 10)),
	    .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(fd >= 0);
	CHECK(connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0);
	return fd;
}

static void send_all(int fd, const char *text)
{
	size_t len = strlen(text);

	CHECK(send(fd, text, len, MSG_NOSIGNAL) == (ssize_t)len);
}

/* What has come when `want` answers are there, or the peer has closed. */
static char *read_answers(int fd, int want)
{
	char *text = calloc(1, 65536);
	size_t len = 0;
	ssize_t n = 1;
	int seen = 0;

	while (seen < want && n > 0) {
		struct pollfd p = {fd, POLLIN, 0};
		CHECK(poll(&p, 1, 15000) == 1);
		n = recv(fd, text + len, 65535 - len, 0);
		len += n > 0 ? (size_t)n : 0;
		text[len] = '\0';
		seen = 0;
		for (const char *at = text; (at = strstr(at, "\"}")); at++)
			seen++;
	}
	return text;
}

static int count(const char *text, const char *word)
{
	int n = 0;

	for (; (text = strstr(text, word)); text++)
		n++;
	return n;
}

static void b31_two_posts_in_one_write(void)
{
	char *first = deliver_request("evt_pipe_1", "sub_pipe", "");
	char *second = deliver_request("evt_pipe_2", "sub_pipe", "");
	char *third = deliver_request("evt_pipe_1", "sub_pipe", "");
	char *all = text_format("%s%s%s", first, second, third), *answers;
	int fd = connect_to_producer();

	send_all(fd, all);
	answers = read_answers(fd, 3);
	CHECK_INT(count(answers, "HTTP/1.1 200 "), 3);
	CHECK(strstr(strstr(answers, "accepted"), "duplicate") != NULL);
	CHECK_INT(rows("evt_pipe_1") + rows("evt_pipe_2"), 2);
	close(fd);
	free(answers);
	free(all);
	free(first);
	free(second);
	free(third);
}

/* Cut at every place, also inside the second head: the gate must judge the same. */
static void pipelined_bytes_in_any_pieces(void)
{
	char *first = deliver_request("evt_cut", "sub_cut", "");
	char *second = deliver_request("evt_cut", "sub_cut", "X-Second: 1\r\n");
	char *all = text_format("%s%s", first, second);
	size_t len = strlen(all), from = strlen(first);

	for (size_t cut = from - 2; cut < from + 60; cut += 7) {
		int fd = connect_to_producer();
		char *answers;

		CHECK(send(fd, all, cut, 0) == (ssize_t)cut);
		if (cut >= from) {
			answers = read_answers(fd, 1);
			CHECK_INT(count(answers, "HTTP/1.1 200 "), 1);
			free(answers);
		}
		CHECK(send(fd, all + cut, len - cut, 0) == (ssize_t)(len - cut));
		answers = read_answers(fd, cut >= from ? 1 : 2);
		CHECK_INT(count(answers, "HTTP/1.1 200 "), cut >= from ? 1 : 2);
		free(answers);
		close(fd);
	}
	free(all);
	free(first);
	free(second);
}

static void a_client_that_stops_sending_is_answered(void)
{
	char *request = deliver_request("evt_half", "sub_half", ""), *answer;
	int fd = connect_to_producer();

	send_all(fd, request);
	CHECK(shutdown(fd, SHUT_WR) == 0);
	answer = read_answers(fd, 1);
	CHECK(starts_with(answer, "HTTP/1.1 200 "));
	close(fd);
	free(answer);
	free(request);
}

static void close_with_reset(int fd)
{
	const struct linger now = {1, 0};

	setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now));
	close(fd);
}

static void b31_clients_vanish_while_the_database_works(void)
{
	enum { CLIENTS = 300 };
	PGconn *locker = world_pg(world);

	CHECK_INT(deliver(url, "evt_gone", "sub_gone", NULL), 200);
	PQclear(PQexec(locker, "BEGIN; SELECT 1 FROM intake.purchase"
			       " WHERE store_purchase_id = 'sub_gone' FOR UPDATE"));
	for (int i = 0; i < CLIENTS; i++) {
		char id[32];
		int fd = connect_to_producer();

		snprintf(id, sizeof(id), "evt_gone_%d", i);
		char *request = deliver_request(id, i % 3 ? "sub_other" : "sub_gone", "");
		send_all(fd, request);
		if (i % 3 == 2)
			send_all(fd, request); /* pipelined, never to be answered */
		if (i % 2)
			close_with_reset(fd);
		else
			close(fd);
		free(request);
	}
	PQclear(PQexec(locker, "COMMIT"));
	PQfinish(locker);
	/* A reset may overtake the request itself; what was closed in order was received. */
	CHECK(world_await_int(world, CLIENTS / 2, 20000,
	    "SELECT count(*) FROM intake.notification WHERE notification_id ~ "
	    "'^evt_gone_[0-9]*[02468]$'"));
	CHECK(proc_alive(producer));
	CHECK_INT(deliver(url, "evt_gone_0", "sub_gone", NULL), 200);
}

/* Each connection sends one byte more now and then, and is dropped in the end. */
static void b28_slow_clients_block_nobody(void)
{
	enum { SLOW = 1000 };
	static int fds[SLOW];
	struct rlimit files = {0, 0};
	int64_t started = now_ms(), longest = 0;
	int dropped = 0;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	for (int i = 0; i < SLOW; i++) {
		fds[i] = connect_to_producer();
		send_all(fds[i], "P");
	}
	for (int round = 0; now_ms() - started < 3500; round++) {
		char id[32];
		int64_t before = now_ms();

		snprintf(id, sizeof(id), "evt_slow_%d", round);
		CHECK_INT(deliver(url, id, "sub_slow", NULL), 200);
		if (now_ms() - before > longest)
			longest = now_ms() - before;
		for (int i = round % 10; i < SLOW; i += 10)
			(void)!send(fds[i], "O", 1, MSG_NOSIGNAL);
		sleep_ms(50);
	}
	for (int i = 0; i < SLOW; i++) {
		struct pollfd p = {fds[i], POLLIN, 0};
		dropped += poll(&p, 1, 5000) == 1;
		close(fds[i]);
	}
	CHECK(longest < 1000);
	CHECK_INT(dropped, SLOW);
}

static void b28_a_body_that_does_not_come(void)
{
	int64_t started = now_ms();
	char *answer = exchange(HEAD "Content-Length: 100\r\n\r\n0123456789");

	CHECK(starts_with(answer, "HTTP/1.1 408 "));
	CHECK(now_ms() - started >= 1500 && now_ms() - started < 6000);
	free(answer);
}

static void b60_paths_make_no_series(void)
{
	char *metrics = text_format("%s/metrics", proc_admin_url(producer));
	struct http_answer answer;
	size_t before;

	http_request("GET", metrics, NULL, NULL, 0, 5000, &answer);
	before = answer.len;
	http_answer_done(&answer);
	for (int i = 0; i < 100; i++) {
		char *path = text_format("/secret/%d", i);
		expect_problem("POST", path, NULL, "{}", 404);
		free(path);
	}
	http_request("GET", metrics, NULL, NULL, 0, 5000, &answer);
	CHECK_INT(answer.status, 200);
	CHECK(strstr(answer.body, "/secret/") == NULL);
	CHECK(answer.len < before + 200);
	CHECK(strstr(answer.body, "umavez_refused_total{store=\"none\",reason=\"no_route\"}") !=
	      NULL);
	CHECK(strstr(answer.body, "umavez_build_info{") != NULL);
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
	static const char *const invalid[] = {
	    "traceparent: 00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01\r\n",
	    "traceparent: ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n",
	    "traceparent: 00-00000000000000000000000000000000-00f067aa0ba902b7-01\r\n",
	    "traceparent: " OUTSIDE "\r\ntraceparent: " OUTSIDE "\r\n",
	};
	char *text;

	post_with("evt_trace", "traceparent: " OUTSIDE "\r\n");
	text = column("trace_link", "evt_trace");
	CHECK_STR(text, OUTSIDE);
	free(text);
	text = column("traceparent", "evt_trace");
	CHECK(strstr(text, "4bf92f3577b34da6a3ce929d0e0e4736") == NULL && strlen(text) == 55);
	free(text);
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
	    {"B31 two posts in one write", b31_two_posts_in_one_write},
	    {"pipelined bytes in any pieces", pipelined_bytes_in_any_pieces},
	    {"a client that stops sending is answered", a_client_that_stops_sending_is_answered},
	    {"B31 clients vanish while the database works",
		b31_clients_vanish_while_the_database_works},
	    {"B28 slow clients block nobody", b28_slow_clients_block_nobody},
	    {"B28 a body that does not come", b28_a_body_that_does_not_come},
	    {"B60 paths make no series", b60_paths_make_no_series},
	    {"B60 a traceparent from outside", b60_a_traceparent_from_outside},
	    {NULL, NULL},
	};
	const char *const args[] = {"--request-timeout", "2s", NULL};
	int status;

	world = world_open(1);
	producer = world_producer(world, args, NULL);
	if (!proc_await_ready(producer, 10000))
		return 1;
	url = proc_url(producer);
	status = check_main("producer server", checks, argc, argv);
	world_close(world);
	return status;
}
