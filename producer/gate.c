#include "producer/gate.h"

#include "common/clock.h"
#include "common/memory.h"
#include "producer/head.h"
#include "producer/meter.h"
#include "producer/problem.h"

#include <assert.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>

enum { MAX_HEAD = 16384, SWEEP_MS = 100, IDLE_MS = 60000, LINGER_MS = 2000 };

#define VALVE_SHUT SIZE_MAX

enum stage { STAGE_HEAD, STAGE_BODY, STAGE_ANSWER, STAGE_REFUSED, STAGE_LINGER };

/*
 * evhttp does not say when it lets go of a connection.  So each holds a reference of its own on the
 * bufferevent, and the sweep looks: bufferevent_free() has taken evhttp's callbacks away.  The
 * reference keeps the socket open too, to be read until the client has closed.
 */
struct connection {
	struct gate *gate;
	struct bufferevent *bev;
	enum stage stage;
	int64_t started_us;  /* first byte of the request; 0: idle */
	int64_t deadline_us; /* of the stage */
	size_t searched;     /* no end of the head in these bytes */
	bool chunked;
	size_t raw;             /* bytes of a chunked body so far, framing included */
	struct evbuffer *stash; /* pipelined bytes that evhttp must not see yet */
	LIST_ENTRY(connection) link;
};

struct gate {
	struct gate_options options;
	LIST_HEAD(, connection) connections;
	unsigned count;
	struct connection **by_fd;
	size_t n_by_fd;
	struct event *sweep;  /* armed while there are connections */
	struct event *replay; /* for stashes */
	bool draining;
	char head[MAX_HEAD];
};

static int64_t in_ms(int64_t ms)
{
	return clock_mono_us() + ms * 1000;
}

static bool let_go(const struct connection *c)
{
	bufferevent_event_cb on_event;

	bufferevent_getcb(c->bev, NULL, NULL, &on_event, NULL);
	return on_event == NULL;
}

static void set_valve(struct connection *c, bool open)
{
	bufferevent_setwatermark(c->bev, EV_READ, open ? 0 : VALVE_SHUT, 0);
}

static void enter(struct connection *c, enum stage stage, int64_t deadline_us)
{
	static const bool allowed[][5] = {
	    [STAGE_HEAD] = {[STAGE_BODY] = true, [STAGE_REFUSED] = true, [STAGE_LINGER] = true},
	    [STAGE_BODY] = {[STAGE_ANSWER] = true, [STAGE_REFUSED] = true, [STAGE_LINGER] = true},
	    [STAGE_ANSWER] = {[STAGE_HEAD] = true, [STAGE_LINGER] = true},
	    [STAGE_REFUSED] = {[STAGE_LINGER] = true},
	    [STAGE_LINGER] = {false},
	};

	assert(allowed[c->stage][stage]);
	c->stage = stage;
	c->deadline_us = deadline_us;
	set_valve(c, stage == STAGE_BODY || stage == STAGE_LINGER);
}

/* The socket reports an end of file, and whoever owns the bufferevent acts on it. */
static void hang_up(struct connection *c)
{
	shutdown(bufferevent_getfd(c->bev), SHUT_RDWR);
	c->deadline_us = in_ms(LINGER_MS);
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
	evbuffer_free(c->stash);
	LIST_REMOVE(c, link);
	free(c);
	if (g->count-- == g->options.max_connections && !g->draining)
		evconnlistener_enable(g->options.listener);
	if (g->count == 0)
		evtimer_del(g->sweep);
}

/*
 * The answer goes out in one piece or not at all: the send buffer of a connection whose last answer
 * was written is all but empty.  evhttp, which has seen nothing of the request or a part of its
 * body, is made to believe that the client has gone.
 */
static void refuse(struct connection *c, int status, const char *reason, const char *detail)
{
	int fd = bufferevent_getfd(c->bev);
	size_t len;
	char *response = problem_response(status, detail, &len);

	meter_refused(c->gate->options.meter, "none", reason);
	if (send(fd, response, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len)
		shutdown(fd, SHUT_WR);
	free(response);
	enter(c, STAGE_REFUSED, in_ms(LINGER_MS));
	bufferevent_trigger_event(
	    c->bev, BEV_EVENT_READING | BEV_EVENT_EOF, BEV_TRIG_DEFER_CALLBACKS);
	event_active(c->gate->replay, EV_TIMEOUT, 0);
}

static void refuse_head(struct connection *c, int status, const char *detail)
{
	refuse(c, status, status == 413 ? "too_large" : "bad_request", detail);
}

/* Look at the head, as far as it has come. */
static void judge_head(struct connection *c, struct evbuffer *input)
{
	const struct gate_options *o = &c->gate->options;
	size_t len = evbuffer_get_length(input);
	struct evbuffer_ptr start, end;
	struct head head;
	const char *detail;

	evbuffer_ptr_set(input, &start, c->searched, EVBUFFER_PTR_SET);
	end = evbuffer_search(input, "\r\n\r\n", 4, &start);
	size_t head_len = end.pos < 0 ? len : (size_t)end.pos + 4;
	if (head_len > MAX_HEAD) {
		refuse_head(c, 431, "The head of the request is longer than 16 KiB.");
		return;
	}
	if (end.pos < 0) {
		c->searched = len < 3 ? 0 : len - 3;
		return;
	}
	evbuffer_copyout(input, c->gate->head, head_len);
	int status = head_read(c->gate->head, head_len, o->max_body, &head, &detail);
	if (status != 0) {
		refuse_head(c, status, detail);
		return;
	}
	c->chunked = head.chunked;
	c->raw = len - head_len;
	enter(c, STAGE_BODY, c->deadline_us);
}

/* One byte of chunked body may cost six; real senders stay far below twice. */
static void judge_body(struct connection *c, size_t added)
{
	if (!c->chunked)
		return;
	c->raw += added;
	if (c->raw > 2 * (size_t)c->gate->options.max_body + 1024)
		refuse(
		    c, 413, "too_large", "The body is longer than this server takes (--max-body).");
}

static void register_fd(struct gate *g, struct connection *c)
{
	size_t fd = (size_t)bufferevent_getfd(c->bev);

	if (fd >= g->n_by_fd) {
		size_t n = fd * 2 + 64;
		g->by_fd = mem_realloc(g->by_fd, n * sizeof(struct connection *));
		memset(g->by_fd + g->n_by_fd, 0, (n - g->n_by_fd) * sizeof(struct connection *));
		g->n_by_fd = n;
	}
	g->by_fd[fd] = c;
}

/* Runs before evhttp is told of the bytes. */
static void on_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *arg)
{
	struct connection *c = arg;

	if (info->n_added == 0 || evbuffer_get_length(c->stash) > 0)
		return;
	if (c->stage == STAGE_BODY) {
		judge_body(c, info->n_added);
	} else if (c->stage == STAGE_HEAD) {
		if (c->started_us == 0) {
			register_fd(c->gate, c);
			c->started_us = clock_mono_us();
			c->deadline_us = c->started_us + c->gate->options.request_ms * 1000;
		}
		judge_head(c, input);
	}
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

	enter(c, STAGE_LINGER, in_ms(ms));
	bufferevent_setcb(c->bev, linger_read, NULL, linger_event, c);
	bufferevent_disable(c->bev, EV_WRITE);
	bufferevent_enable(c->bev, EV_READ);
	linger_read(c->bev, c);
}

static void expire(struct connection *c)
{
	if (c->stage == STAGE_LINGER)
		drop(c);
	else if ((c->stage == STAGE_HEAD && c->started_us != 0) || c->stage == STAGE_BODY)
		refuse(c, 408, "too_slow", "The request did not arrive in time.");
	else
		hang_up(c);
}

static void on_sweep(evutil_socket_t fd, short what, void *arg)
{
	struct gate *g = arg;
	int64_t now_us = clock_mono_us();
	struct connection *c, *next;

	(void)fd;
	(void)what;
	for (c = LIST_FIRST(&g->connections); c; c = next) {
		next = LIST_NEXT(c, link);
		if (c->stage != STAGE_LINGER && let_go(c))
			linger(c);
		else if (now_us >= c->deadline_us)
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
	for (c = LIST_FIRST(&g->connections); c; c = next) {
		next = LIST_NEXT(c, link);
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
	c->stash = evbuffer_new();
	if (!c->bev || !c->stash)
		abort();
	bufferevent_incref(c->bev);
	c->deadline_us = in_ms(IDLE_MS);
	set_valve(c, false);
	evbuffer_add_cb(bufferevent_get_input(c->bev), on_input, c);
	LIST_INSERT_HEAD(&g->connections, c, link);
	if (g->count++ == 0)
		evtimer_add(g->sweep, &every);
	if (g->count == g->options.max_connections)
		evconnlistener_disable(g->options.listener);
	return c->bev;
}

struct gate *gate_new(const struct gate_options *options)
{
	struct gate *g = mem_zalloc(1, sizeof(*g));

	g->options = *options;
	LIST_INIT(&g->connections);
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
	enter(c, STAGE_HEAD, in_ms(IDLE_MS));
	c->started_us = 0;
	c->searched = 0;
	if (evbuffer_get_length(input) > 0)
		evbuffer_add_buffer(c->stash, input);
	event_active(c->gate->replay, EV_TIMEOUT, 0);
}

int64_t gate_take(struct gate *g, struct evhttp_request *req)
{
	struct connection *c = g->by_fd[bufferevent_getfd(bev_of(req))];

	/* Whoever answers must do so within request_ms; the client then has as long to take it. */
	enter(c, STAGE_ANSWER, c->started_us + 2 * g->options.request_ms * 1000);
	evhttp_request_set_on_complete_cb(req, on_written, c);
	return c->started_us;
}

void gate_drain(struct gate *g)
{
	struct connection *c;

	g->draining = true;
	LIST_FOREACH(c, &g->connections, link)
	{
		if (c->stage == STAGE_HEAD && c->started_us == 0)
			hang_up(c);
	}
}

unsigned gate_busy(const struct gate *g)
{
	const struct connection *c;
	unsigned busy = 0;

	LIST_FOREACH(c, &g->connections, link)
	busy += c->stage == STAGE_ANSWER || c->stage == STAGE_BODY ||
		(c->stage == STAGE_HEAD && c->started_us != 0);
	return busy;
}
