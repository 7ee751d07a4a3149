/*
 * loop.h - one event loop: its listening socket, its requests and its database connections.
 */
#ifndef UMAVEZ_LOOP_H
#define UMAVEZ_LOOP_H

#include "common/err.h"
#include "producer/intake.h"
#include "producer/route.h"

#include <event2/event.h>
#include <stdbool.h>
#include <stdint.h>

struct loop;
struct refused;

/* Borrowed until loop_free(), but for listen_fd. */
struct loop_options {
	int listen_fd; /* the loop's from then on */
	struct intake_shared *shared;
	struct refused *refused; /* of all loops */
	const struct routes *routes;
	const char *database_url, *application_name;
	unsigned database_connections, max_connections;
	size_t batch;
	int64_t max_body, request_ms, lock_ms, drain_ms;
	bool trust_traceparent;
};

struct loop *loop_new(const struct loop_options *options);
struct event_base *loop_base(struct loop *l);

/* Serve until service_stopping(), then drain, at most drain_ms. On the thread that calls. */
void loop_run(struct loop *l);

/* Any thread. */
int64_t loop_beat_us(const struct loop *l); /* when it was last seen turning; clock_mono_us() */
bool loop_has_database(const struct loop *l);
unsigned loop_unanswered(const struct loop *l); /* after loop_run(): who still waited */

/* After loop_run(). NULL is fine. */
void loop_free(struct loop *l);

#endif
