#include "common/pg_io.h"

#include "common/clock.h"

#include <assert.h>
#include <errno.h>
#include <libpq-events.h>
#include <poll.h>
#include <stdbool.h>
#include <sys/socket.h>

/* libpq keeps the limit with the connection, under this procedure's address; negative: a statement
 * met it. */
static int keep_limit(PGEventId event, void *info, void *arg)
{
	(void)event;
	(void)info;
	(void)arg;
	return 1;
}

void pg_io_limit(PGconn *conn, int64_t limit_ms)
{
	if (PQregisterEventProc(conn, keep_limit, "umavez", NULL))
		PQsetInstanceData(conn, keep_limit, (void *)(intptr_t)limit_ms);
}

int64_t pg_io_deadline(const PGconn *conn)
{
	int64_t limit_ms = (intptr_t)PQinstanceData(conn, keep_limit);

	return limit_ms > 0 ? clock_mono_us() + limit_ms * 1000 : INT64_MAX;
}

static int remaining_ms(int64_t deadline_us)
{
	int64_t left_us = deadline_us - clock_mono_us();

	if (deadline_us == INT64_MAX)
		return -1;
	return left_us > 0 ? (int)((left_us + 999) / 1000) : 0;
}

int pg_io_wait(PGconn *conn, short events, int64_t deadline_us)
{
	struct pollfd pfd = {.fd = PQsocket(conn), .events = events};
	int n;

	do
		n = poll(&pfd, 1, remaining_ms(deadline_us));
	while (n < 0 && errno == EINTR);
	return n != 0;
}

/* libpq sees the end of the connection, and nothing waits for it any longer. */
static void give_up(PGconn *conn)
{
	PQsetInstanceData(conn, keep_limit, (void *)(intptr_t)-1);
	shutdown(PQsocket(conn), SHUT_RDWR);
}

bool pg_io_gave_up(const PGconn *conn)
{
	return (intptr_t)PQinstanceData(conn, keep_limit) < 0;
}

/* A connection that breaks meanwhile is read to its end, where the server may have said why. */
static void flush(PGconn *conn, int64_t deadline_us)
{
	while (PQflush(conn) > 0) {
		if (!pg_io_wait(conn, POLLIN | POLLOUT, deadline_us)) {
			give_up(conn);
			return;
		}
		/* A server that writes while we do must be read, or both wait for ever. */
		if (!PQconsumeInput(conn))
			return;
	}
}

static void await_result(PGconn *conn, int64_t deadline_us)
{
	while (PQisBusy(conn)) {
		if (!pg_io_wait(conn, POLLIN, deadline_us)) {
			give_up(conn);
			return;
		}
		if (!PQconsumeInput(conn))
			return;
	}
}

static bool is_error(const PGresult *res)
{
	ExecStatusType status = PQresultStatus(res);

	assert(status != PGRES_COPY_IN && status != PGRES_COPY_OUT && status != PGRES_COPY_BOTH);
	return status != PGRES_TUPLES_OK && status != PGRES_COMMAND_OK &&
	       status != PGRES_EMPTY_QUERY;
}

static PGresult *collect(PGconn *conn, int64_t deadline_us)
{
	PGresult *kept = NULL, *res;

	for (;;) {
		await_result(conn, deadline_us);
		res = PQgetResult(conn);
		if (!res)
			return kept;
		if (!kept || (!is_error(kept) && is_error(res))) {
			PQclear(kept);
			kept = res;
		} else {
			PQclear(res);
		}
	}
}

static PGresult *finish(PGconn *conn, int64_t deadline_us)
{
	flush(conn, deadline_us);
	PQsetnonblocking(conn, 0);
	return collect(conn, deadline_us);
}

PGresult *pg_io_query(PGconn *conn, const char *sql)
{
	int64_t deadline_us = pg_io_deadline(conn);

	PQsetnonblocking(conn, 1);
	if (PQsendQuery(conn, sql))
		return finish(conn, deadline_us);
	PQsetnonblocking(conn, 0);
	return NULL;
}

PGresult *pg_io_statement(PGconn *conn, const char *sql, int n_params, const char *const *params)
{
	int64_t deadline_us = pg_io_deadline(conn);

	PQsetnonblocking(conn, 1);
	if (PQsendQueryParams(conn, sql, n_params, NULL, params, NULL, NULL, 0))
		return finish(conn, deadline_us);
	PQsetnonblocking(conn, 0);
	return NULL;
}
