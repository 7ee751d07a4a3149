/*
 * gate_private.h - what gate.c and gate_judge.c share: a connection and its stages.
 */
#ifndef UMAVEZ_GATE_PRIVATE_H
#define UMAVEZ_GATE_PRIVATE_H

#include "common/clock.h"
#include "producer/gate.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <sys/queue.h>

enum { MAX_HEAD = 16384, LINGER_MS = 2000 };

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

/* Bytes below the low-water mark are kept from evhttp. */
void gate_valve(struct connection *c, bool open);

/* Move c to the next stage; the deadline is the stage's. */
void gate_enter(struct connection *c, enum stage stage, int64_t deadline_us);

/* Answer for evhttp, and make it let go. reason and status as meter_refused() and problem.h. */
void gate_refuse(struct connection *c, int status, const char *reason, const char *detail);

/* An evbuffer_cb_func of the input, arg the connection: it runs before evhttp is told of the bytes.
 */
void gate_on_input(struct evbuffer *input, const struct evbuffer_cb_info *info, void *arg);

static inline int64_t gate_in_ms(int64_t ms)
{
	return clock_mono_us() + ms * 1000;
}

#endif
