#include "tests/producer/deliver.h"
#include "tests/producer/stage.h"
#include "tests/support/check.h"
#include "tests/support/http.h"
#include "tests/support/pause.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

static struct world *world;
static struct proc *producer;
static const char *url;
#define HEAD "POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\n"

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

static void send_all(int fd, const char *text)
{
	size_t len = strlen(text);

	CHECK(send(fd, text, len, MSG_NOSIGNAL) == (ssize_t)len);
}

/* It sends all that it has before it reads a byte: the answer must not be lost to a reset. */
static void b28_the_answer_can_be_read_after_the_last_byte(void)
{
	static char bytes[5 << 20] = HEAD "Content-Length: 5242880\r\n\r\n";
	int fd = http_connect(url);
	size_t sent = 0;
	char answer[1000] = "";

	while (sent < sizeof(bytes)) {
		ssize_t n = send(fd, bytes + sent, sizeof(bytes) - sent, MSG_NOSIGNAL);
		CHECK(n > 0);
		sent += (size_t)n;
	}
	CHECK(recv(fd, answer, sizeof(answer) - 1, 0) > 0);
	CHECK(starts_with(answer, "HTTP/1.1 413 "));
	close(fd);
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

static void b31_two_posts_in_one_write(void)
{
	char *first = deliver_request("evt_pipe_1", "sub_pipe", "");
	char *second = deliver_request("evt_pipe_2", "sub_pipe", "");
	char *third = deliver_request("evt_pipe_1", "sub_pipe", "");
	char *all = text_format("%s%s%s", first, second, third), *answers;
	int fd = http_connect(url);

	send_all(fd, all);
	answers = read_answers(fd, 3);
	CHECK_INT(text_count(answers, "HTTP/1.1 200 "), 3);
	CHECK(strstr(strstr(answers, "accepted"), "duplicate") != NULL);
	CHECK_INT(stage_whole(world, "^evt_pipe_"), 2);
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
		int fd = http_connect(url);
		char *answers;

		CHECK(send(fd, all, cut, 0) == (ssize_t)cut);
		if (cut >= from) {
			answers = read_answers(fd, 1);
			CHECK_INT(text_count(answers, "HTTP/1.1 200 "), 1);
			free(answers);
		}
		CHECK(send(fd, all + cut, len - cut, 0) == (ssize_t)(len - cut));
		answers = read_answers(fd, cut >= from ? 1 : 2);
		CHECK_INT(text_count(answers, "HTTP/1.1 200 "), cut >= from ? 1 : 2);
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
	int fd = http_connect(url);

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
	enum { CLIENTS = 1000 };
	/* A fifth of it is how long a batch waits for the lock. */
	static const char *const args[] = {"--request-timeout", "100s", NULL};
	struct proc *patient = stage_producer(world, args);
	PGconn *locker;

	CHECK_INT(deliver(url, "evt_gone", "sub_gone", NULL), 200);
	locker = stage_lock(world, "sub_gone");
	for (int i = 0; i < CLIENTS; i++) {
		char id[32];
		int fd = http_connect(proc_url(patient));

		snprintf(id, sizeof(id), "evt_gone_%d", i);
		char *request = deliver_request(id, i % 3 ? id : "sub_gone", "");
		send_all(fd, request);
		if (i % 3 == 2)
			send_all(fd, request); /* pipelined, never to be answered */
		if (i % 2)
			close_with_reset(fd);
		else
			close(fd);
		free(request);
	}
	stage_unlock(locker);
	/* A reset may overtake the request itself; what was closed in order was received. */
	CHECK(world_await_int(world, CLIENTS / 2, 20000,
	    "SELECT count(*) FROM intake.notification WHERE notification_id ~ "
	    "'^evt_gone_[0-9]*[02468]$'"));
	CHECK_INT(deliver(proc_url(patient), "evt_gone_0", "sub_gone", NULL), 200);
	stage_end(patient);
}

/* Each connection sends one byte more now and then, and is dropped in the end. */
static void b28_slow_clients_block_nobody(void)
{
	enum { SLOW = 2000 };
	static int fds[SLOW];
	struct rlimit files = {0, 0};
	int64_t started = now_ms(), longest = 0;
	int dropped = 0;

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	for (int i = 0; i < SLOW; i++) {
		fds[i] = http_connect(url);
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
		int64_t left = started + 6000 - now_ms();
		dropped += poll(&p, 1, left > 0 ? (int)left : 0) == 1;
		close(fds[i]);
	}
	CHECK(longest < 1000);
	CHECK_INT(dropped, SLOW);
}

static void b28_a_body_that_does_not_come(void)
{
	static const char text[] = HEAD "Content-Length: 100\r\n\r\n0123456789";
	int64_t started = now_ms();
	char *answer = http_raw(url, text, strlen(text), 15000, NULL);

	CHECK(starts_with(answer, "HTTP/1.1 408 "));
	CHECK(now_ms() - started >= 1500 && now_ms() - started < 6000);
	free(answer);
}

/* What the kernel took for it meanwhile is read before anybody is told to be too slow. */
static void standing_still_is_no_clients_fault(void)
{
	char *request = deliver_request("evt_still", "sub_still", ""), *answer;
	size_t len = strlen(request);
	int fd = http_connect(url), idle[20];
	int64_t stopped;

	for (int i = 0; i < 20; i++) {
		idle[i] = http_connect(url);
		send_all(idle[i], "P");
	}
	CHECK(send(fd, request, len / 2, MSG_NOSIGNAL) == (ssize_t)(len / 2));
	CHECK_INT(deliver(url, "evt_moves", "sub_still", NULL), 200);
	kill(proc_pid(producer), SIGSTOP);
	stopped = now_ms();
	while (now_ms() - stopped < 2500)
		sleep_ms(50);
	send_all(fd, request + len / 2);
	kill(proc_pid(producer), SIGCONT);
	answer = read_answers(fd, 1);
	CHECK(starts_with(answer, "HTTP/1.1 200 "));
	for (int i = 0; i < 20; i++)
		close(idle[i]);
	close(fd);
	free(answer);
	free(request);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"B28 the answer can be read after the last byte",
		b28_the_answer_can_be_read_after_the_last_byte},
	    {"B31 two posts in one write", b31_two_posts_in_one_write},
	    {"pipelined bytes in any pieces", pipelined_bytes_in_any_pieces},
	    {"a client that stops sending is answered", a_client_that_stops_sending_is_answered},
	    {"B31 clients vanish while the database works",
		b31_clients_vanish_while_the_database_works},
	    {"B28 slow clients block nobody", b28_slow_clients_block_nobody},
	    {"B28 a body that does not come", b28_a_body_that_does_not_come},
	    {"B28 standing still is no client's fault", standing_still_is_no_clients_fault},
	    {NULL, NULL},
	};
	const char *const args[] = {"--request-timeout", "2s", NULL};
	int status;

	world = world_open(1);
	producer = stage_producer(world, args);
	url = proc_url(producer);
	status = check_main("producer connections", checks, argc, argv);
	world_close(world);
	return status;
}
