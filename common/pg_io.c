#include "common/pg_io.h"

#include "common/clock.h"
#include "common/memory.h"

#include <assert.h>
#include <errno.h>
#include <libpq-events.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>

/* What bounds the waits on a connection. */
struct bounds {
	int64_t limit_ms;
	int stop_fd;
	int64_t stop_ms;     /* what waits may take once it is readable */
	const char *gave_up; /* why; NULL: it did not */
};

/* libpq keeps them with the connection, under this procedure's address. */
static int keep_bounds(PGEventId event, void *info, void *arg)
{
	(void)arg;
	if (event == PGEVT_CONNDESTROY)
		free(PQinstanceData(((PGEventConnDestroy *)info)->conn, keep_bounds));
	return 1;
}

static struct bounds *bounds_of(const PGconn *conn)
{
	return PQinstanceData(conn, keep_bounds);
}

void pg_io_attach(PGconn *conn, int stop_fd, int64_t stop_ms)
{
	struct bounds *b = mem_zalloc(1, sizeof(*b));

	b->stop_fd = stop_fd > 0 ? stop_fd : -1;
	b->stop_ms = stop_ms;
	if (!PQregisterEventProc(conn, keep_bounds, "umavez", NULL) ||
	    !PQsetInstanceData(conn, keep_bounds, b))
		abort(); /* out of memory */
}

void pg_io_limit(PGconn *conn, int64_t limit_ms)
{
	bounds_of(conn)->limit_ms = limit_ms;
}

static int64_t deadline_of(const PGconn *conn)
{
	int64_t limit_ms = bounds_of(conn)->limit_ms;

	return limit_ms > 0 ? clock_mono_us() + limit_ms * 1000 : INT64_MAX;
}

static int remaining_ms(int64_t deadline_us)
{
	int64_t left_us = deadline_us - clock_mono_us();

	if (deadline_us == INT64_MAX)
		return -1;
	return left_us > 0 ? (int)((left_us + 999) / 1000) : 0;
}

/* libpq sees the end of the connection, and nothing waits for it any longer. */
static void give_up(PGconn *conn, const char *why)
{
	bounds_of(conn)->gave_up = why;
	shutdown(PQsocket(conn), SHUT_RDWR);
}

const char *pg_io_gave_up(const PGconn *conn)
{
	const struct bounds *b = bounds_of(conn);

	return b ? b->gave_up : NULL;
}

static int poll_until(struct pollfd *pfds, nfds_t n_pfds, int64_t deadline_us)
{
	int n;

	do
		n = poll(pfds, n_pfds, remaining_ms(deadline_us));
	while (n < 0 && errno == EINTR);
	return n;
}

static int64_t earlier(int64_t a_us, int64_t b_us)
{
	return a_us < b_us ? a_us : b_us;
}

bool pg_io_wait(PGconn *conn, short events, int64_t deadline_us)
{
	const struct bounds *b = bounds_of(conn);
	struct pollfd pfds[] = {
	    {.fd = PQsocket(conn), .events = events}, {.fd = b->stop_fd, .events = POLLIN}};
	int n = poll_until(pfds, 2, deadline_us);
	bool stopping = n > 0 && pfds[1].revents;

	if (stopping && !pfds[0].revents)
		n = poll_until(pfds, 1, earlier(deadline_us, clock_mono_us() + b->stop_ms * 1000));
	/* An answer that is there is taken, also when stopping. */
	if (n < 0 || pfds[0].revents)
		return true;
	give_up(conn, stopping ? "stopping" : "no answer from the server in time");
	return false;
}

/* A connection that breaks meanwhile is read to its end, where the server may have said why. */
static void flush(PGconn *conn, int64_t deadline_us)
{
	while (PQflush(conn) > 0) {
		if (!pg_io_wait(conn, POLLIN | POLLOUT, deadline_us))
			return;
		/* A server that writes while we do must be read, or both wait for ever. */
		if (!PQconsumeInput(conn))
			return;
	}
}

static void await_result(PGconn *conn, int64_t deadline_us)
{
	while (PQisBusy(conn)) {
		if (!pg_io_wait(conn, POLLIN, deadline_us) || !PQconsumeInput(conn))
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

/* Takes kept over. */
static PGresult *collect(PGconn *conn, PGresult *kept, int64_t deadline_us)
{
	PGresult *res;

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

/* Sending does not block from here to finish_sending(). */
static int64_t begin(PGconn *conn)
{
	PQsetnonblocking(conn, 1);
	return deadline_of(conn);
}

static void finish_sending(PGconn *conn, int64_t deadline_us)
{
	flush(conn, deadline_us);
	PQsetnonblocking(conn, 0);
}

static PGresult *finish(PGconn *conn, int sent, int64_t deadline_us)
{
	finish_sending(conn, deadline_us);
	return sent ? collect(conn, NULL, deadline_us) : NULL;
}

PGresult *pg_io_query(PGconn *conn, const char *sql)
{
	int64_t deadline_us = begin(conn);

	return finish(conn, PQsendQuery(conn, sql), deadline_us);
}

PGresult *pg_io_statement(PGconn *conn, const char *sql, const struct pg_params *params)
{
	int64_t deadline_us = begin(conn);

	return finish(conn,
	    PQsendQueryParams(
		conn, sql, params->n, NULL, params->values, params->lens, params->formats, 0),
	    deadline_us);
}

PGresult *pg_io_prepare(
    PGconn *conn, const char *name, const char *sql, int n_types, const Oid *types)
{
	int64_t deadline_us = begin(conn);

	return finish(conn, PQsendPrepare(conn, name, sql, n_types, types), deadline_us);
}

static int send_prepared(PGconn *conn, const char *name, const struct pg_params *p, bool binary)
{
	return PQsendQueryPrepared(conn, name, p->n, p->values, p->lens, p->formats, binary);
}

PGresult *pg_io_prepared(PGconn *conn, const char *name, const struct pg_params *params)
{
	int64_t deadline_us = begin(conn);

	return finish(conn, send_prepared(conn, name, params, false), deadline_us);
}

bool pg_io_start(PGconn *conn, const char *name, const struct pg_params *params)
{
	int64_t deadline_us = begin(conn);
	bool sent = send_prepared(conn, name, params, true) && PQsetSingleRowMode(conn);

	finish_sending(conn, deadline_us);
	return sent;
}

PGresult *pg_io_next(PGconn *conn)
{
	int64_t deadline_us = deadline_of(conn);
	PGresult *res;

	await_result(conn, deadline_us);
	res = PQgetResult(conn);
	if (PQresultStatus(res) == PGRES_SINGLE_TUPLE)
		return res;
	return collect(conn, res, deadline_us);
}
