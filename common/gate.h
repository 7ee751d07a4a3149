/*
 * gate.h - what stands between the sockets of one event loop and evhttp.
 *
 * evhttp acts on every byte as it comes, gives a slow client for ever, answers its own errors in
 * HTML and closes a connection while the client is still sending, so that the answer is lost to a
 * reset.  The gate holds a request back until its head is complete and acceptable (head.h), takes
 * its body out of its chunks (chunked.h), and gives evhttp one form of both, a request at a time.
 * It answers for evhttp otherwise, and bounds every stage in time:
 *
 *	      ┌──▶ CHUNKS ───┐
 *	      │     │        ▼
 *	     HEAD ──┼──────▶ BODY ──complete──▶ ANSWER ──written──▶ HEAD
 *	      │     │refused │                    │ evhttp lets go
 *	client│     ▼        │                    │
 *	 gone │   REFUSED ◀──┘                    │
 *	      └─────┴──────▶ LINGER ◀─────────────┘   LINGER: read on until the client has closed
 *
 * The valve is the low-water mark of the input: evhttp is not told of bytes below it.
 */
#ifndef UMAVEZ_GATE_H
#define UMAVEZ_GATE_H

#include <event2/event.h>
#include <event2/http.h>
#include <event2/listener.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gate;

struct gate_options {
	struct event_base *base;
	struct evhttp *http;
	struct evconnlistener *listener; /* paused while there are max_connections, until the
					    slowest of them are closed */
	/* A request. Both are static text: the reason a word, the detail a sentence. */
	void (*refused)(void *ctx, const char *reason, const char *detail);
	void (*full)(void *ctx, unsigned connections); /* so many are all, once a minute at most */
	void *ctx;
	int64_t max_body;   /* bytes */
	int64_t request_ms; /* from the first byte of a request to its last, and so long for the
			       answer */
	unsigned max_connections;
};

/* Sets evhttp's bevcb. Everything is borrowed. */
struct gate *gate_new(const struct gate_options *options);

/* After evhttp_free(). NULL is fine. */
void gate_free(struct gate *g);

/* Call first for every request that evhttp hands over. When its first byte came, and until when it
 * is to be answered: request_ms later, or more if this process stood still meanwhile. */
struct gate_times {
	int64_t started_us, deadline_us; /* clock_mono_us() */
};
struct gate_times gate_take(struct gate *g, struct evhttp_request *req);

/* Accept again, if there is room: somebody else may have paused the listener. */
void gate_resume(struct gate *g);

/* Close what is idle, now and from now on; the listener is the caller's to close. */
void gate_drain(struct gate *g);

/* Connections on which a request is being read, handled or answered. */
unsigned gate_busy(const struct gate *g);

#endif
