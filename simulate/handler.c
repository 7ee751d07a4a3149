#include "simulate/handler.h"

#include "simulate/outside.h"
#include "tests/support/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_HANDLER "effects.apply_purchase"

/* what names the option whose SQL this is. */
static int run(PGconn *conn, const char *what, const char *sql, struct err *err)
{
	PGresult *res = PQexec(conn, sql);
	bool good =
	    PQresultStatus(res) == PGRES_COMMAND_OK || PQresultStatus(res) == PGRES_TUPLES_OK;
	int rc = 0;

	if (!good) {
		char *message = text_format("%s", PQresultErrorMessage(res));

		message[strcspn(message, "\n")] = '\0';
		rc = err_set(err, ERR_USAGE, "%s: %.400s", what, message);
		free(message);
	}
	PQclear(res);
	return rc;
}

static int run_file(PGconn *conn, const char *path, struct err *err)
{
	char *sql = file_read(path, NULL), *what = text_format("--schema-file %.200s", path);
	int rc = -1;

	if (sql == NULL)
		err_set(err, ERR_USAGE, "%s: %s", what, strerror(errno));
	else
		rc = run(conn, what, sql, err);
	free(what);
	free(sql);
	return rc;
}

/* Its name as PostgreSQL writes it, which may stand in a statement. malloc'd. */
static int find_function(PGconn *conn, const char *name, char **ret_name, struct err *err)
{
	char *signature = text_format("%s(json)", name);
	const char *const values[] = {signature};
	PGresult *res = PQexecParams(conn,
	    "SELECT f::oid::regproc FROM to_regprocedure($1) AS f WHERE f IS NOT NULL", 1, NULL,
	    values, NULL, NULL, 0);
	int rc = -1;

	if (PQntuples(res) == 1) {
		*ret_name = text_format("%s", PQgetvalue(res, 0, 0));
		rc = 0;
	} else {
		err_set(err, ERR_USAGE, "--handler: there is no function %.200s", signature);
	}
	PQclear(res);
	free(signature);
	return rc;
}

static int install_function(PGconn *conn, const char *function, bool record, struct err *err)
{
	char *sql = text_format(
	    "CREATE SEQUENCE witness.calls;"
	    "GRANT USAGE ON SEQUENCE witness.calls TO umavez_consumer;"
	    "CREATE OR REPLACE FUNCTION witness.apply(event json) RETURNS void LANGUAGE plpgsql AS "
	    "$witness$ BEGIN PERFORM nextval('witness.calls'); %s"
	    "INSERT INTO witness.effect (source, message_id, subject)"
	    " VALUES (event ->> 'source', event ->> 'id', event ->> 'subject');"
	    "PERFORM %s(event); END $witness$",
	    record ? OUTSIDE_RECORD : "", function);
	int rc = run(conn, "--handler", sql, err);

	free(sql);
	return rc;
}

/* A query may end in a semicolon where people write it. */
static int install_query(PGconn *conn, const char *query, struct err *err)
{
	size_t len = strlen(query);
	char *sql;
	int rc;

	while (len > 0 && strchr("; \t\n", query[len - 1]) != NULL)
		len--;
	sql = text_format(
	    "CREATE OR REPLACE FUNCTION witness.counted() RETURNS TABLE (source text, message_id "
	    "text,"
	    " effects bigint) LANGUAGE sql STABLE AS $witness$ SELECT source::text, "
	    "message_id::text,"
	    " effects::bigint FROM (%.*s\n) AS q (source, message_id, effects) $witness$",
	    (int)len, query);
	rc = run(conn, "--effect-query", sql, err);
	free(sql);
	return rc;
}

int handler_install(
    struct world *w, const struct config *config, char **ret_function, struct err *err)
{
	const char *name = config->handler ? config->handler : DEFAULT_HANDLER;
	bool record = config->handler && !config->effect_query;
	PGconn *conn = world_pg(w);
	char *function = NULL;
	int rc = -1;

	for (size_t i = 0; i < config->schema_files.n; i++)
		if (run_file(conn, config->schema_files.values[i], err) < 0)
			goto done;
	if (record)
		outside_install(w);
	if (find_function(conn, name, &function, err) < 0 ||
	    install_function(conn, function, record, err) < 0)
		goto done;
	if (config->effect_query && install_query(conn, config->effect_query, err) < 0)
		goto done;
	*ret_function = function;
	function = NULL;
	rc = 0;
done:
	free(function);
	PQfinish(conn);
	return rc;
}
