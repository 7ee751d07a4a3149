/*
 * session.h - one PostgreSQL connection in an event loop, which comes back by itself.
 *
 *	DOWN ──backoff──▶ CONNECTING ──▶ SETTINGS ──▶ SCHEMA ──▶ RIGHT ──▶ IDLE ◀──▶ BUSY
 *	 ▲                    │              │           │         │        │         │
 *	 └────────────────────┴── error ─────┴───────────┴─────────┴────────┴─────────┘
 *
 * RIGHT is passed once: a session that has come up before does not ask again, since a right that
 * was taken from a service at work may be given back.
 *
 * Each statement is a transaction of its own and has a deadline.  A statement that passes it, or a
 * connection that breaks, leaves an unknown outcome: nothing is cancelled, the connection is
 *closed.
 */
#ifndef UMAVEZ_SESSION_H
#define UMAVEZ_SESSION_H

#include "common/err.h"

#include <event2/event.h>
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

struct session;

struct session_options {
	struct event_base *base;
	const char *url; /* borrowed, like all of this */
	const char *application_name;
	int64_t statement_ms; /* deadline of a statement, and of connecting */
	int64_t lock_ms;      /* how long a statement may wait for a lock */

	/* Idle for the first time since it was down. */
	void (*up)(void *ctx);
	/* Was up (was_up), or could not come up. A kind other than ERR_RETRY will not heal. */
	void (*down)(void *ctx, bool was_up, const struct err *err);
	void *ctx;
};

/* Begins to connect when the loop runs. */
struct session *session_new(const struct session_options *options);
void session_free(struct session *s); /* no callback any more; NULL is fine */

bool session_is_idle(const struct session *s);
bool session_is_up(const struct session *s); /* IDLE or BUSY */

struct session_statement {
	const char *sql;
	int n;
	const char *const *values;
	const int *lengths, *formats;
};

/*
 * err NULL: committed, in the sense of P4; res is the result, valid during the call.  Otherwise res
 * is NULL.  The session is IDLE again, or DOWN, when this is called; it may send the next
 * statement.
 */
typedef void session_done_fn(void *ctx, const PGresult *res, const struct err *err);

/* An IDLE session only. done is called once, from the loop, never from here. */
void session_send(
    struct session *s, const struct session_statement *statement, session_done_fn *done, void *ctx);

/* Give up an IDLE connection that its user has no more trust in. */
void session_drop(struct session *s, const struct err *why);

#endif
