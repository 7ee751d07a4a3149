/* What the gate makes of the bytes of a request: wait for more, let them through, or refuse. */
#include "common/memory.h"
#include "producer/gate_private.h"
#include "producer/head.h"
#include "producer/meter.h"
#include "producer/problem.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define VALVE_SHUT SIZE_MAX

void gate_valve(struct connection *c, bool open)
{
	bufferevent_setwatermark(c->bev, EV_READ, open ? 0 : VALVE_SHUT, 0);
}

void gate_enter(struct connection *c, enum stage stage, int64_t deadline_us)
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
	gate_valve(c, stage == STAGE_BODY || stage == STAGE_LINGER);
}

/*
 * The answer goes out in one piece or not at all: the send buffer of a connection whose last answer
 * was written is all but empty.  evhttp, which has seen nothing of the request or a part of its
 * body, is made to believe that the client has gone.
 */
void gate_refuse(struct connection *c, int status, const char *reason, const char *detail)
{
	int fd = bufferevent_getfd(c->bev);
	size_t len;
	char *response = problem_response(status, detail, &len);

	meter_refused(c->gate->options.meter, "none", reason);
	if (send(fd, response, len, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)len)
		shutdown(fd, SHUT_WR);
	free(response);
	gate_enter(c, STAGE_REFUSED, gate_in_ms(LINGER_MS));
	bufferevent_trigger_event(
	    c->bev, BEV_EVENT_READING | BEV_EVENT_EOF, BEV_TRIG_DEFER_CALLBACKS);
	event_active(c->gate->replay, EV_TIMEOUT, 0);
}

static void refuse_head(struct connection *c, int status, const char *detail)
{
	gate_refuse(c, status, status == 413 ? "too_large" : "bad_request", detail);
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
	gate_enter(c, STAGE_BODY, c->deadline_us);
}

/* One byte of chunked body may cost six; real senders stay far below twice. */
static void judge_body(struct connection *c, size_t added)
{
	if (!c->chunked)
		return;
	c->raw += added;
	if (c->raw > 2 * (size_t)c->gate->options.max_body + 1024)
		gate_refuse(
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

void gate_on_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *arg)
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
