/*
 * pg_io.h - bounded waits on a blocking PostgreSQL connection.  Internal to pg*.c.
 *
 * The server's own timeouts bound what it works on, and tcp_user_timeout what the network loses;
 * a server that is stopped, or behind a unix socket, is noticed only here.
 */
#ifndef UMAVEZ_PG_IO_H
#define UMAVEZ_PG_IO_H

#include "common/pg.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

/* Before any of the others, once a connection: libpq frees what is kept. Readable, stop_fd ends
 * every wait, after stop_ms more; 0: there is none. */
void pg_io_attach(PGconn *conn, int stop_fd, int64_t stop_ms);

/* How long one statement, or one row of a started one, may take from here to its end; 0: for ever.
 * That is what it is at first. */
void pg_io_limit(PGconn *conn, int64_t limit_ms);

/* Why a wait was given up, and the connection with it; NULL: none was. A literal. */
const char *pg_io_gave_up(const PGconn *conn);

/* poll(2) on the connection's socket: true when ready (or broken, which libpq will say); else it is
 * too late, or we are stopping, and the connection is shut down. INT64_MAX: no deadline. */
bool pg_io_wait(PGconn *conn, short events, int64_t deadline_us);

/*
 * One statement, sent and answered: its first error, or else its first result; NULL when the
 * connection is lost.  It has come to its end (its implicit transaction is committed) when there is
 * no error: what counts is that PQgetResult() gave NULL, since in the extended protocol the rows
 * come before the commit.  Past its deadline the connection is shut down.  Free with PQclear().
 */
PGresult *pg_io_query(PGconn *conn, const char *sql);
PGresult *pg_io_statement(PGconn *conn, const char *sql, const struct pg_params *params);
PGresult *pg_io_prepare(
    PGconn *conn, const char *name, const char *sql, int n_types, const Oid *types);
PGresult *pg_io_prepared(PGconn *conn, const char *name, const struct pg_params *params);

/* One sent, and answered row by row, in binary: each pg_io_next() is a row (PGRES_SINGLE_TUPLE),
 * or, behind the last one, what the others give. False: it could not be sent. */
bool pg_io_start(PGconn *conn, const char *name, const struct pg_params *params);
PGresult *pg_io_next(PGconn *conn);

#endif
