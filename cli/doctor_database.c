#include "cli/doctor.h"
#include "cli_text.h"
#include "common/clock.h"
#include "common/memory.h"
#include "common/pg.h"
#include "schema/schema.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATEMENT_MS = 30000 };

/* A clock's difference that people should know of, and one by which tokens and ticks go wrong. */
enum { SKEW_WARN_MS = 1000, SKEW_FAIL_MS = 60000 };

void doctor_clock(
    struct doctor *d, const char *whose, int64_t before, int64_t theirs, int64_t after)
{
	int64_t skew = 0;

	/* Between the two looks they agree as well as can be told. */
	if (theirs < before)
		skew = before - theirs;
	else if (theirs > after)
		skew = theirs - after;
	doctor_note(d,
	    skew >= SKEW_FAIL_MS   ? LEVEL_FAIL
	    : skew >= SKEW_WARN_MS ? LEVEL_WARN
				   : LEVEL_OK,
	    "clock", "set the clocks by NTP on every host",
	    "%s differs from this host by %s%" PRId64 " ms", whose, theirs < before ? "-" : "",
	    skew);
}

static enum level level_of(const char *name)
{
	for (int i = 0; i < LEVELS; i++) {
		if (strcmp(level_names[i], name) == 0)
			return (enum level)i;
	}
	return LEVEL_FAIL;
}

void doctor_note_error(struct doctor *d, const char *name, const struct err *err)
{
	doctor_note(d, LEVEL_FAIL, name,
	    strcmp(err->sqlstate, "42501") == 0
		? "connect as a member of umavez_operator, and see umavez migrate --roles"
		: "see the server's log, and run doctor again",
	    "%s", err->message);
}

static void note_row(struct doctor *d, const PGresult *res, int row)
{
	doctor_note(d, level_of(pg_text(res, row, "level")), pg_text(res, row, "name"),
	    pg_text(res, row, "advice"), "%s", pg_text(res, row, "what"));
}

/* A statement whose rows are findings; *ret_res (may be NULL) is the caller's. */
static void run_checks(struct doctor *d, PGconn *conn, const char *topic, const char *sql,
    int n_params, const char *const *params, PGresult **ret_res)
{
	struct err err = ERR_INIT;
	PGresult *res = NULL;

	if (pg_run(conn, sql, n_params, params, &res, &err) < 0)
		doctor_note_error(d, topic, &err);
	for (int row = 0; row < PQntuples(res); row++)
		note_row(d, res, row);
	if (ret_res)
		*ret_res = res;
	else
		PQclear(res);
}

static void check_fallback(struct doctor *d, PGconn *conn, const char *table)
{
	char *sql = mem_printf("SELECT EXISTS (SELECT FROM %s) AS used", table);
	struct err err = ERR_INIT;
	PGresult *res = NULL;

	if (pg_run(conn, sql, 0, NULL, &res, &err) < 0)
		doctor_note_error(d, "partitions", &err);
	else if (pg_bool(res, 0, "used"))
		doctor_note(d, LEVEL_FAIL, "partitions",
		    "make the missing partitions, and move its rows into them",
		    "the default partition %s has rows", table);
	PQclear(res);
	free(sql);
}

static void check_partitions(struct doctor *d, PGconn *conn, const char *schema)
{
	PGresult *res;

	run_checks(d, conn, "partitions", cli_sql_doctor_partitions_sql, 1, &schema, &res);
	for (int row = 0; row < PQntuples(res); row++) {
		const char *fallback = pg_text(res, row, "fallback");

		if (fallback)
			check_fallback(d, conn, fallback);
	}
	PQclear(res);
}

static void check_clock(struct doctor *d, PGconn *conn, const char *whose)
{
	struct err err = ERR_INIT;
	PGresult *res = NULL;
	int64_t before = clock_wall_ms();

	if (pg_run(conn, "SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms", 0,
		NULL, &res, &err) < 0)
		doctor_note_error(d, "clock", &err);
	else
		doctor_clock(d, whose, before, pg_int(res, 0, "ms"), clock_wall_ms());
	PQclear(res);
}

static bool check_schema(struct doctor *d, PGconn *conn, const char *schema)
{
	struct err err = ERR_INIT;

	if (pg_check_schema(conn, schema, &err) < 0) {
		if (err.kind == ERR_MISMATCH)
			doctor_note(d, LEVEL_FAIL, "schema",
			    "umavez migrate, or the umavez that belongs to the database", "%s",
			    err.message);
		else
			doctor_note_error(d, "schema", &err);
		return false;
	}
	doctor_note(d, LEVEL_OK, "schema", "", "%s is what this umavez expects", schema);
	return true;
}

PGconn *doctor_database(struct doctor *d, const char *url, const char *schema, bool is_known_server)
{
	const struct pg_session session = {
	    .application_name = "umavez-doctor", .statement_timeout = STATEMENT_MS};
	const char *const rights[] = {schema_roles, schema};
	struct err err = ERR_INIT;
	PGconn *conn = NULL;

	doctor_turn_to(d, "schema %s", schema);
	if (pg_connect(url, &session, &conn, &err) < 0) {
		doctor_note(d, LEVEL_FAIL, schema,
		    "check the URL, and that the server runs and lets this role in", "%s",
		    err.message);
		return NULL;
	}
	if (!is_known_server) {
		doctor_turn_to(d, "PostgreSQL of %s: database %s on %s, as role %s", schema,
		    PQdb(conn), PQhost(conn), PQuser(conn));
		run_checks(d, conn, schema, cli_sql_doctor_server_sql, 0, NULL, NULL);
		check_clock(d, conn, schema);
	}
	doctor_turn_to(d, "schema %s", schema);
	if (!check_schema(d, conn, schema)) {
		PQfinish(conn);
		return NULL;
	}
	run_checks(d, conn, "constraints", cli_sql_doctor_constraints_sql, 1, &schema, NULL);
	run_checks(d, conn, "rights", cli_sql_doctor_grants_sql, 2, rights, NULL);
	check_partitions(d, conn, schema);
	return conn;
}

static void check_functions(struct doctor *d, PGconn *conn, const char *schema)
{
	run_checks(d, conn, "functions", cli_sql_doctor_functions_sql, 1, &schema, NULL);
}

void doctor_deployment(struct doctor *d, PGconn *intake, PGconn *effects)
{
	const char *params[] = {NULL};
	struct err err = ERR_INIT;
	PGresult *shards = NULL;

	doctor_turn_to(d, "deployment");
	if (effects &&
	    pg_run(effects, "SELECT shards FROM effects.setting", 0, NULL, &shards, &err) < 0)
		doctor_note_error(d, "shards", &err);
	if (PQntuples(shards) > 0)
		params[0] = pg_text(shards, 0, "shards");
	run_checks(d, intake, "deployment", cli_sql_doctor_intake_sql, 1, params, NULL);
	check_functions(d, intake, "intake");
	if (effects) {
		check_functions(d, effects, "effects");
		run_checks(d, effects, "dead letters", cli_sql_doctor_effects_sql, 0, NULL, NULL);
	}
	PQclear(shards);
}
