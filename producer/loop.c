#include "producer/loop.h"

#include "common/clock.h"
#include "common/gate.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/service.h"
#include "producer/receipt.h"
#include "producer/refused.h"

#include <errno.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum { BEAT_MS = 500, DRAIN_CHECK_MS = 20, DRAIN_READ_MS = 1000, FLUSH_MS = 50 };

/* All but CONNECT and TRACE, which head.h refuses: what a path allows is the receipts' business. */
#define METHODS                                                                                    \
	(EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD | EVHTTP_REQ_PUT | EVHTTP_REQ_DELETE | \
	    EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH)

struct loop {
	struct loop_options options;
	struct event_base *base;
	struct evhttp *http;
	struct evhttp_bound_socket *socket;
	struct gate *gate;
	struct intake *intake;
	struct receipts *receipts;
	struct event *beat, *stop, *drain;
	_Atomic int64_t beat_us;
	int64_t stopped_us;
	unsigned unanswered;
};

static struct timeval to_timeval(int64_t ms)
{
	return (struct timeval){ms / 1000, ms % 1000 * 1000};
}

static void on_beat(evutil_socket_t fd, short what, void *arg)
{
	int64_t now_us = clock_mono_us();
	struct loop *l = arg;

	(void)fd;
	(void)what;
	atomic_store(&l->beat_us, now_us);
	gate_resume(l->gate);
	refused_tell(l->options.refused, now_us);
}

/* No descriptor or no memory left: it would be called again at once, for ever. The next beat tries
 * again. */
static void on_accept_error(struct evconnlistener *listener, void *http)
{
	(void)http;
	log_warn("cannot accept a connection", lf_str("error", strerror(errno)));
	evconnlistener_disable(listener);
}

static void end(struct loop *l)
{
	const struct timeval flush = to_timeval(FLUSH_MS);

	event_del(l->drain);
	l->unanswered = receipts_waiting(l->receipts);
	receipts_abandon(l->receipts);
	event_base_loopexit(l->base, l->unanswered > 0 ? &flush : NULL);
}

/* Requests that are still being read are given a moment; only what was read in full is waited for.
 */
static void on_drain(evutil_socket_t fd, short what, void *arg)
{
	struct loop *l = arg;
	int64_t ms = (clock_mono_us() - l->stopped_us) / 1000;
	bool idle =
	    receipts_waiting(l->receipts) == 0 && (gate_busy(l->gate) == 0 || ms >= DRAIN_READ_MS);

	(void)fd;
	(void)what;
	if (idle || ms >= l->options.drain_ms)
		end(l);
}

static void on_stop(evutil_socket_t fd, short what, void *arg)
{
	const struct timeval every = to_timeval(DRAIN_CHECK_MS);
	struct loop *l = arg;

	(void)fd;
	(void)what;
	l->stopped_us = clock_mono_us();
	receipts_drain(l->receipts);
	gate_drain(l->gate);
	evhttp_del_accept_socket(l->http, l->socket);
	evtimer_add(l->drain, &every);
}

static void make_events(struct loop *l)
{
	const struct timeval every = to_timeval(BEAT_MS);

	l->beat = event_new(l->base, -1, EV_PERSIST, on_beat, l);
	l->drain = event_new(l->base, -1, EV_PERSIST, on_drain, l);
	l->stop = event_new(l->base, service_stop_fd(), EV_READ, on_stop, l);
	if (!l->beat || !l->drain || !l->stop)
		abort();
	evtimer_add(l->beat, &every);
	event_add(l->stop, NULL);
	on_beat(-1, 0, l);
}

static void make_intake(struct loop *l)
{
	const struct loop_options *o = &l->options;
	const struct intake_options intake = {
	    .base = l->base,
	    .shared = o->shared,
	    .database_url = o->database_url,
	    .application_name = o->application_name,
	    .connections = o->database_connections,
	    .batch = o->batch,
	    .statement_ms = o->request_ms,
	    .lock_ms = o->lock_ms,
	};

	l->intake = intake_new(&intake);
}

static void on_refused(void *ctx, const char *reason, const char *detail)
{
	struct loop *l = ctx;

	refused_add(l->options.refused, "none", reason, detail, clock_mono_us());
}

static void on_full(void *ctx, unsigned connections)
{
	(void)ctx;
	log_warn("no room for more connections: the slowest are closed",
	    lf_int("connections", connections));
}

static void make_gate(struct loop *l)
{
	const struct loop_options *o = &l->options;
	const struct gate_options gate = {
	    .base = l->base,
	    .http = l->http,
	    .listener = evhttp_bound_socket_get_listener(l->socket),
	    .refused = on_refused,
	    .full = on_full,
	    .ctx = l,
	    .max_body = o->max_body,
	    .request_ms = o->request_ms,
	    .max_connections = o->max_connections,
	};

	evconnlistener_set_error_cb(gate.listener, on_accept_error);
	l->gate = gate_new(&gate);
}

static void make_receipts(struct loop *l)
{
	const struct loop_options *o = &l->options;
	const struct receipts_options receipts = {
	    .base = l->base,
	    .gate = l->gate,
	    .intake = l->intake,
	    .meter = o->shared->meter,
	    .refused = o->refused,
	    .routes = o->routes,
	    .max_body = o->max_body,
	    .trust_traceparent = o->trust_traceparent,
	};

	l->receipts = receipts_new(&receipts);
	evhttp_set_gencb(l->http, receipts_serve, l->receipts);
}

struct loop *loop_new(const struct loop_options *options)
{
	struct loop *l = mem_zalloc(1, sizeof(*l));

	l->options = *options;
	l->base = event_base_new();
	l->http = l->base ? evhttp_new(l->base) : NULL;
	if (!l->http)
		abort();
	evhttp_set_allowed_methods(l->http, METHODS);
	evhttp_set_default_content_type(l->http, NULL);
	l->socket = evhttp_accept_socket_with_handle(l->http, options->listen_fd);
	if (!l->socket)
		abort();
	make_intake(l);
	make_gate(l);
	make_receipts(l);
	make_events(l);
	return l;
}

struct event_base *loop_base(struct loop *l)
{
	return l->base;
}

void loop_run(struct loop *l)
{
	event_base_dispatch(l->base);
}

int64_t loop_beat_us(const struct loop *l)
{
	return atomic_load(&l->beat_us);
}

bool loop_has_database(const struct loop *l)
{
	return intake_is_up(l->intake);
}

unsigned loop_unanswered(const struct loop *l)
{
	return l->unanswered;
}

/* The intake settles the receipts that are under way, evhttp lets go of the gate's connections. */
void loop_free(struct loop *l)
{
	if (!l)
		return;
	intake_free(l->intake);
	receipts_free(l->receipts);
	evhttp_free(l->http);
	gate_free(l->gate);
	event_free(l->beat);
	event_free(l->stop);
	event_free(l->drain);
	event_base_free(l->base);
	free(l);
}
