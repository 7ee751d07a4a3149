/*
 * pg_io.h - bounded waits on a blocking PostgreSQL connection.  Internal to pg*.c.
 *
 * The server's own timeouts bound what it works on, and tcp_user_timeout what the network loses;
 * a server that is stopped, or behind a unix socket, is noticed only here.
 */
#ifndef UMAVEZ_PG_IO_H
#define UMAVEZ_PG_IO_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

/* How long one statement may take, from sending to its last result; 0: for ever. */
void pg_io_limit(PGconn *conn, int64_t limit_ms);

/* The deadline of a statement that begins now; INT64_MAX: none. */
int64_t pg_io_deadline(const PGconn *conn);

/* A statement met its deadline: the connection is of no use any more. */
bool pg_io_gave_up(const PGconn *conn);

/* poll(2) on the connection's socket: 1 ready (or broken, which libpq will say), 0 too late. */
int pg_io_wait(PGconn *conn, short events, int64_t deadline_us);

/*
 * One statement, sent and answered: its first error, or else its first result; NULL when the
 * connection is lost.  It has come to its end (its implicit transaction is committed) when there is
 * no error: what counts is that PQgetResult() gave NULL, since in the extended protocol the rows
 * come before the commit.  Past its deadline the connection is shut down.
 */
PGresult *pg_io_query(PGconn *conn, const char *sql);
PGresult *pg_io_statement(PGconn *conn, const char *sql, int n_params, const char *const *params);

#endif
