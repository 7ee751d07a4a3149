/* What the gate makes of the bytes of a request: wait for more, let them through, or refuse. */
#include "common/gate_private.h"
#include "common/head.h"
#include "common/memory.h"
#include "common/problem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define VALVE_SHUT SIZE_MAX

/* Enough of a request to judge its head, or of one that is not its turn yet. */
enum { MAX_WAITING = 2 * HEAD_MAX };

void gate_valve(struct connection *c, bool open)
{
	bufferevent_setwatermark(
	    c->bev, EV_READ, open ? 0 : VALVE_SHUT, open ? 0 : (size_t)MAX_WAITING);
}

void gate_enter(struct connection *c, enum stage stage, int64_t deadline_us)
{
	static const bool allowed[][6] = {
	    [STAGE_HEAD] = {[STAGE_CHUNKS] = true,
		[STAGE_BODY] = true,
		[STAGE_REFUSED] = true,
		[STAGE_LINGER] = true},
	    [STAGE_CHUNKS] = {[STAGE_BODY] = true, [STAGE_REFUSED] = true, [STAGE_LINGER] = true},
	    [STAGE_BODY] = {[STAGE_ANSWER] = true, [STAGE_REFUSED] = true, [STAGE_LINGER] = true},
	    [STAGE_ANSWER] = {[STAGE_HEAD] = true, [STAGE_LINGER] = true},
	    [STAGE_REFUSED] = {[STAGE_LINGER] = true},
	    [STAGE_LINGER] = {false},
	};

	assert(allowed[c->stage][stage]);
	c->stage = stage;
	c->since_us = clock_mono_us();
	c->deadline_us = deadline_us;
	gate_valve(c, stage == STAGE_BODY || stage == STAGE_LINGER);
}

void gate_due(struct connection *c)
{
	if (!c->is_due)
		LIST_INSERT_HEAD(&c->gate->due, c, due);
	c->is_due = true;
	event_active(c->gate->replay, EV_TIMEOUT, 0);
}

/*
 * In one piece or not at all: the send buffer of a connection whose last answer was written is all
 * but empty.
 */
static void answer(struct connection *c, int status, const char *reason, const char *detail)
{
	int fd = bufferevent_getfd(c->bev);
	size_t len;
	char *response = problem_response(status, detail, &len);

	c->gate->options.refused(c->gate->options.ctx, reason, detail);
	if (send(fd, response, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len)
		shutdown(fd, SHUT_WR);
	free(response);
}

/* evhttp, which has seen nothing of the request or a part of its body, is made to believe that the
 * client has gone. */
void gate_refuse(struct connection *c, int status, const char *reason, const char *detail)
{
	answer(c, status, reason, detail);
	gate_enter(c, STAGE_REFUSED, gate_in_ms(LINGER_MS));
	bufferevent_trigger_event(
	    c->bev, BEV_EVENT_READING | BEV_EVENT_EOF, BEV_TRIG_DEFER_CALLBACKS);
	gate_due(c);
}

static void refuse(struct connection *c, int status, const char *detail)
{
	gate_refuse(c, status, status == 413 ? "too_large" : "bad_request", detail);
}

/* Give the request to evhttp, with as much of its body as is there. */
static void pass_on(struct connection *c, struct evbuffer *input)
{
	const struct head *head = &c->head;
	size_t len = head->chunked ? evbuffer_get_length(c->body) : (size_t)head->content_length;

	if (head->chunked || head->has_length)
		evbuffer_add_printf(c->request, "Content-Length: %zu\r\n", len);
	evbuffer_add(c->request, "\r\n", 2);
	evbuffer_add_buffer(c->request, c->body);
	gate_enter(c, STAGE_BODY, c->deadline_us);
	evbuffer_prepend_buffer(input, c->request);
}

static void read_chunks(struct connection *c, struct evbuffer *input)
{
	struct gate *g = c->gate;
	size_t used, data;
	const char *detail;

	while (!c->chunked.complete && evbuffer_get_length(input) > 0) {
		ev_ssize_t n = evbuffer_copyout(input, g->scratch, sizeof(g->scratch));
		int status = chunked_read(
		    &c->chunked, g->scratch, (size_t)n, g->options.max_body, &used, &data, &detail);
		if (status != 0) {
			refuse(c, status, detail);
			return;
		}
		evbuffer_drain(input, used);
		evbuffer_add(c->body, g->scratch, data);
	}
	if (c->chunked.complete)
		pass_on(c, input);
}

/* RFC 9110, section 10.1.1: not to somebody who does not wait for it. */
static void send_continue(struct connection *c)
{
	static const char text[] = "HTTP/1.1 100 Continue\r\n\r\n";

	(void)!send(bufferevent_getfd(c->bev), text, sizeof(text) - 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

static void accept_head(struct connection *c, struct evbuffer *input)
{
	struct gate *g = c->gate;
	const struct head *head = &c->head;

	evbuffer_add(c->request, g->written, head_write(head, g->scratch, g->written));
	evbuffer_drain(input, head->len);
	if (head->expects_continue && (head->chunked || head->content_length > 0) &&
	    evbuffer_get_length(input) == 0)
		send_continue(c);
	if (!head->chunked) {
		pass_on(c, input);
		return;
	}
	c->chunked = (struct chunked){0};
	gate_enter(c, STAGE_CHUNKS, c->deadline_us);
	read_chunks(c, input);
}

/* Look at the head, as far as it has come. */
static void judge_head(struct connection *c, struct evbuffer *input)
{
	struct gate *g = c->gate;
	ev_ssize_t len = evbuffer_copyout(input, g->scratch, sizeof(g->scratch));
	const char *detail;
	int status = head_read(&c->head, g->scratch, (size_t)len, g->options.max_body, &detail);

	if (status != 0)
		refuse(c, status, detail);
	else if (c->head.complete)
		accept_head(c, input);
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

static void on_read(struct bufferevent *bev, void *arg)
{
	struct connection *c = arg;

	c->on_read(bev, c->on_arg);
}

static void on_write(struct bufferevent *bev, void *arg)
{
	struct connection *c = arg;

	c->on_write(bev, c->on_arg);
}

/* evhttp would close without a word, but who sends no more may still read (RFC 9112, section 8). */
static void on_event(struct bufferevent *bev, short what, void *arg)
{
	static const short end = BEV_EVENT_READING | BEV_EVENT_EOF;
	struct connection *c = arg;

	if ((what & end) == end && gate_reads(c))
		answer(c, 400, "incomplete", "The request ended before it was complete.");
	c->on_event(bev, what, c->on_arg);
}

/* Until evhttp sets its callbacks anew, which it does when it answers. */
static void watch_for_end(struct connection *c)
{
	bufferevent_getcb(c->bev, &c->on_read, &c->on_write, &c->on_event, &c->on_arg);
	bufferevent_setcb(c->bev, on_read, on_write, on_event, c);
}

static void start_request(struct connection *c)
{
	register_fd(c->gate, c);
	watch_for_end(c);
	c->started_us = c->since_us = clock_mono_us();
	c->deadline_us = c->started_us + c->gate->options.request_ms * 1000;
	c->head = (struct head){0};
}

void gate_on_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *arg)
{
	struct connection *c = arg;

	if (info->n_added == 0 || evbuffer_get_length(c->stash) > 0)
		return;
	if (c->stage == STAGE_CHUNKS) {
		read_chunks(c, input);
	} else if (c->stage == STAGE_HEAD) {
		if (c->started_us == 0)
			start_request(c);
		judge_head(c, input);
	}
}
