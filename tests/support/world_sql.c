#include "tests/support/die.h"
#include "tests/support/pause.h"
#include "tests/support/text.h"
#include "tests/support/world_private.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

PGconn *world_pg(struct world *w)
{
	PGconn *conn = PQconnectdb(world_admin_url(w));

	if (PQstatus(conn) != CONNECTION_OK)
		world_die(w, "cannot connect to PostgreSQL: %s", PQerrorMessage(conn));
	return conn;
}

void world_sql_reset(struct world *w)
{
	pthread_mutex_lock(&w->sql_lock);
	PQfinish(w->sql);
	w->sql = NULL;
	pthread_mutex_unlock(&w->sql_lock);
}

/*
 * A test may have ended the session's backend, or crashed the server: then once more, in a new
 * session.  Any other error is the test's own and ends the program.
 */
static PGresult *run_locked(struct world *w, const char *sql)
{
	for (int attempt = 0;; attempt++) {
		PGresult *res;

		if (w->sql == NULL)
			w->sql = world_pg(w);
		res = PQexec(w->sql, sql);
		if (PQresultStatus(res) == PGRES_TUPLES_OK ||
		    PQresultStatus(res) == PGRES_COMMAND_OK)
			return res;
		if (PQstatus(w->sql) == CONNECTION_OK || attempt > 0)
			world_die(w, "%s\nin: %s", PQerrorMessage(w->sql), sql);
		PQclear(res);
		PQfinish(w->sql);
		w->sql = NULL;
	}
}

static PGresult *run(struct world *w, const char *fmt, va_list args)
{
	PGresult *res;
	char *sql;

	if (vasprintf(&sql, fmt, args) < 0)
		die("out of memory");
	pthread_mutex_lock(&w->sql_lock);
	res = run_locked(w, sql);
	pthread_mutex_unlock(&w->sql_lock);
	free(sql);
	return res;
}

/* The first value; false if there is no row or it is NULL. */
static bool first_int(const PGresult *res, int64_t *ret_value)
{
	if (PQntuples(res) < 1 || PQgetisnull(res, 0, 0))
		return false;
	*ret_value = strtoll(PQgetvalue(res, 0, 0), NULL, 10);
	return true;
}

int64_t world_int(struct world *w, const char *fmt, ...)
{
	PGresult *res;
	va_list args;
	int64_t value;

	va_start(args, fmt);
	res = run(w, fmt, args);
	va_end(args);
	if (!first_int(res, &value))
		world_die(w, "no value: %s", fmt);
	PQclear(res);
	return value;
}

char *world_text(struct world *w, const char *fmt, ...)
{
	char *text = NULL;
	PGresult *res;
	va_list args;

	va_start(args, fmt);
	res = run(w, fmt, args);
	va_end(args);
	if (PQntuples(res) > 0 && !PQgetisnull(res, 0, 0))
		text = text_format("%s", PQgetvalue(res, 0, 0));
	PQclear(res);
	return text;
}

void world_sql(struct world *w, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	PQclear(run(w, fmt, args));
	va_end(args);
}

/* What the query gives as text, for the report. */
static void report_unmet(
    struct world *w, int64_t want, int64_t timeout_ms, bool known, int64_t got, const char *fmt)
{
	char number[32] = "nothing";

	if (known)
		snprintf(number, sizeof(number), "%" PRId64, got);
	fprintf(stderr, "not within %" PRId64 " ms: wanted %" PRId64 ", have %s: %s\n", timeout_ms,
	    want, number, fmt);
	world_print_logs(w);
}

bool world_await_int(struct world *w, int64_t want, int64_t timeout_ms, const char *fmt, ...)
{
	int64_t since_ms = now_ms(), got = 0;
	PGresult *res;
	va_list args;
	bool known;

	for (;;) {
		va_start(args, fmt);
		res = run(w, fmt, args);
		va_end(args);
		known = first_int(res, &got);
		PQclear(res);
		if (known && got == want)
			return true;
		if (now_ms() - since_ms >= timeout_ms)
			break;
		poll_pause(since_ms);
	}
	report_unmet(w, want, timeout_ms, known, got, fmt);
	return false;
}
