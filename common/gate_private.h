/*
 * gate_private.h - what gate.c and gate_judge.c share: a connection and its stages.
 */
#ifndef UMAVEZ_GATE_PRIVATE_H
#define UMAVEZ_GATE_PRIVATE_H

#include "common/chunked.h"
#include "common/clock.h"
#include "common/gate.h"
#include "common/head.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <sys/queue.h>

enum { LINGER_MS = 2000 };

enum stage { STAGE_HEAD, STAGE_CHUNKS, STAGE_BODY, STAGE_ANSWER, STAGE_REFUSED, STAGE_LINGER };

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
	int64_t since_us;    /* in this stage */
	int64_t deadline_us; /* of the stage */
	struct head head;
	struct chunked chunked;
	struct evbuffer *request; /* as evhttp will see it: what is known of it so far */
	struct evbuffer *body;    /* out of its chunks */
	struct evbuffer *stash;   /* pipelined bytes that evhttp must not see yet */
	bufferevent_data_cb on_read, on_write; /* evhttp's, and their argument */
	bufferevent_event_cb on_event;
	void *on_arg;
	bool is_due;
	LIST_ENTRY(connection) link, due;
};

struct gate {
	struct gate_options options;
	LIST_HEAD(, connection) connections;
	LIST_HEAD(, connection) due; /* for the replay to look at */
	unsigned count;
	int64_t told_full_us; /* when it was last logged that there are max_connections */
	struct connection **by_fd;
	size_t n_by_fd;
	struct event *sweep; /* armed while there are connections */
	int64_t sweep_due_us;
	struct event *replay; /* of the due */
	bool draining;
	char scratch[HEAD_MAX], written[HEAD_MAX];
};

/* Is a request on its way that evhttp has not been given in full? */
static inline bool gate_reads(const struct connection *c)
{
	return (c->stage == STAGE_HEAD && c->started_us != 0) || c->stage == STAGE_CHUNKS ||
	       c->stage == STAGE_BODY;
}

/* Bytes below the low-water mark are kept from evhttp; above the high one nothing is read. */
void gate_valve(struct connection *c, bool open);

/* Look at c when the event that is being handled is over: evhttp has let go, or waits for the next
 * request. */
void gate_due(struct connection *c);

/* Move c to the next stage; the deadline is the stage's. */
void gate_enter(struct connection *c, enum stage stage, int64_t deadline_us);

/* Answer for evhttp, and make it let go. reason and detail as gate_options, status as problem.h. */
void gate_refuse(struct connection *c, int status, const char *reason, const char *detail);

/* An evbuffer_cb_func of the input, arg the connection: it runs before evhttp is told of the bytes.
 */
void gate_on_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *arg);

static inline int64_t gate_in_ms(int64_t ms)
{
	return clock_mono_us() + ms * 1000;
}

#endif
