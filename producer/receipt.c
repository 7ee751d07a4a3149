#include "producer/receipt.h"

#include "common/clock.h"
#include "common/failpoint.h"
#include "common/log.h"
#include "common/memory.h"
#include "producer/meter.h"
#include "producer/refused.h"
#include "producer/reply.h"
#include "producer/request.h"

#include <assert.h>
#include <event2/buffer.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#define ASK_AGAIN_US INT64_C(50000)

enum stage { VERIFYING, LATER, QUEUED, DONE };

struct receipt {
	struct receipts *all;
	const struct route *route;
	struct evhttp_request *req; /* NULL: nobody waits for an answer */
	enum stage stage;
	struct gate_times times;
	struct event *timer; /* the deadline, or the next question when LATER */
	void *body;
	struct webhook hook; /* its headers point into req */
	struct request_trace trace;
	struct notification *notification; /* authentic, from QUEUED on */
	struct intake_item item;
	LIST_ENTRY(receipt) link;
};

struct receipts {
	struct receipts_options options;
	LIST_HEAD(, receipt) list;
	unsigned waiting;
	bool draining;
};

static void move(struct receipt *r, enum stage to)
{
	static const bool allowed[][4] = {
	    [VERIFYING] = {[LATER] = true, [QUEUED] = true, [DONE] = true},
	    [LATER] = {[VERIFYING] = true, [DONE] = true},
	    [QUEUED] = {[DONE] = true},
	    [DONE] = {false},
	};

	assert(allowed[r->stage][to]);
	r->stage = to;
}

static void set_timer(struct receipt *r, int64_t at_us)
{
	int64_t now_us = clock_mono_us(), us = at_us > now_us ? at_us - now_us : 0;
	const struct timeval tv = {us / 1000000, us % 1000000};

	evtimer_add(r->timer, &tv);
}

static void receipt_free(struct receipt *r)
{
	assert(!r->req && r->stage == DONE);
	LIST_REMOVE(r, link);
	event_free(r->timer);
	notification_free(r->notification);
	free(r->body);
	free(r);
}

/* Nobody will wait for r any more: take the request out of its hands. */
static struct evhttp_request *part(struct receipt *r)
{
	struct evhttp_request *req = r->req;
	struct evhttp_connection *evcon = evhttp_request_get_connection(req);

	if (evcon)
		evhttp_connection_set_closecb(evcon, NULL, NULL);
	meter_receive(r->all->options.meter, clock_mono_us() - r->times.started_us);
	r->all->waiting--;
	r->req = NULL;
	if (r->all->draining)
		reply_close(req);
	/* Durable: as the answer says. If it is never sent, the store posts again and learns the
	 * same from the key. */
	FAILPOINT("producer.before_reply");
	return req;
}

static void answer_problem(struct receipt *r, int status, const char *detail)
{
	if (r->req)
		reply_problem(part(r), status, detail);
}

static void answer_outcome(struct receipt *r, const char *outcome)
{
	if (r->req)
		reply_outcome(part(r), outcome);
}

static void finish(struct receipt *r)
{
	move(r, DONE);
	receipt_free(r);
}

static void note(const struct receipt *r, const char *outcome)
{
	const struct notification *n = r->notification;

	meter_notification(r->all->options.meter, n->store, outcome);
	log_debug("notification", lf_str("store", n->store),
	    lf_str("notification_id", n->notification_id), lf_str("trace_id", r->trace.trace_id),
	    lf_str("outcome", outcome));
}

/* Its sender hears "accepted", whether or not it was understood. */
static void note_accepted(const struct receipt *r)
{
	const struct notification *n = r->notification;

	note(r, n->kind == KIND_UNRECOGNIZED ? "quarantined" : "accepted");
	if (n->kind == KIND_UNRECOGNIZED)
		log_warn("notification quarantined", lf_str("store", n->store),
		    lf_str("notification_id", n->notification_id), lf_str("reason", n->remark));
}

/* Into the intake, for a first or for a second time. */
static bool enqueue(struct receipt *r)
{
	struct err err = ERR_INIT;

	if (intake_submit(r->all->options.intake, &r->item, &err) == 0)
		return true;
	note(r, "unavailable");
	answer_problem(r, 503, err.message);
	finish(r);
	return false;
}

/* Keep what is authentic, if not for what it says then for itself (P12). False: done already. */
static bool quarantine(struct receipt *r)
{
	if (r->notification->kind == KIND_UNRECOGNIZED)
		return false;
	notification_quarantine(
	    r->notification, r->hook.body, r->hook.len, "the database cannot hold what it says");
	enqueue(r);
	return true;
}

static void on_settled(struct intake_item *item, enum intake_outcome outcome)
{
	struct receipt *r = (struct receipt *)((char *)item - offsetof(struct receipt, item));

	if (outcome == INTAKE_UNSTORABLE && quarantine(r))
		return;
	switch (outcome) {
	case INTAKE_ACCEPTED:
		note_accepted(r);
		answer_outcome(r, "accepted");
		break;
	case INTAKE_DUPLICATE:
		note(r, "duplicate");
		answer_outcome(r, "duplicate");
		break;
	case INTAKE_UNSTORABLE:
	case INTAKE_REFUSED:
		note(r, "refused");
		answer_problem(r, 503, "The database does not take it. Nothing is stored.");
		break;
	case INTAKE_UNAVAILABLE:
		note(r, "unavailable");
		answer_problem(r, 503, "It is not known that it is stored. Post it again.");
		break;
	}
	finish(r);
}

static void submit(struct receipt *r, struct notification *n)
{
	r->notification = n;
	r->item = (struct intake_item){
	    .notification = n,
	    .extra = {.traceparent = r->trace.traceparent,
		.trace_link = *r->trace.link ? r->trace.link : NULL,
		.body = r->body,
		.len = r->hook.len},
	    .done = on_settled,
	};
	if (enqueue(r)) {
		move(r, QUEUED);
		set_timer(r, r->times.deadline_us);
	}
}

static void refuse(struct receipt *r, int status, const char *reason, const char *detail)
{
	refused_add(r->all->options.refused, r->route->store, reason, detail, clock_mono_us());
	log_debug("request refused", lf_str("store", r->route->store), lf_str("reason", reason),
	    lf_str("trace_id", r->trace.trace_id));
	answer_problem(r, status, detail);
	finish(r);
}

static void ask_later(struct receipt *r)
{
	int64_t next_us = clock_mono_us() + ASK_AGAIN_US;

	move(r, LATER);
	set_timer(r, next_us < r->times.deadline_us ? next_us : r->times.deadline_us);
}

static void verify(struct receipt *r)
{
	struct refusal refusal = {"", ""};
	struct notification *n = NULL;

	switch (r->route->read(r->route->handle, &r->hook, &n, &refusal)) {
	case VERDICT_AUTHENTIC:
		/* Durable: nothing. A restart has forgotten the request; its sender has no answer
		 * and posts again. */
		FAILPOINT("producer.after_verify");
		submit(r, n);
		break;
	case VERDICT_FORGED:
		refuse(r, 401, refusal.reason, refusal.detail);
		break;
	case VERDICT_MALFORMED:
		refuse(r, 400, refusal.reason, refusal.detail);
		break;
	case VERDICT_LATER:
		ask_later(r);
		break;
	case VERDICT_UNAVAILABLE:
		refuse(r, 503, refusal.reason, refusal.detail);
		break;
	}
}

/* A batch under way still needs the receipt, and settles it. */
static void expire(struct receipt *r)
{
	static const char detail[] = "This took too long. Post it again.";

	if (r->stage == LATER) {
		refuse(r, 503, "too_slow", detail);
		return;
	}
	answer_problem(r, 503, detail);
	if (intake_withdraw(r->all->options.intake, &r->item)) {
		note(r, "unavailable");
		finish(r);
	}
}

static void on_timer(evutil_socket_t fd, short what, void *arg)
{
	struct receipt *r = arg;

	(void)fd;
	(void)what;
	if (clock_mono_us() >= r->times.deadline_us) {
		expire(r);
	} else if (r->stage == LATER) {
		move(r, VERIFYING);
		verify(r);
	} else {
		set_timer(r, r->times.deadline_us);
	}
}

/*
 * The connection goes while we work for it.  A request that evhttp has taken off its connection is
 * ours to free; one that is still on it goes with it.
 */
static void on_close(struct evhttp_connection *evcon, void *arg)
{
	struct receipt *r = arg;
	struct evhttp_request *req = r->req;

	(void)evcon;
	r->req = NULL;
	r->all->waiting--;
	if (!evhttp_request_get_connection(req))
		evhttp_request_free(req);
	if (r->stage == LATER)
		finish(r);
}

static struct receipt *receipt_new(struct receipts *all, const struct route *route,
    struct evhttp_request *req, struct gate_times times)
{
	struct receipt *r = mem_zalloc(1, sizeof(*r));
	struct evbuffer *input = evhttp_request_get_input_buffer(req);

	r->all = all;
	r->route = route;
	r->req = req;
	r->stage = VERIFYING;
	r->times = times;
	r->timer = evtimer_new(all->options.base, on_timer, r);
	if (!r->timer)
		abort();
	r->hook.len = evbuffer_get_length(input);
	r->body = mem_alloc(r->hook.len + 1);
	evbuffer_remove(input, r->body, r->hook.len);
	r->hook.body = r->body;
	r->hook.now_ms = clock_wall_ms();
	LIST_INSERT_HEAD(&all->list, r, link);
	all->waiting++;
	evhttp_connection_set_closecb(evhttp_request_get_connection(req), on_close, r);
	return r;
}

/* What needs no receipt. */
static void turn_away(struct receipts *all, struct evhttp_request *req, int status,
    const char *reason, const char *detail)
{
	refused_add(all->options.refused, "none", reason, detail, clock_mono_us());
	if (all->draining)
		reply_close(req);
	reply_problem(req, status, detail);
}

void receipts_serve(struct evhttp_request *req, void *arg)
{
	struct receipts *all = arg;
	struct gate_times times = gate_take(all->options.gate, req);
	const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(req)), *twice;
	const struct route *route = route_find(all->options.routes, path);
	size_t len = evbuffer_get_length(evhttp_request_get_input_buffer(req));

	if (!route) {
		turn_away(all, req, 404, "no_route",
		    "There is no such path, or its store is not configured.");
		return;
	}
	if (evhttp_request_get_command(req) != EVHTTP_REQ_POST) {
		turn_away(all, req, 405, "method", "Notifications are posted.");
		return;
	}
	if (len > (size_t)all->options.max_body) {
		turn_away(all, req, 413, "too_large",
		    "The body is longer than this server takes (--max-body).");
		return;
	}
	struct receipt *r = receipt_new(all, route, req, times);
	request_trace(req, all->options.trust_traceparent, &r->trace);
	if (!request_headers(req, &r->hook, &twice)) {
		log_debug("header given twice", lf_str("header", twice));
		refuse(r, 400, "header_twice", "A header that decides is given twice.");
		return;
	}
	verify(r);
}

struct receipts *receipts_new(const struct receipts_options *options)
{
	struct receipts *all = mem_zalloc(1, sizeof(*all));

	all->options = *options;
	LIST_INIT(&all->list);
	return all;
}

void receipts_free(struct receipts *all)
{
	if (!all)
		return;
	receipts_abandon(all);
	assert(LIST_EMPTY(&all->list));
	free(all);
}

unsigned receipts_waiting(const struct receipts *all)
{
	return all->waiting;
}

void receipts_drain(struct receipts *all)
{
	all->draining = true;
}

void receipts_abandon(struct receipts *all)
{
	struct receipt *r, *next;

	for (r = LIST_FIRST(&all->list); r; r = next) {
		next = LIST_NEXT(r, link);
		expire(r);
	}
}
