#include "common/gate.h"

#include "common/gate_private.h"
#include "common/memory.h"

#include <stdlib.h>
#include <sys/socket.h>

enum { SWEEP_MS = 100, IDLE_MS = 60000 };

/* While there is no room for another client nobody may hold a connection for longer than this
 * without a whole request, or with an answer and nothing more to come. It is told once in a
 * while. */
#define HURRY_US INT64_C(1000000)
#define HURRY_LINGER_US INT64_C(200000)
#define TELL_AGAIN_US INT64_C(60000000)

/* A sweep that comes so much too late tells that the loop did not turn. */
#define LATE_US INT64_C(200000)

static bool let_go(const struct connection *c)
{
	bufferevent_event_cb on_event;

	bufferevent_getcb(c->bev, NULL, NULL, &on_event, NULL);
	return on_event == NULL;
}

/* The socket reports an end of file, and whoever owns the bufferevent acts on it. */
static void hang_up(struct connection *c)
{
	shutdown(bufferevent_getfd(c->bev), SHUT_RDWR);
	c->deadline_us = gate_in_ms(LINGER_MS);
}

static void drop(struct connection *c)
{
	struct gate *g = c->gate;
	evutil_socket_t fd = bufferevent_getfd(c->bev);

	if (fd >= 0 && (size_t)fd < g->n_by_fd && g->by_fd[fd] == c)
		g->by_fd[fd] = NULL;
	bufferevent_setcb(c->bev, NULL, NULL, NULL, NULL);
	bufferevent_disable(c->bev, EV_READ | EV_WRITE);
	bufferevent_decref(c->bev);
	evbuffer_free(c->request);
	evbuffer_free(c->body);
	evbuffer_free(c->stash);
	LIST_REMOVE(c, link);
	if (c->is_due)
		LIST_REMOVE(c, due);
	free(c);
	if (g->count-- == g->options.max_connections && !g->draining)
		evconnlistener_enable(g->options.listener);
	if (g->count == 0)
		evtimer_del(g->sweep);
}

static void linger_read(struct bufferevent *bev, void *arg)
{
	struct evbuffer *input = bufferevent_get_input(bev);

	(void)arg;
	evbuffer_drain(input, evbuffer_get_length(input));
}

static void linger_event(struct bufferevent *bev, short what, void *arg)
{
	(void)bev;
	(void)what;
	drop(arg);
}

static void linger(struct connection *c)
{
	int64_t ms = c->stage == STAGE_REFUSED ? c->gate->options.request_ms : LINGER_MS;

	gate_enter(c, STAGE_LINGER, gate_in_ms(ms));
	bufferevent_setcb(c->bev, linger_read, NULL, linger_event, c);
	bufferevent_disable(c->bev, EV_WRITE);
	bufferevent_enable(c->bev, EV_READ);
	linger_read(c->bev, c);
}

static void expire(struct connection *c)
{
	if (c->stage == STAGE_LINGER)
		drop(c);
	else if (gate_reads(c))
		gate_refuse(c, 408, "too_slow", "The request did not arrive in time.");
	else
		hang_up(c);
}

static bool holds_up(const struct connection *c, int64_t now_us)
{
	int64_t us = now_us - c->since_us;

	if (c->stage == STAGE_LINGER)
		return us >= HURRY_LINGER_US;
	return c->stage != STAGE_ANSWER && us >= HURRY_US;
}

/* The backlog holds new clients meanwhile. */
static void tell_full(struct gate *g, int64_t now_us)
{
	if (g->told_full_us != 0 && now_us - g->told_full_us < TELL_AGAIN_US)
		return;
	g->told_full_us = now_us;
	g->options.full(g->options.ctx, g->count);
}

/* If this process stood still, what came meanwhile is yet to be read: no client's fault. */
static void make_up(struct gate *g, int64_t now_us)
{
	int64_t late_us = now_us - g->sweep_due_us;
	struct connection *c;

	g->sweep_due_us = now_us + SWEEP_MS * 1000;
	if (late_us < LATE_US)
		return;
	LIST_FOREACH (c, &g->connections, link) {
		c->since_us += late_us;
		c->deadline_us += late_us;
	}
}

static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
	struct gate *g = arg;
	int64_t now_us = clock_mono_us();
	bool full = g->count >= g->options.max_connections;
	struct connection *c, *next;

	(void)fd;
	(void)what;
	make_up(g, now_us);
	if (full)
		tell_full(g, now_us);
	for (c = LIST_FIRST(&g->connections); c; c = next) {
		next = LIST_NEXT(c, link);
		if (c->stage != STAGE_LINGER && let_go(c))
			linger(c);
		else if (now_us >= c->deadline_us || (full && holds_up(c, now_us)))
			expire(c);
	}
}

/* Give back what came too early, now that evhttp waits for the next request. */
static void replay(struct connection *c)
{
	struct evbuffer *input = bufferevent_get_input(c->bev);
	struct evbuffer *bytes = c->stash;

	c->stash = evbuffer_new();
	evbuffer_prepend_buffer(input, bytes);
	evbuffer_free(bytes);
	if (c->stage == STAGE_BODY)
		bufferevent_trigger(c->bev, EV_READ, 0);
}

static void on_replay(evutil_socket_t fd, short what, void *arg)
{
	struct gate *g = arg;
	struct connection *c, *next;

	(void)fd;
	(void)what;
	for (c = LIST_FIRST(&g->due); c; c = next) {
		next = LIST_NEXT(c, due);
		LIST_REMOVE(c, due);
		c->is_due = false;
		if (c->stage != STAGE_LINGER && let_go(c))
			linger(c);
		else if (evbuffer_get_length(c->stash) > 0)
			replay(c);
	}
}

static struct bufferevent *on_accept(struct event_base *base, void *arg)
{
	const struct timeval every = {0, (suseconds_t)SWEEP_MS * 1000};
	struct gate *g = arg;
	struct connection *c = mem_zalloc(1, sizeof(*c));

	c->gate = g;
	c->bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	c->request = evbuffer_new();
	c->body = evbuffer_new();
	c->stash = evbuffer_new();
	if (!c->bev || !c->request || !c->body || !c->stash)
		abort();
	bufferevent_incref(c->bev);
	c->since_us = clock_mono_us();
	c->deadline_us = gate_in_ms(IDLE_MS);
	gate_valve(c, false);
	evbuffer_add_cb(bufferevent_get_input(c->bev), gate_on_input, c);
	LIST_INSERT_HEAD(&g->connections, c, link);
	if (g->count++ == 0) {
		g->sweep_due_us = c->since_us + SWEEP_MS * 1000;
		evtimer_add(g->sweep, &every);
	}
	if (g->count == g->options.max_connections)
		evconnlistener_disable(g->options.listener);
	return c->bev;
}

struct gate *gate_new(const struct gate_options *options)
{
	struct gate *g = mem_zalloc(1, sizeof(*g));

	g->options = *options;
	LIST_INIT(&g->connections);
	LIST_INIT(&g->due);
	g->sweep = event_new(options->base, -1, EV_PERSIST, on_sweep, g);
	g->replay = event_new(options->base, -1, 0, on_replay, g);
	if (!g->sweep || !g->replay)
		abort();
	evhttp_set_bevcb(options->http, on_accept, g);
	return g;
}

void gate_free(struct gate *g)
{
	struct connection *c, *next;

	if (!g)
		return;
	g->draining = true;
	for (c = LIST_FIRST(&g->connections); c; c = next) {
		next = LIST_NEXT(c, link);
		drop(c);
	}
	event_free(g->sweep);
	event_free(g->replay);
	free(g->by_fd);
	free(g);
}

static struct bufferevent *bev_of(struct evhttp_request *req)
{
	struct evhttp_connection *evcon = evhttp_request_get_connection(req);

	return evcon ? evhttp_connection_get_bufferevent(evcon) : NULL;
}

/* The answer has been handed to the kernel. evhttp reads on when this returns, or lets go. */
static void on_written(struct evhttp_request *req, void *arg)
{
	struct connection *c = arg;
	struct evbuffer *input = bufferevent_get_input(c->bev);

	(void)req;
	gate_enter(c, STAGE_HEAD, gate_in_ms(IDLE_MS));
	c->started_us = 0;
	if (evbuffer_get_length(input) > 0)
		evbuffer_add_buffer(c->stash, input);
	gate_due(c);
}

struct gate_times gate_take(struct gate *g, struct evhttp_request *req)
{
	struct connection *c = g->by_fd[bufferevent_getfd(bev_of(req))];
	struct gate_times times;

	/* The request may be read before the sweep that is late, too. */
	make_up(g, clock_mono_us());
	times = (struct gate_times){c->started_us, c->deadline_us};

	/* Whoever answers must do so in time; the client then has as long to take it. */
	gate_enter(c, STAGE_ANSWER, times.deadline_us + g->options.request_ms * 1000);
	evhttp_request_set_on_complete_cb(req, on_written, c);
	return times;
}

void gate_resume(struct gate *g)
{
	if (!g->draining && g->count < g->options.max_connections)
		evconnlistener_enable(g->options.listener);
}

void gate_drain(struct gate *g)
{
	struct connection *c;

	g->draining = true;
	LIST_FOREACH (c, &g->connections, link) {
		if (c->stage == STAGE_HEAD && c->started_us == 0)
			hang_up(c);
	}
}

unsigned gate_busy(const struct gate *g)
{
	const struct connection *c;
	unsigned busy = 0;

	LIST_FOREACH (c, &g->connections, link)
		busy += c->stage == STAGE_ANSWER || gate_reads(c);
	return busy;
}
