#include "relay/db.h"

#include "common/memory.h"
#include "common/pg.h"
#include "common/service.h"
#include "relay_text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A statement of the relay takes milliseconds; reading a tick of millions of rows takes minutes, of
 * which the first row is the slowest. */
#define STATEMENT_MS 300000
#define LOCK_MS 10000
#define CONNECT_MS 5000
#define SILENCE_MS (STATEMENT_MS + CONNECT_MS)

struct db {
	PGconn *conn;
	unsigned shard;
};

struct statement {
	const char *name;
	const char *text;
	bool of_shard; /* $1 is the shard */
	int n;         /* parameters, with the shard */
	Oid types[6];  /* 0: the statement says it */
};

static const struct statement statements[DB_STATEMENTS] = {
    [DB_TICK] = {"tick", relay_sql_tick_sql, true, 3, {PG_INT2, PG_INT8, PG_INT8}},
    [DB_BRANCH] = {"branch", relay_sql_branch_sql, true, 6,
	{PG_INT2, PG_INT8, PG_INT8, PG_INT8, PG_INT8, PG_BOOL}},
    [DB_READ] = {"read", relay_sql_read_sql, true, 4, {PG_INT2, PG_INT8, PG_INT8, PG_INT8}},
    [DB_NEXT_TICK] = {"next_tick", relay_sql_next_tick_sql, true, 2, {PG_INT2, PG_INT8}},
    [DB_FIRST_AFTER] = {"first_after", relay_sql_first_after_sql, true, 3,
	{PG_INT2, PG_INT8, PG_INT8}},
    [DB_OWNS] = {"owns", relay_sql_owns_sql, true, 5, {PG_INT2, 0, 0, 0, 0}},
    [DB_CHAIN] = {"chain", relay_sql_chain_sql, true, 1, {PG_INT2}},
    [DB_REGISTER] = {"register", relay_sql_register_sql, true, 2, {PG_INT2, 0}},
    [DB_ACKNOWLEDGE] = {"acknowledge", relay_sql_acknowledge_sql, true, 4, {PG_INT2, 0, 0, 0}},
    [DB_LIFT_FLOOR] = {"lift_floor", relay_sql_lift_floor_sql, false, 0, {0}},
};

/*
 * Every statement is a nested loop over few ticks, ranges or ids, each an index scan.  A plan of
 * any other shape reads history: so the planner is not offered one, and a plan made once, on an
 * empty table, stays right.  JIT compilation would cost more than the statement.
 */
static const char session_settings[] = "SET enable_seqscan = off; SET enable_bitmapscan = off;"
				       "SET enable_hashjoin = off; SET enable_mergejoin = off;"
				       "SET jit = off; SET plan_cache_mode = force_generic_plan";

/* xids mean something only inside one cluster: ticks of another one would be guesses. */
static int check_cluster(PGconn *conn, unsigned *ret_shards, struct err *err)
{
	PGresult *res = NULL;
	int rc = -1;

	if (pg_run(conn, relay_sql_cluster_sql, 0, NULL, &res, err) < 0)
		goto done;
	if (PQntuples(res) != 1) {
		err_set(err, ERR_MISMATCH, "intake.setting is empty: run umavez migrate");
		goto done;
	}
	if (pg_int(res, 0, "expected") != pg_int(res, 0, "actual")) {
		err_set(err, ERR_MISMATCH,
		    "this is PostgreSQL cluster %s, but the outbox was written in %s: connect to "
		    "that one",
		    pg_text(res, 0, "actual"), pg_text(res, 0, "expected"));
		goto done;
	}
	*ret_shards = (unsigned)pg_int(res, 0, "shards");
	rc = 0;
done:
	PQclear(res);
	return rc;
}

static int connect(
    const char *url, const char *name, PGconn **ret_conn, unsigned *ret_shards, struct err *err)
{
	struct pg_session session = {.application_name = name,
	    .statement_timeout = STATEMENT_MS,
	    .lock_timeout = LOCK_MS,
	    .idle_in_transaction_timeout = STATEMENT_MS,
	    .connect_timeout = CONNECT_MS};
	PGconn *conn = NULL;
	int rc = -1;

	if (pg_connect(url, &session, &conn, err) < 0)
		goto done;
	if (pg_check_schema(conn, "intake", err) < 0)
		goto done;
	if (check_cluster(conn, ret_shards, err) < 0)
		goto done;
	*ret_conn = conn;
	conn = NULL; /* the caller's now */
	rc = 0;
done:
	PQfinish(conn);
	return rc;
}

int db_shards(const char *url, unsigned *ret_shards, struct err *err)
{
	PGconn *conn = NULL;

	if (connect(url, "umavez-relay", &conn, ret_shards, err) < 0)
		return -1;
	PQfinish(conn);
	return 0;
}

static int prepare(PGconn *conn, struct err *err)
{
	for (int i = 0; i < DB_STATEMENTS; i++) {
		const struct statement *s = &statements[i];
		PGresult *res = PQprepare(conn, s->name, s->text, s->n, s->types);
		int rc = PQresultStatus(res) == PGRES_COMMAND_OK ? 0 : pg_error(conn, res, err);

		PQclear(res);
		if (rc < 0)
			return err_wrap(err, "prepare %s", s->name);
	}
	return 0;
}

int db_open(const char *url, unsigned shard, struct db **ret_db, struct err *err)
{
	struct db *db = mem_zalloc(1, sizeof(*db));
	char name[32];
	unsigned shards;
	int rc = -1;

	snprintf(name, sizeof(name), "umavez-relay/%u", shard);
	db->shard = shard;
	if (connect(url, name, &db->conn, &shards, err) < 0)
		goto done;
	if (pg_exec(db->conn, session_settings, err) < 0 || prepare(db->conn, err) < 0)
		goto done;
	if (pg_exec(db->conn, "LISTEN umavez_outbox", err) < 0)
		goto done;
	*ret_db = db;
	db = NULL; /* the caller's now */
	rc = 0;
done:
	db_close(db);
	return rc;
}

void db_close(struct db *db)
{
	if (!db)
		return;
	PQfinish(db->conn);
	free(db);
}

static void arg(struct db_args *args, const char *value, int len, int format)
{
	assert(args->n < 6);
	args->values[args->n] = value;
	args->lens[args->n] = len;
	args->formats[args->n] = format;
	args->n++;
}

void db_arg_int(struct db_args *args, int64_t value)
{
	snprintf(args->text[args->n], sizeof(args->text[0]), "%" PRId64, value);
	arg(args, args->text[args->n], 0, 0);
}

void db_arg_bool(struct db_args *args, bool value)
{
	arg(args, value ? "t" : "f", 0, 0);
}

void db_arg_array(struct db_args *args, struct pg_array *array)
{
	int len;
	const char *value = pg_array_value(array, &len);

	arg(args, value, len, 1);
}

static int send_prepared(
    struct db *db, enum db_statement statement, const struct db_args *args, struct err *err)
{
	const struct statement *s = &statements[statement];
	struct db_args all = {.n = 0};

	if (s->of_shard)
		db_arg_int(&all, db->shard);
	for (int i = 0; args && i < args->n; i++)
		arg(&all, args->values[i], args->lens[i], args->formats[i]);
	assert(all.n == s->n);
	if (!PQsendQueryPrepared(db->conn, s->name, all.n, all.values, all.lens, all.formats, 0)) {
		return pg_error(db->conn, NULL, err);
	}
	return 0;
}

static bool is_good(const PGresult *res)
{
	ExecStatusType status = PQresultStatus(res);

	return status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;
}

/* Until PQgetResult() does not block: a server that is silent is noticed, and a stop is not waited
 * for. */
static int await_result(struct db *db, struct err *err)
{
	while (PQisBusy(db->conn)) {
		struct pollfd pfds[] = {{.fd = PQsocket(db->conn), .events = POLLIN},
		    {.fd = service_stop_fd(), .events = POLLIN}};
		int n = poll(pfds, 2, SILENCE_MS);

		if (n < 0 && errno != EINTR)
			return err_set(err, ERR_RETRY, "poll: %s", strerror(errno));
		if (n == 0)
			return err_set(err, ERR_RETRY, "no answer from the server in time");
		if (n > 0 && pfds[1].revents)
			return err_set(err, ERR_RETRY, "stopping");
		if (!PQconsumeInput(db->conn))
			return pg_error(db->conn, NULL, err);
	}
	return 0;
}

/* PQgetResult(), which gives NULL at the end of a statement. */
static int next_result(struct db *db, PGresult **ret_res, struct err *err)
{
	if (await_result(db, err) < 0)
		return -1;
	*ret_res = PQgetResult(db->conn);
	return 0;
}

/*
 * The first error of the statement, or else its result: the rows come before the implicit commit,
 * and an error may still follow them.
 */
static int collect(struct db *db, PGresult **ret_res, struct err *err)
{
	PGresult *res = NULL, *more = NULL;

	for (;;) {
		if (next_result(db, &more, err) < 0) {
			PQclear(res);
			return -1;
		}
		if (!more)
			break;
		if (!res || is_good(res)) {
			PQclear(res);
			res = more;
		} else {
			PQclear(more);
		}
	}
	*ret_res = res;
	return 0;
}

int db_run(struct db *db, enum db_statement statement, struct db_args *args, PGresult **ret_res,
    struct err *err)
{
	PGresult *res = NULL;
	int rc = -1;

	if (send_prepared(db, statement, args, err) < 0 || collect(db, &res, err) < 0)
		goto done;
	if (!res || !is_good(res) || PQstatus(db->conn) != CONNECTION_OK) {
		pg_error(db->conn, res && is_good(res) ? NULL : res, err);
		goto done;
	}
	if (ret_res) {
		*ret_res = res;
		res = NULL; /* the caller's now */
	}
	rc = 0;
done:
	PQclear(res);
	return rc < 0 ? err_wrap(err, "%s", statements[statement].name) : 0;
}

int db_send(struct db *db, enum db_statement statement, struct db_args *args, struct err *err)
{
	if (send_prepared(db, statement, args, err) < 0)
		return -1;
	if (!PQsetSingleRowMode(db->conn))
		return err_set(err, ERR_RETRY, "single-row mode was refused");
	return 0;
}

int db_row(struct db *db, PGresult **ret_row, struct err *err)
{
	PGresult *res = NULL;
	int rc = -1;

	if (next_result(db, &res, err) < 0)
		goto done;
	if (PQresultStatus(res) == PGRES_SINGLE_TUPLE) {
		*ret_row = res;
		return 0;
	}
	if (!res || !is_good(res)) {
		pg_error(db->conn, res, err);
		goto done;
	}
	PQclear(res);
	res = NULL;
	if (collect(db, &res, err) < 0)
		goto done;
	if (res) {
		pg_error(db->conn, res, err);
		goto done;
	}
	*ret_row = NULL;
	rc = 0;
done:
	PQclear(res);
	return rc < 0 ? err_wrap(err, "read") : 0;
}

int db_cancel(struct db *db, struct err *err)
{
	PGcancel *cancel = PQgetCancel(db->conn);
	PGresult *rest = NULL;
	char why[256];
	int rc = -1;

	if (!cancel || !PQcancel(cancel, why, sizeof(why))) {
		err_set(err, ERR_RETRY, "cancel: %s", cancel ? why : "out of memory");
		goto done;
	}
	/* What is left of the rows, and the error that says that it was cancelled, if it was. */
	if (collect(db, &rest, err) < 0)
		goto done;
	if (PQstatus(db->conn) != CONNECTION_OK) {
		pg_error(db->conn, NULL, err);
		goto done;
	}
	rc = 0;
done:
	PQclear(rest);
	PQfreeCancel(cancel);
	return rc;
}

void db_drain_wakeups(struct db *db)
{
	PGnotify *notify;

	while ((notify = PQnotifies(db->conn)))
		PQfreemem(notify);
}

int db_wait(struct db *db, int stop_fd, int64_t ms, struct err *err)
{
	struct pollfd pfds[] = {
	    {.fd = PQsocket(db->conn), .events = POLLIN}, {.fd = stop_fd, .events = POLLIN}};
	PGnotify *notify = PQnotifies(db->conn);

	if (!notify) {
		if (poll(pfds, 2, (int)ms) < 0 && errno != EINTR)
			return err_set(err, ERR_RETRY, "poll: %s", strerror(errno));
		if (!PQconsumeInput(db->conn))
			return pg_error(db->conn, NULL, err);
		notify = PQnotifies(db->conn);
	}
	if (!notify)
		return 0;
	PQfreemem(notify);
	db_drain_wakeups(db);
	return 1;
}
