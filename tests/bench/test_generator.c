/*
 * The load generator hides nothing that waits, and its histogram is exact enough.
 */
#include "tests/bench/generator.h"
#include "tests/support/check.h"
#include "tests/support/pause.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void a_quantile_is_within_a_percent(void)
{
	static struct histogram h;

	for (int64_t us = 1; us <= 1000000; us++)
		histogram_add(&h, us);
	CHECK_INT(h.n, 1000000);
	for (double share = 0.001; share < 1; share += 0.013) {
		double is = (double)histogram_quantile(&h, share), wanted = share * 1e6;

		CHECK(is >= wanted && is <= wanted * 1.01);
	}
	CHECK_INT(histogram_quantile(&h, 1), 1000000);
}

static void small_and_huge_values_are_kept(void)
{
	static struct histogram h, other;

	for (int64_t us = 0; us < 128; us++)
		histogram_add(&other, us);
	CHECK_INT(histogram_quantile(&other, 0.5), 64);
	histogram_merge(&h, &other);
	histogram_add(&h, INT64_C(7200) * 1000000);
	CHECK_INT(h.n, 129);
	CHECK_INT(histogram_quantile(&h, 1), INT64_C(7200) * 1000000);
}

/* A producer of one connection, which takes its time for the first request. */
#define STALL_MS 300
static const char answer[] = "HTTP/1.1 200 OK\r\nContent-Length: 22\r\n\r\n"
			     "{\"outcome\":\"accepted\"}";

static void *serve(void *arg)
{
	int listener = *(int *)arg, fd = accept(listener, NULL, NULL);
	char request[64];

	for (int64_t stall_ms = STALL_MS; recv(fd, request, sizeof(request), 0) > 0; stall_ms = 0) {
		sleep_ms(stall_ms);
		if (send(fd, answer, sizeof(answer) - 1, MSG_NOSIGNAL) < 0)
			break;
	}
	close(fd);
	return NULL;
}

static void post_all(double per_second, struct generator_result *ret)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct request one[20];
	char bytes[] = "POST";
	const struct requests requests = {20, one};
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	pthread_t thread;
	char url[64];

	for (int i = 0; i < 20; i++)
		one[i] = (struct request){.bytes = bytes, .len = 4};
	CHECK(bind(listener, (struct sockaddr *)&at, len) == 0 && listen(listener, 1) == 0);
	CHECK(getsockname(listener, (struct sockaddr *)&at, &len) == 0);
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(at.sin_port));
	CHECK_INT(pthread_create(&thread, NULL, serve, &listener), 0);
	generator_run(&(struct generator_options){url, 1, per_second, &requests, 0, 20}, ret);
	pthread_join(thread, NULL);
	close(listener);
	CHECK_INT(ret->accepted, 20);
	CHECK_INT(ret->others, 0);
	CHECK_INT(ret->latency.n, 20);
	free(ret->due_us);
}

static void an_open_loop_counts_from_when_a_request_was_due(void)
{
	static struct generator_result result;

	/* The tenth was due after 100 ms, and had to wait for the first. */
	post_all(100, &result);
	CHECK(histogram_quantile(&result.latency, 0.5) >= (STALL_MS - 120) * 1000);
	CHECK(result.seconds >= STALL_MS / 1000.0);
}

static void a_closed_loop_counts_from_when_it_was_sent(void)
{
	static struct generator_result result;

	post_all(0, &result);
	CHECK(result.latency.max >= STALL_MS * 1000);
	CHECK(histogram_quantile(&result.latency, 0.5) < STALL_MS * 1000);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"a quantile is within a percent", a_quantile_is_within_a_percent},
	    {"small and huge values are kept", small_and_huge_values_are_kept},
	    {"an open loop counts from when a request was due",
		an_open_loop_counts_from_when_a_request_was_due},
	    {"a closed loop counts from when it was sent",
		a_closed_loop_counts_from_when_it_was_sent},
	    {NULL, NULL},
	};

	return check_main("bench generator", checks, argc, argv);
}
