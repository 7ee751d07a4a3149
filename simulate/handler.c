#include "simulate/handler.h"

#include "simulate/outside.h"
#include "tests/support/files.h"
#include "tests/support/text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* position: as PostgreSQL has it, in characters from 1; NULL: it has none. */
static int line_of(const char *sql, const char *position)
{
	int line = 1;

	if (!position)
		return 0;
	for (long left = strtol(position, NULL, 10) - 1; *sql && left > 0; sql++) {
		line += *sql == '\n';
		left -= (*sql & 0xC0) != 0x80; /* the first byte of a character in UTF-8 */
	}
	return line;
}

/* what names the option whose SQL this is; by_line: an error says its line. */
static int run(PGconn *conn, const char *what, const char *sql, bool by_line, struct err *err)
{
	PGresult *res = PQexec(conn, sql);
	bool good =
	    PQresultStatus(res) == PGRES_COMMAND_OK || PQresultStatus(res) == PGRES_TUPLES_OK;
	int rc = 0, line;

	if (!good) {
		char *message = text_format("%s", PQresultErrorMessage(res));

		message[strcspn(message, "\n")] = '\0';
		rc = err_set(err, ERR_USAGE, "%.400s", message);
		line = line_of(sql, PQresultErrorField(res, PG_DIAG_STATEMENT_POSITION));
		if (by_line && line > 0)
			err_wrap(err, "line %d", line);
		err_wrap(err, "%s", what);
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
		rc = run(conn, what, sql, true, err);
	free(what);
	free(sql);
	return rc;
}

/* As PostgreSQL writes their names, which may stand in a statement. */
struct forms {
	char *of_one;
	char *of_many; /* NULL: there is none */
};

static void forms_done(struct forms *f)
{
	free(f->of_one);
	free(f->of_many);
}

static int find_forms(PGconn *conn, const char *name, struct forms *ret_forms, struct err *err)
{
	char *signature = text_format("%s(json)", name);
	const char *const values[] = {signature};
	PGresult *res = PQexecParams(conn,
	    "SELECT f::oid::regproc, effects.batch_form(f)::oid::regproc"
	    " FROM to_regprocedure($1) AS f WHERE f IS NOT NULL",
	    1, NULL, values, NULL, NULL, 0);
	int rc = -1;

	if (PQntuples(res) == 1) {
		ret_forms->of_one = text_format("%s", PQgetvalue(res, 0, 0));
		if (!PQgetisnull(res, 0, 1))
			ret_forms->of_many = text_format("%s", PQgetvalue(res, 0, 1));
		rc = 0;
	} else {
		err_set(err, ERR_USAGE, "--handler: there is no function %.200s", signature);
	}
	PQclear(res);
	free(signature);
	return rc;
}

/* A call for `event` that shows even if it is rolled back, and an effect that shows if not. */
#define NOTE_CALL                                                                                  \
	"PERFORM nextval('witness.calls'); %s"                                                     \
	"INSERT INTO witness.effect (source, message_id, subject)"                                 \
	" VALUES (event ->> 'source', event ->> 'id', event ->> 'subject');"

static char *batch_form_sql(const struct forms *f, const char *record)
{
	if (f->of_many == NULL)
		return text_format("DROP FUNCTION witness.apply_batch(json[])");
	return text_format(
	    "CREATE OR REPLACE FUNCTION witness.apply_batch(events json[]) RETURNS void"
	    " LANGUAGE plpgsql AS $witness$ DECLARE event json; BEGIN"
	    " FOREACH event IN ARRAY events LOOP " NOTE_CALL
	    " END LOOP; PERFORM %s(events); END $witness$",
	    record, f->of_many);
}

static int install_functions(PGconn *conn, const struct forms *f, bool record, struct err *err)
{
	const char *outside = record ? OUTSIDE_RECORD : "";
	char *batch_form = batch_form_sql(f, outside);
	char *sql = text_format(
	    "CREATE SEQUENCE witness.calls;"
	    "GRANT USAGE ON SEQUENCE witness.calls TO umavez_consumer;"
	    "CREATE OR REPLACE FUNCTION witness.apply(event json) RETURNS void LANGUAGE plpgsql AS "
	    "$witness$ BEGIN " NOTE_CALL "PERFORM %s(event); END $witness$; %s",
	    outside, f->of_one, batch_form);
	int rc = run(conn, "--handler", sql, false, err);

	free(batch_form);
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
	rc = run(conn, "--effect-query", sql, false, err);
	free(sql);
	return rc;
}

int handler_install(
    struct world *w, const struct config *config, char **ret_function, struct err *err)
{
	const char *name = config->handler ? config->handler : CONFIG_DEFAULT_HANDLER;
	bool record = config->handler && !config->effect_query;
	PGconn *conn = world_pg(w);
	struct forms forms = {NULL, NULL};
	int rc = -1;

	for (size_t i = 0; i < config->schema_files.n; i++)
		if (run_file(conn, config->schema_files.values[i], err) < 0)
			goto done;
	if (record)
		outside_install(w);
	if (find_forms(conn, name, &forms, err) < 0 ||
	    install_functions(conn, &forms, record, err) < 0)
		goto done;
	if (config->effect_query && install_query(conn, config->effect_query, err) < 0)
		goto done;
	*ret_function = forms.of_one;
	forms.of_one = NULL; /* the caller's now */
	rc = 0;
done:
	forms_done(&forms);
	PQfinish(conn);
	return rc;
}
