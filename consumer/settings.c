#include "consumer/settings.h"

#include "common/memory.h"
#include "common/pg.h"
#include "consumer_text.h"

#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 10000

static int no_handler(const char *handler, struct err *err)
{
	return err_set(err, ERR_USAGE,
	    "--handler: there is no function %s(json) (give its name alone, with its schema; what "
	    "it takes is one json, not jsonb)",
	    handler);
}

/* A name that cannot be parsed at all: syntax error, invalid name, text for another type, and one
 * of another database (feature_not_supported). */
static bool is_bad_name(const struct err *err)
{
	return strncmp(err->sqlstate, "42", 2) == 0 || strncmp(err->sqlstate, "22", 2) == 0 ||
	       strcmp(err->sqlstate, "0A000") == 0;
}

/* The handler's schema is the user's: umavez migrate --roles grants nothing on it. */
static int denied(PGconn *conn, const char *handler, const struct err *cause, struct err *err)
{
	PGresult *res = NULL;

	if (pg_run(conn, consumer_sql_closed_schema_sql, 1, &handler, &res, err) < 0)
		return -1;
	if (PQntuples(res) == 1) {
		err_set(err, ERR_USAGE, "--handler: %s: GRANT USAGE ON SCHEMA %s TO %s",
		    cause->message, pg_text(res, 0, "schema"), pg_text(res, 0, "grantee"));
	} else {
		*err = *cause;
		pg_error_at_start(err);
	}
	PQclear(res);
	return -1;
}

static int ask(PGconn *conn, const char *handler, struct settings *ret, struct err *err)
{
	struct err cause = ERR_INIT;
	PGresult *res = NULL;
	int rc = -1;

	if (pg_run(conn, consumer_sql_settings_sql, 1, &handler, &res, &cause) < 0) {
		if (strcmp(cause.sqlstate, "42501") == 0)
			return denied(conn, handler, &cause, err);
		if (is_bad_name(&cause))
			return no_handler(handler, err);
		*err = cause;
		return -1;
	}
	if (PQntuples(res) != 1) {
		err_set(err, ERR_MISMATCH,
		    "effects.setting is empty: run umavez migrate with --shards");
		goto done;
	}
	if (!pg_text(res, 0, "handler")) {
		no_handler(handler, err);
		goto done;
	}
	ret->shards = (unsigned)pg_int(res, 0, "shards");
	ret->handler = mem_strdup(pg_text(res, 0, "handler"));
	rc = 0;
done:
	PQclear(res);
	return rc;
}

int settings_read(
    const char *database_url, const char *handler, struct settings *ret_settings, struct err *err)
{
	const struct pg_session session = {.application_name = "umavez-consumer",
	    .statement_timeout = TIMEOUT_MS,
	    .lock_timeout = TIMEOUT_MS,
	    .idle_in_transaction_timeout = TIMEOUT_MS};
	PGconn *conn = NULL;
	int rc = -1;

	if (pg_connect(database_url, &session, &conn, err) < 0 ||
	    pg_check_schema(conn, "effects", err) < 0)
		goto done;
	rc = ask(conn, handler, ret_settings, err);
done:
	PQfinish(conn);
	return rc;
}

void settings_done(struct settings *s)
{
	free(s->handler);
}
