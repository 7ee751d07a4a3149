/*
 * pg.h - PostgreSQL sessions that behave the same whatever the role's defaults.
 *
 * There is no general query layer: each SQL statement is a verb of the module that owns it, which
 * uses libpq with the helpers here.  Source: PostgreSQL 15 documentation, chapters 34 and 20.11.
 */
#ifndef UMAVEZ_PG_H
#define UMAVEZ_PG_H

#include "common/err.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

/* What every session sets for itself. Times in ms; 0: no limit. */
struct pg_session {
	const char *application_name; /* "umavez-relay/0"; borrowed for the call */
	int64_t statement_timeout;
	int64_t lock_timeout;
	int64_t idle_in_transaction_timeout;
	int64_t connect_timeout; /* also tcp_user_timeout; 0: 5000 */
	/* Of a blocking session: once it is readable, what waits for the server for stop_ms more
	 * fails (ERR_RETRY) and the connection is shut down; 0: none. */
	int stop_fd;
	int64_t stop_ms;
};

/* Only the form, and without its password in *err (ERR_USAGE). libpq's keyword form is one, too. */
int pg_url_check(const char *url, struct err *err) warn_unused;

/*
 * Connect, set up the session (synchronous_commit on or stronger, read committed, TimeZone UTC,
 * timeouts, keepalives, tcp_user_timeout) and check that the settings arrived: a transaction pooler
 * drops them, and is refused with a message that says so (ERR_FATAL).  A standby or a read-only
 * server is ERR_RETRY.  Wrong credentials or an unreachable server are ERR_RETRY too.
 * Close with PQfinish().
 */
int pg_connect(const char *url, const struct pg_session *session, PGconn **ret_conn,
    struct err *err) warn_unused;

/*
 * The same for an event loop: pg_connect_start() returns at once and the caller drives
 * PQconnectPoll(); once connected it sends pg_session_check_query() and gives the result to
 * pg_session_check(). ret_nonce ties the two; it is a buffer of 33 bytes.
 */
int pg_connect_start(const char *url, const struct pg_session *session, PGconn **ret_conn,
    char ret_nonce[33], struct err *err) warn_unused;
const char *pg_session_check_query(void);
int pg_session_check(const PGresult *res, const char *nonce, struct err *err) warn_unused;
int pg_connect_error(PGconn *conn, struct err *err); /* PQconnectPoll() failed. Returns -1 */

/* What may befall any statement at any time, and is not its own fault: classes 08, 40, 53, 57, 58,
 * and 25006, 55P03, 25P03.  So is what has no SQLSTATE at all (NULL or ""): libpq reports it. */
bool pg_sqlstate_is_transient(const char *sqlstate);

/*
 * One function maps SQLSTATE to a reaction: what is transient is ERR_RETRY; 42501, 3D and 28 are
 * too (somebody will mend it); class 22, 23, 54 and P0 are ERR_REJECT; the rest is ERR_FATAL.
 */
enum err_kind pg_error_kind(const char *sqlstate);

/* Fill *err from a failed result, or from the connection when res is NULL. What ends the connection
 * (severity FATAL or PANIC) is ERR_RETRY whatever its SQLSTATE. Returns -1. */
int pg_error(PGconn *conn, const PGresult *res, struct err *err);

/*
 * For what a service does before it can work at all: there a missing privilege (42501), which later
 * somebody may take and give back, is an error of the configuration.  It becomes ERR_USAGE, and its
 * message says what grants it; other errors stay as they are.  Returns -1.
 */
int pg_error_at_start(struct err *err);

/*
 * Run one statement, blocking, in the extended protocol, text parameters and text results.  The
 * statement is done (its implicit transaction committed) when this returns 0: PQgetResult() has
 * given NULL, and no error followed the rows.  ret_res may be NULL.  Free with PQclear().
 *
 * This and all below wait for a server that says nothing at most as long as the
 * session's statement_timeout and connect_timeout together (for ever, if it has none); then the
 * connection is shut down (ERR_RETRY, PQstatus() is bad).
 */
int pg_run(PGconn *conn, const char *sql, int n_params, const char *const *params,
    PGresult **ret_res, struct err *err) warn_unused;

/* From here on, another limit for such waits: on the answer to a statement, or on one row of it. */
void pg_allow_silence(PGconn *conn, int64_t ms);
/* A wait was given up, for that or because of stop_fd; the connection is of no use any more. */
bool pg_was_silent(const PGconn *conn);

/* The same with parameters as PQexecParams() takes them; borrowed for the call. */
struct pg_params {
	int n;
	const char *const *values;
	const int *lens, *formats; /* NULL: all are text */
};
int pg_run_params(PGconn *conn, const char *sql, const struct pg_params *params, PGresult **ret_res,
    struct err *err) warn_unused;

/* One or more statements without parameters, by the simple protocol. */
int pg_exec(PGconn *conn, const char *sql, struct err *err) warn_unused;

/* A statement prepared on this connection. types: Oids, 0 where the statement says it.
 */
int pg_prepare(PGconn *conn, const char *name, const char *sql, int n_types, const Oid *types,
    struct err *err) warn_unused;

int pg_run_prepared(PGconn *conn, const char *name, const struct pg_params *params,
    PGresult **ret_res, struct err *err) warn_unused;

/* One whose rows come one by one and in binary, each within the time that a statement has.  The row
 * is the caller's; NULL: no more, and the statement is done. */
int pg_start_prepared(
    PGconn *conn, const char *name, const struct pg_params *params, struct err *err) warn_unused;
int pg_row(PGconn *conn, PGresult **ret_row, struct err *err) warn_unused;

/*
 * COMMIT, and the verdict of promise P4: 0 only if the server said so, the tag was not ROLLBACK and
 * no WARNING came with it (a synchronous standby that did not confirm).  ERR_RETRY otherwise, and
 * then the outcome is unknown: nobody may be told that it is durable.  ERR_REJECT: a deferred
 * constraint or trigger refused the data, and the transaction is rolled back.
 */
int pg_commit(PGconn *conn, struct err *err) warn_unused;

/*
 * The same verdict for a statement that is its own transaction, in an event loop.  Begin before the
 * statement is sent, feed every PGresult, and ask when PQgetResult() gave NULL.  Keeps the WARNINGs
 * of the connection that arrive in between.
 */
struct pg_verdict {
	bool failed;
	bool warned;
	struct err err;
};
void pg_verdict_begin(struct pg_verdict *v, PGconn *conn); /* v must outlive the statement */
void pg_verdict_result(struct pg_verdict *v, PGconn *conn, const PGresult *res);
int pg_verdict_committed(const struct pg_verdict *v, PGconn *conn, struct err *err) warn_unused;

/* Values of a text result.  Assert on what the statement guarantees; NULL reads as 0.  (libpq has
 * taken the name pg_int64.) */
int64_t pg_int(const PGresult *res, int row, const char *column);
uint64_t pg_uint(const PGresult *res, int row, const char *column);
bool pg_bool(const PGresult *res, int row, const char *column);
const char *pg_text(const PGresult *res, int row, const char *column); /* NULL for SQL NULL */

/* A number as a text parameter, in buf, which is returned. */
#define PG_NUMBER_SIZE 24
const char *pg_number(char buf[PG_NUMBER_SIZE], int64_t n);

/* Refuse (ERR_MISMATCH, exit 3) unless schema ("intake" or "effects") is at exactly the version
 * that this binary was built with. */
int pg_check_schema(PGconn *conn, const char *schema, struct err *err) warn_unused;

/* The same for an event loop: send the query, give the result. */
const char *pg_schema_check_query(const char *schema);
int pg_schema_check(const PGresult *res, const char *schema, struct err *err) warn_unused;

#endif
