#include "common/pg.h"
#include "common/pg_array.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static struct world *world;

static PGconn *open_ok(void)
{
	/* A check that failed may have left locks behind. */
	const struct pg_session session = {
	    .application_name = "umavez-test", .lock_timeout = 10000, .statement_timeout = 30000};
	struct err err = ERR_INIT;
	PGconn *conn;

	if (pg_connect(world_admin_url(world), &session, &conn, &err) < 0)
		CU_FAIL_FATAL(err.message);
	return conn;
}

static void exec_ok(PGconn *conn, const char *sql)
{
	struct err err = ERR_INIT;

	if (pg_exec(conn, sql, &err) < 0)
		CU_FAIL_FATAL(err.message);
}

static void kinds(void)
{
	static const struct {
		const char *sqlstate;
		enum err_kind kind;
	} cases[] = {{NULL, ERR_RETRY}, {"", ERR_RETRY}, {"08006", ERR_RETRY}, {"40001", ERR_RETRY},
	    {"40P01", ERR_RETRY}, {"53300", ERR_RETRY}, {"57014", ERR_RETRY}, {"57P01", ERR_RETRY},
	    {"58030", ERR_RETRY}, {"25006", ERR_RETRY}, {"25P03", ERR_RETRY}, {"55P03", ERR_RETRY},
	    {"42501", ERR_RETRY}, {"3D000", ERR_RETRY}, {"28P01", ERR_RETRY}, {"22P02", ERR_REJECT},
	    {"23505", ERR_REJECT}, {"54000", ERR_REJECT}, {"P0001", ERR_REJECT},
	    {"25P02", ERR_FATAL}, {"42P01", ERR_FATAL}, {"42601", ERR_FATAL}, {"55000", ERR_FATAL},
	    {"XX000", ERR_FATAL}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(pg_error_kind(cases[i].sqlstate), cases[i].kind);
}

/* What somebody must mend is retried, but it is the statement's own. */
static void transient(void)
{
	static const char *const yes[] = {
	    "", "08006", "40001", "53300", "57014", "58030", "25006", "25P03", "55P03"};
	static const char *const no[] = {
	    "42501", "3D000", "28P01", "22P02", "23505", "54000", "P0001", "25P02", "XX000"};

	CHECK(pg_sqlstate_is_transient(NULL));
	for (size_t i = 0; i < sizeof(yes) / sizeof(yes[0]); i++)
		CHECK(pg_sqlstate_is_transient(yes[i]));
	for (size_t i = 0; i < sizeof(no) / sizeof(no[0]); i++)
		CHECK(!pg_sqlstate_is_transient(no[i]));
}

static void rows(void)
{
	PGconn *conn = open_ok();
	const char *params[] = {"41", NULL};
	struct err err = ERR_INIT;
	PGresult *res;

	CHECK_INT(
	    pg_run(conn,
		"SELECT $1::int + 1 AS n, $2::text AS none, NULL::bigint AS zero, true AS yes,"
		" 18446744073709551615 AS u, 'x' AS t",
		2, params, &res, &err),
	    0);
	CHECK_INT(pg_int(res, 0, "n"), 42);
	CHECK_INT(pg_int(res, 0, "zero"), 0);
	CHECK(pg_text(res, 0, "none") == NULL);
	CHECK_STR(pg_text(res, 0, "t"), "x");
	CHECK(pg_bool(res, 0, "yes") && !pg_bool(res, 0, "none"));
	CHECK(pg_uint(res, 0, "u") == UINT64_MAX);
	PQclear(res);
	CHECK_INT(pg_run(conn, "SELECT 1", 0, NULL, NULL, &err), 0);
	PQfinish(conn);
}

static void errors(void)
{
	PGconn *conn = open_ok();
	struct err err = ERR_INIT;

	CHECK_INT(pg_run(conn, "SELECT 1/0", 0, NULL, NULL, &err), -1);
	CHECK_INT(err.kind, ERR_REJECT);
	CHECK_STR(err.sqlstate, "22012");
	CHECK_STR(err.message, "division by zero");
	CHECK_INT(pg_run(conn, "SELECT 1 FROM nosuch", 0, NULL, NULL, &err), -1);
	CHECK_INT(err.kind, ERR_FATAL);
	CHECK_INT(pg_exec(conn, "SELECT 1; SELECT 1/0; SELECT 2", &err), -1);
	CHECK_STR(err.sqlstate, "22012");
	CHECK_INT(pg_exec(conn, "SELECT 1; SELECT 2", &err), 0);
	CHECK_INT(pg_exec(conn, "", &err), 0);
	PQfinish(conn);
}

/* It ends the connection, and says so only by its severity. */
static void fatal_error(void)
{
	PGconn *conn = open_ok();
	struct err err = ERR_INIT;

	exec_ok(conn, "SET exit_on_error = on");
	CHECK_INT(pg_run(conn, "SELECT 1/0", 0, NULL, NULL, &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK_STR(err.sqlstate, "22012");
	CHECK(PQstatus(conn) == CONNECTION_BAD);
	PQfinish(conn);
}

static void lost_connection(void)
{
	PGconn *conn = open_ok();
	struct err err = ERR_INIT;

	world_sql(world, "SELECT pg_terminate_backend(%d)", PQbackendPID(conn));
	CHECK_INT(pg_run(conn, "SELECT pg_sleep(5)", 0, NULL, NULL, &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK_INT(pg_run(conn, "SELECT 1", 0, NULL, NULL, &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK(err.message[0] != '\0');
	CHECK_INT(pg_commit(conn, &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	PQfinish(conn);
}

/* Tables whose commit is refused, or comes with a WARNING. */
static void make_tables(PGconn *conn)
{
	exec_ok(conn,
	    "CREATE TABLE IF NOT EXISTS refused (n int);"
	    "CREATE TABLE IF NOT EXISTS warned (n int);"
	    "CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS"
	    " $$BEGIN RAISE EXCEPTION 'not this one'; END$$;"
	    "CREATE OR REPLACE FUNCTION warn() RETURNS trigger LANGUAGE plpgsql AS"
	    " $$BEGIN RAISE WARNING 'look here'; RETURN NULL; END$$;"
	    "DROP TRIGGER IF EXISTS t ON refused; DROP TRIGGER IF EXISTS t ON warned;"
	    "CREATE CONSTRAINT TRIGGER t AFTER INSERT ON refused DEFERRABLE INITIALLY DEFERRED"
	    " FOR EACH ROW WHEN (new.n < 0) EXECUTE FUNCTION refuse();"
	    "CREATE CONSTRAINT TRIGGER t AFTER INSERT ON warned DEFERRABLE INITIALLY DEFERRED"
	    " FOR EACH ROW EXECUTE FUNCTION warn();"
	    "TRUNCATE refused, warned");
}

/* The row comes before the implicit commit, which fails. */
static void p4_rows_are_not_a_commit(void)
{
	PGconn *conn = open_ok();
	struct err err = ERR_INIT;
	PGresult *res = NULL;

	make_tables(conn);
	CHECK_INT(
	    pg_run(conn, "INSERT INTO refused VALUES (-1) RETURNING n", 0, NULL, &res, &err), -1);
	CHECK(res == NULL);
	CHECK_INT(err.kind, ERR_REJECT);
	CHECK_STR(err.message, "not this one");
	CHECK_INT(
	    pg_run(conn, "INSERT INTO refused VALUES (1) RETURNING n", 0, NULL, &res, &err), 0);
	CHECK_INT(pg_int(res, 0, "n"), 1);
	PQclear(res);
	PQfinish(conn);
}

static void p4_commit(void)
{
	PGconn *conn = open_ok();
	struct err err = ERR_INIT;

	make_tables(conn);
	exec_ok(conn, "BEGIN; INSERT INTO refused VALUES (1)");
	CHECK_INT(pg_commit(conn, &err), 0);

	exec_ok(conn, "BEGIN; INSERT INTO refused VALUES (2)");
	CHECK_INT(pg_exec(conn, "SELECT 1/0", &err), -1);
	CHECK_INT(pg_commit(conn, &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK_STR(err.message, "commit: COMMIT was answered with ROLLBACK");

	exec_ok(conn, "BEGIN; INSERT INTO refused VALUES (-1)");
	CHECK_INT(pg_commit(conn, &err), -1);
	CHECK_INT(err.kind, ERR_REJECT);
	CHECK_STR(err.message, "commit: not this one");

	exec_ok(conn, "BEGIN; INSERT INTO warned VALUES (1)");
	CHECK_INT(pg_commit(conn, &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK_STR(err.message, "commit: WARNING while committing: look here");

	/* A WARNING before the commit is none of its business. */
	exec_ok(conn, "BEGIN; DO $$BEGIN RAISE WARNING 'earlier'; END$$");
	CHECK_INT(pg_commit(conn, &err), 0);
	CHECK_INT(world_int(world, "SELECT count(*) FROM refused"), 1);
	PQfinish(conn);
}

static void *commit_thread(void *arg)
{
	struct err *err = arg;
	PGconn *conn = open_ok();

	exec_ok(conn, "BEGIN; INSERT INTO refused VALUES (7)");
	if (pg_commit(conn, err) == 0)
		err->kind = ERR_NONE;
	PQfinish(conn);
	return NULL;
}

/* The commit is in this server's log, and no standby has it: a WARNING is all that says so. */
static void p4_unconfirmed_by_the_standby(void)
{
	struct err err = ERR_INIT;
	pthread_t thread;

	world_sql(world, "ALTER ROLE CURRENT_USER SET synchronous_commit = local");
	PGconn *conn = open_ok();
	make_tables(conn);
	PQfinish(conn);
	world_sql(world, "ALTER SYSTEM SET synchronous_standby_names = 'nosuch'");
	world_sql(world, "SELECT pg_reload_conf()");
	CHECK(world_await_int(world, 1, 5000,
	    "SELECT (current_setting('synchronous_standby_names') = 'nosuch')::int"));
	world_sql(world, "CHECKPOINT"); /* it is the checkpointer that has commits wait */
	CHECK_INT(pthread_create(&thread, NULL, commit_thread, &err), 0);
	CHECK(world_await_int(
	    world, 1, 10000, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"));
	free(world_text(world,
	    "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"));
	pthread_join(thread, NULL);
	world_sql(world, "ALTER SYSTEM RESET synchronous_standby_names");
	world_sql(world, "SELECT pg_reload_conf()");
	world_sql(world, "ALTER ROLE CURRENT_USER RESET synchronous_commit");
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK(strstr(err.message, "canceling wait for synchronous replication") != NULL);
	CHECK_INT(world_int(world, "SELECT count(*) FROM refused WHERE n = 7"), 1);
}

/* A statement that is its own transaction, as an event loop runs it. */
static int verdict_of(PGconn *conn, const char *sql, struct err *err)
{
	struct pg_verdict verdict;
	PGresult *res;

	pg_verdict_begin(&verdict, conn);
	CHECK(PQsendQueryParams(conn, sql, 0, NULL, NULL, NULL, NULL, 0));
	while ((res = PQgetResult(conn))) {
		pg_verdict_result(&verdict, conn, res);
		PQclear(res);
	}
	return pg_verdict_committed(&verdict, conn, err);
}

static void p4_verdict(void)
{
	PGconn *conn = open_ok();
	struct err err = ERR_INIT;

	make_tables(conn);
	CHECK_INT(verdict_of(conn, "INSERT INTO refused VALUES (1) RETURNING n", &err), 0);
	CHECK_INT(verdict_of(conn, "INSERT INTO refused VALUES (-1) RETURNING n", &err), -1);
	CHECK_INT(err.kind, ERR_REJECT);
	CHECK_STR(err.message, "not this one");
	CHECK_INT(verdict_of(conn, "INSERT INTO warned VALUES (1) RETURNING n", &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK_INT(verdict_of(conn, "SELECT 1", &err), 0);

	exec_ok(conn, "BEGIN");
	CHECK_INT(verdict_of(conn, "INSERT INTO refused VALUES (1)", &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK_INT(verdict_of(conn, "ROLLBACK", &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);

	world_sql(world, "SELECT pg_terminate_backend(%d)", PQbackendPID(conn));
	CHECK_INT(verdict_of(conn, "SELECT pg_sleep(5)", &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	PQfinish(conn);
}

static void notices_are_silent(void)
{
	PGconn *conn = open_ok();
	struct err err = ERR_INIT;
	int memory = memfd_create("stderr", 0), saved = dup(STDERR_FILENO);

	make_tables(conn);
	dup2(memory, STDERR_FILENO);
	exec_ok(conn, "DO $$BEGIN RAISE NOTICE 'n'; RAISE WARNING 'w'; END$$");
	exec_ok(conn, "BEGIN; INSERT INTO warned VALUES (1)");
	int rc = pg_commit(conn, &err);
	exec_ok(conn, "DO $$BEGIN RAISE WARNING 'w'; END$$");
	dup2(saved, STDERR_FILENO);
	close(saved);
	CHECK_INT(rc, -1);
	CHECK_INT(lseek(memory, 0, SEEK_END), 0);
	close(memory);
	PQfinish(conn);
}

enum { N_ARRAYS = 6 };

static void fill_arrays(struct pg_array *a)
{
	static const enum pg_oid types[N_ARRAYS] = {
	    PG_TEXT, PG_BYTEA, PG_INT8, PG_INT2, PG_BOOL, PG_TIMESTAMPTZ};

	for (int i = 0; i < N_ARRAYS; i++)
		pg_array_init(&a[i], types[i]);
	pg_array_text(&a[0], "caf\xc3\xa9 \"{,}\\");
	pg_array_bytes(&a[1], "\0\xff", 2);
	pg_array_int(&a[2], INT64_MIN);
	pg_array_int(&a[3], -7);
	pg_array_bool(&a[4], true);
	pg_array_time(&a[5], INT64_C(1767225600123));
	for (int i = 0; i < N_ARRAYS; i++)
		pg_array_null(&a[i]);
}

static void arrays_arrive(void)
{
	static const Oid oids[N_ARRAYS] = {1009, 1001, 1016, 1005, 1000, 1185};
	static const int formats[N_ARRAYS] = {1, 1, 1, 1, 1, 1};
	struct pg_array arrays[N_ARRAYS];
	const char *values[N_ARRAYS];
	int lens[N_ARRAYS];
	PGconn *conn = open_ok();

	fill_arrays(arrays);
	for (int i = 0; i < N_ARRAYS; i++)
		values[i] = pg_array_value(&arrays[i], &lens[i]);
	PGresult *res = PQexecParams(conn,
	    "SELECT t, b, i8, i2, ok, at FROM unnest($1, $2, $3, $4, $5, $6) AS r(t, b, i8, i2, "
	    "ok, at)",
	    N_ARRAYS, oids, values, lens, formats, 0);
	CHECK_INT(PQntuples(res), 2);
	CHECK_STR(pg_text(res, 0, "t"), "caf\xc3\xa9 \"{,}\\");
	CHECK_STR(pg_text(res, 0, "b"), "\\x00ff");
	CHECK_INT(pg_int(res, 0, "i8"), INT64_MIN);
	CHECK_INT(pg_int(res, 0, "i2"), -7);
	CHECK(pg_bool(res, 0, "ok"));
	CHECK_STR(pg_text(res, 0, "at"), "2026-01-01 00:00:00.123+00");
	CHECK(pg_text(res, 1, "t") == NULL && pg_text(res, 1, "at") == NULL);
	PQclear(res);

	for (int i = 0; i < N_ARRAYS; i++) {
		pg_array_reset(&arrays[i]);
		values[i] = pg_array_value(&arrays[i], &lens[i]);
	}
	res = PQexecParams(conn, "SELECT cardinality($1) + cardinality($3) AS n", 3, oids, values,
	    lens, formats, 0);
	CHECK_INT(pg_int(res, 0, "n"), 0);
	PQclear(res);
	for (int i = 0; i < N_ARRAYS; i++)
		pg_array_done(&arrays[i]);
	PQfinish(conn);
}

static const struct check checks[] = {
    {"kinds", kinds},
    {"what is transient", transient},
    {"rows", rows},
    {"errors", errors},
    {"a FATAL error", fatal_error},
    {"a lost connection", lost_connection},
    {"P4: rows are not a commit", p4_rows_are_not_a_commit},
    {"P4: commit", p4_commit},
    {"P4: a commit that no standby confirmed", p4_unconfirmed_by_the_standby},
    {"P4: verdict", p4_verdict},
    {"notices are silent", notices_are_silent},
    {"arrays arrive", arrays_arrive},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(0);
	status = check_main("common pg", checks, argc, argv);
	world_close(world);
	return status;
}
