#include "common/pg.h"

#include "common/memory.h"
#include "common/pg_io.h"
#include "common/role.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool in_class(const char *sqlstate, const char *const *classes)
{
	for (; *classes; classes++) {
		if (strncmp(sqlstate, *classes, strlen(*classes)) == 0)
			return true;
	}
	return false;
}

/* https://www.postgresql.org/docs/15/errcodes-appendix.html */
bool pg_sqlstate_is_transient(const char *sqlstate)
{
	static const char *const transient[] = {
	    "08",    /* connection exception */
	    "40",    /* transaction rollback: serialization, deadlock */
	    "53",    /* insufficient resources */
	    "57",    /* operator intervention: timeout, shutdown */
	    "58",    /* system error outside PostgreSQL */
	    "25006", /* read-only transaction: a standby, soon promoted or left */
	    "25P03", /* idle in transaction for too long */
	    "55P03", /* lock not available */
	    NULL,
	};

	return !sqlstate || !*sqlstate || in_class(sqlstate, transient);
}

enum err_kind pg_error_kind(const char *sqlstate)
{
	static const char *const mended[] = {
	    "42501", /* insufficient privilege: somebody will grant it */
	    "28",    /* invalid authorization */
	    "3D",    /* the database does not exist yet */
	    NULL,
	};
	static const char *const reject[] = {
	    "22", /* data exception */
	    "23", /* integrity constraint violation */
	    "54", /* program limit exceeded: too long for an index, too deep to parse */
	    "P0", /* raised by PL/pgSQL code */
	    NULL,
	};

	if (pg_sqlstate_is_transient(sqlstate) || in_class(sqlstate, mended))
		return ERR_RETRY;
	return in_class(sqlstate, reject) ? ERR_REJECT : ERR_FATAL;
}

/* The server has ended the connection with this error: it says nothing of the statement. */
static bool ends_connection(const PGresult *res)
{
	const char *severity = PQresultErrorField(res, PG_DIAG_SEVERITY_NONLOCALIZED);

	return severity && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0);
}

/* As far as the end of its n-th line. */
static size_t lines(const char *text, unsigned n)
{
	size_t len = strcspn(text, "\n");

	while (--n > 0 && text[len])
		len += 1 + strcspn(text + len + 1, "\n");
	return len;
}

/* The innermost functions are the first lines of CONTEXT, and what it raised itself is there. */
static void add_context(const PGresult *res, struct err *err)
{
	static const struct {
		int field;
		unsigned lines;
		const char *label;
	} more[] = {{PG_DIAG_MESSAGE_DETAIL, 1, "DETAIL"}, {PG_DIAG_MESSAGE_HINT, 1, "HINT"},
	    {PG_DIAG_CONTEXT, 3, "CONTEXT"}};

	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++) {
		const char *text = PQresultErrorField(res, more[i].field);

		if (text)
			err_add_context(err, more[i].label, text, lines(text, more[i].lines));
	}
}

int pg_error(PGconn *conn, const PGresult *res, struct err *err)
{
	const char *sqlstate = res ? PQresultErrorField(res, PG_DIAG_SQLSTATE) : NULL;
	const char *message = res ? PQresultErrorField(res, PG_DIAG_MESSAGE_PRIMARY) : NULL;

	if (conn && pg_io_gave_up(conn))
		return err_set(err, ERR_RETRY, "%s", pg_io_gave_up(conn));
	/* What libpq itself reports has text, but no fields. */
	if (!message && res && *PQresultErrorMessage(res))
		message = PQresultErrorMessage(res);
	if (!message && *PQerrorMessage(conn))
		message = PQerrorMessage(conn);
	if (!message && res)
		return err_set(
		    err, ERR_FATAL, "unexpected result %s", PQresStatus(PQresultStatus(res)));
	err_set(err, pg_error_kind(sqlstate), "%s", message ? message : "the connection is lost");
	if (ends_connection(res))
		err->kind = ERR_RETRY;
	if (sqlstate)
		strncpy(err->sqlstate, sqlstate, sizeof(err->sqlstate) - 1);
	add_context(res, err);
	return -1;
}

void pg_allow_silence(PGconn *conn, int64_t ms)
{
	pg_io_limit(conn, ms);
}

bool pg_was_silent(const PGconn *conn)
{
	return pg_io_gave_up(conn) != NULL;
}

int pg_error_at_start(struct err *err)
{
	if (strcmp(err->sqlstate, "42501") != 0)
		return -1;
	char *denied = mem_strdup(err->message);
	err_set(err, ERR_USAGE,
	    "%.200s: connect as a member of %s, which umavez migrate --roles makes", denied,
	    role_name());
	free(denied);
	strcpy(err->sqlstate, "42501");
	return -1;
}

static bool is_done(const PGresult *res)
{
	ExecStatusType status = PQresultStatus(res);

	return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK ||
	       status == PGRES_EMPTY_QUERY;
}

/* Takes res over. */
static int conclude(PGconn *conn, PGresult *res, PGresult **ret_res, struct err *err)
{
	int rc = -1;

	if (!res || !is_done(res) || PQstatus(conn) != CONNECTION_OK) {
		pg_error(conn, res && is_done(res) ? NULL : res, err);
		goto done;
	}
	if (ret_res) {
		*ret_res = res;
		res = NULL; /* the caller's now */
	}
	rc = 0;
done:
	PQclear(res);
	return rc;
}

int pg_run_params(PGconn *conn, const char *sql, const struct pg_params *params, PGresult **ret_res,
    struct err *err)
{
	return conclude(conn, pg_io_statement(conn, sql, params), ret_res, err);
}

int pg_run(PGconn *conn, const char *sql, int n_params, const char *const *params,
    PGresult **ret_res, struct err *err)
{
	const struct pg_params p = {.n = n_params, .values = params};

	return pg_run_params(conn, sql, &p, ret_res, err);
}

int pg_exec(PGconn *conn, const char *sql, struct err *err)
{
	return conclude(conn, pg_io_query(conn, sql), NULL, err);
}

int pg_prepare(
    PGconn *conn, const char *name, const char *sql, int n_types, const Oid *types, struct err *err)
{
	return conclude(conn, pg_io_prepare(conn, name, sql, n_types, types), NULL, err);
}

int pg_run_prepared(PGconn *conn, const char *name, const struct pg_params *params,
    PGresult **ret_res, struct err *err)
{
	return conclude(conn, pg_io_prepared(conn, name, params), ret_res, err);
}

int pg_start_prepared(
    PGconn *conn, const char *name, const struct pg_params *params, struct err *err)
{
	return pg_io_start(conn, name, params) ? 0 : pg_error(conn, NULL, err);
}

int pg_row(PGconn *conn, PGresult **ret_row, struct err *err)
{
	PGresult *res = pg_io_next(conn);

	if (PQresultStatus(res) == PGRES_SINGLE_TUPLE) {
		*ret_row = res;
		return 0;
	}
	if (conclude(conn, res, NULL, err) < 0)
		return -1;
	*ret_row = NULL;
	return 0;
}

static const char *value(const PGresult *res, int row, const char *column)
{
	int i = PQfnumber(res, column);

	assert(i >= 0 && row >= 0 && row < PQntuples(res));
	return PQgetisnull(res, row, i) ? NULL : PQgetvalue(res, row, i);
}

int64_t pg_int(const PGresult *res, int row, const char *column)
{
	const char *text = value(res, row, column);

	return text ? strtoll(text, NULL, 10) : 0;
}

uint64_t pg_uint(const PGresult *res, int row, const char *column)
{
	const char *text = value(res, row, column);

	return text ? strtoull(text, NULL, 10) : 0;
}

bool pg_bool(const PGresult *res, int row, const char *column)
{
	const char *text = value(res, row, column);

	return text && *text == 't';
}

const char *pg_text(const PGresult *res, int row, const char *column)
{
	return value(res, row, column);
}

const char *pg_number(char buf[PG_NUMBER_SIZE], int64_t n)
{
	snprintf(buf, PG_NUMBER_SIZE, "%" PRId64, n);
	return buf;
}
