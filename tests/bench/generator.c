#include "tests/bench/generator.h"

#include "common/clock.h"
#include "tests/bench/wall.h"
#include "tests/support/die.h"
#include "tests/support/http.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#define ANSWER_BYTES 4096
#define EVENTS 64

/*
 *   idle ──request──▶ sending ──all written──▶ receiving ──whole answer──▶ idle
 */
struct connection {
	int fd;
	int request; /* under way; -1: idle */
	size_t sent, got;
	int64_t due_us; /* monotonic */
	char answer[ANSWER_BYTES];
};

struct generator {
	const struct generator_options *options;
	struct generator_result *result;
	struct connection *connections;
	int epoll, timer;
	int next, done;
	int64_t began_us, wall_us; /* the same moment on both clocks */
	struct connection **idle;
	int n_idle;
};

static void watch(struct generator *g, int fd, void *what, uint32_t events, int op)
{
	struct epoll_event event = {.events = events, .data.ptr = what};

	if (epoll_ctl(g->epoll, op, fd, &event) < 0)
		die("epoll_ctl: %s", strerror(errno));
}

static void connect_all(struct generator *g)
{
	int one = 1;

	g->connections = calloc((size_t)g->options->connections, sizeof(*g->connections));
	g->idle = calloc((size_t)g->options->connections, sizeof(struct connection *));
	if (g->connections == NULL || g->idle == NULL)
		die("out of memory");
	for (int i = 0; i < g->options->connections; i++) {
		struct connection *c = &g->connections[i];

		c->fd = http_connect(g->options->url);
		c->request = -1;
		if (c->fd < 0 || fcntl(c->fd, F_SETFL, O_NONBLOCK) < 0 ||
		    setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)) < 0)
			die("cannot connect to %s: %s", g->options->url, strerror(errno));
		watch(g, c->fd, c, EPOLLIN, EPOLL_CTL_ADD);
		g->idle[g->n_idle++] = c;
	}
}

static void write_more(struct generator *g, struct connection *c)
{
	const struct request *r = &g->options->requests->all[c->request];
	ssize_t n = send(c->fd, r->bytes + c->sent, r->len - c->sent, MSG_NOSIGNAL);

	if (n < 0 && errno != EAGAIN)
		die("the producer closed a connection: %s", strerror(errno));
	c->sent += n < 0 ? 0 : (size_t)n;
	/* A request is far smaller than a socket's buffer, which is empty: only a huge one waits.
	 */
	if (c->sent < r->len)
		watch(g, c->fd, c, EPOLLIN | EPOLLOUT, EPOLL_CTL_MOD);
	else if ((size_t)n < r->len)
		watch(g, c->fd, c, EPOLLIN, EPOLL_CTL_MOD);
}

static void begin(struct generator *g, struct connection *c, int64_t due_us)
{
	c->request = g->options->first + g->next;
	c->due_us = due_us;
	c->sent = c->got = 0;
	g->result->due_us[g->next++] = g->wall_us + due_us - g->began_us;
	write_more(g, c);
}

static int64_t due_at(const struct generator *g, int i)
{
	return g->began_us + (int64_t)((double)i * 1e6 / g->options->per_second);
}

/* Wake up for the next request that nobody could be sent for before. */
static void set_timer(struct generator *g)
{
	int64_t at_us = due_at(g, g->next);
	struct itimerspec when = {.it_value = {at_us / 1000000, at_us % 1000000 * 1000}};

	if (g->next < g->options->n && g->n_idle > 0 &&
	    timerfd_settime(g->timer, TFD_TIMER_ABSTIME, &when, NULL) < 0)
		die("timerfd_settime: %s", strerror(errno));
}

/* Give idle connections what there is to do. */
static void dispatch(struct generator *g)
{
	int64_t now_us = clock_mono_us();
	bool open_loop = g->options->per_second > 0;

	while (g->n_idle > 0 && g->next < g->options->n) {
		int64_t due_us = open_loop ? due_at(g, g->next) : now_us;

		if (due_us > now_us)
			break;
		begin(g, g->idle[--g->n_idle], due_us);
	}
	if (open_loop)
		set_timer(g);
}

/* Its length, once it is whole; 0: not yet. */
static size_t whole_answer(struct connection *c)
{
	char *head_end, *length;
	size_t whole;

	c->answer[c->got] = '\0';
	head_end = strstr(c->answer, "\r\n\r\n");
	if (head_end == NULL)
		return 0;
	length = strcasestr(c->answer, "\r\nContent-Length:");
	if (length == NULL || length > head_end)
		die("an answer without Content-Length: %s", c->answer);
	whole = (size_t)(head_end + 4 - c->answer) + strtoul(length + 17, NULL, 10);
	return c->got >= whole ? whole : 0;
}

static void finish(struct generator *g, struct connection *c)
{
	int64_t now_us = clock_mono_us();
	bool accepted = strncmp(c->answer, "HTTP/1.1 200", 12) == 0 &&
			strstr(c->answer, "\"accepted\"") != NULL;

	histogram_add(&g->result->latency, now_us - c->due_us);
	series_add(&g->result->answered, now_us - g->began_us, 1);
	g->result->accepted += accepted;
	g->result->others += !accepted;
	if (!accepted && g->result->others == 1)
		fprintf(stderr, "not accepted: %s\n", c->answer);
	g->done++;
	c->request = -1;
	g->idle[g->n_idle++] = c;
}

static void read_more(struct generator *g, struct connection *c)
{
	ssize_t n = recv(c->fd, c->answer + c->got, ANSWER_BYTES - 1 - c->got, 0);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0 || c->request < 0)
		die("the producer closed a connection");
	c->got += (size_t)n;
	if (whole_answer(c) > 0)
		finish(g, c);
	else if (c->got == ANSWER_BYTES - 1)
		die("a very long answer");
}

static void on_event(struct generator *g, const struct epoll_event *event)
{
	struct connection *c = event->data.ptr;
	uint64_t expirations;

	if (c == NULL) {
		while (read(g->timer, &expirations, sizeof(expirations)) > 0)
			;
		return;
	}
	if (event->events & EPOLLOUT)
		write_more(g, c);
	if (event->events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		read_more(g, c);
}

void generator_run(const struct generator_options *options, struct generator_result *ret)
{
	struct generator g = {.options = options, .result = ret};
	struct epoll_event events[EVENTS];

	memset(ret, 0, sizeof(*ret));
	ret->due_us = calloc((size_t)options->n, sizeof(*ret->due_us));
	g.epoll = epoll_create1(EPOLL_CLOEXEC);
	g.timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (ret->due_us == NULL || g.epoll < 0 || g.timer < 0)
		die("no load generator: %s", strerror(errno));
	connect_all(&g);
	watch(&g, g.timer, NULL, EPOLLIN, EPOLL_CTL_ADD);
	g.began_us = clock_mono_us();
	g.wall_us = wall_us();
	while (g.done < options->n) {
		int n;

		dispatch(&g);
		n = epoll_wait(g.epoll, events, EVENTS, 30000);
		if (n == 0)
			die("no answer within 30 s");
		for (int i = 0; i < n; i++)
			on_event(&g, &events[i]);
	}
	ret->seconds = (double)(clock_mono_us() - g.began_us) / 1e6;
	for (int i = 0; i < options->connections; i++)
		close(g.connections[i].fd);
	close(g.timer);
	close(g.epoll);
	free(g.connections);
	free(g.idle);
}
