#include "relay/db.h"

#include "common/memory.h"
#include "common/pg.h"
#include "common/service.h"
#include "common/wakeup.h"
#include "relay_text.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reading a tick of millions of rows to its end takes minutes. */
#define STATEMENT_MS DB_SILENCE_MAX_MS
#define LOCK_MS 10000
#define CONNECT_MS 5000

struct db {
	const char *url;
	PGconn *conn; /* NULL: dropped, to be opened again when it is needed */
	bool deaf;    /* while it was, wake-ups went unheard */
	int64_t silence_ms;
	unsigned shard;
	const char *sent; /* the statement whose rows come */
};

struct statement {
	const char *name;
	const char *text;
	bool of_shard; /* $1 is the shard */
	int n;         /* parameters, with the shard */
	Oid types[6];  /* 0: the statement says it */
};

static const struct statement statements[DB_STATEMENTS] = {
    [DB_TICK] = {"tick", relay_sql_tick_sql, true, 5,
	{PG_INT2, PG_INT8, PG_INT8, PG_INT8, PG_INT8}},
    [DB_BRANCH] = {"branch", relay_sql_branch_sql, true, 6,
	{PG_INT2, PG_INT8, PG_INT8, PG_INT8, PG_INT8, PG_BOOL}},
    [DB_READ] = {"read", relay_sql_read_sql, true, 4, {PG_INT2, PG_INT8, PG_INT8, PG_INT8}},
    [DB_NEXT_TICK] = {"next_tick", relay_sql_next_tick_sql, true, 2, {PG_INT2, PG_INT8}},
    [DB_FIRST_AFTER] = {"first_after", relay_sql_first_after_sql, true, 3,
	{PG_INT2, PG_INT8, PG_INT8}},
    [DB_KNOWN] = {"known", relay_sql_known_sql, true, 5,
	{PG_INT2, PG_INT8, PG_INT8, PG_INT8, PG_INT8}},
    [DB_OWNS] = {"owns", relay_sql_owns_sql, true, 5, {PG_INT2, 0, 0, 0, 0}},
    [DB_CHAIN] = {"chain", relay_sql_chain_sql, true, 1, {PG_INT2}},
    [DB_REGISTER] = {"register", relay_sql_register_sql, true, 2, {PG_INT2, 0}},
    [DB_ACKNOWLEDGE] = {"acknowledge", relay_sql_acknowledge_sql, true, 4, {PG_INT2, 0, 0, 0}},
    [DB_LIFT_FLOOR] = {"lift_floor", relay_sql_lift_floor_sql, false, 0, {0}},
    [DB_NOTE_GAP] = {"note_gap", relay_sql_note_gap_sql, true, 4,
	{PG_INT2, PG_INT8, PG_INT8, PG_INT8}},
};

/* xids mean something only inside one cluster: ticks of another one would be guesses. */
static int check_cluster(PGconn *conn, unsigned *ret_shards, struct err *err)
{
	PGresult *res = NULL;
	int rc = -1;

	if (pg_run(conn, relay_sql_cluster_sql, 0, NULL, &res, err) < 0) {
		pg_error_at_start(err);
		goto done;
	}
	if (PQntuples(res) != 1) {
		err_set(err, ERR_MISMATCH, "intake.setting is empty: run umavez migrate");
		goto done;
	}
	if (pg_int(res, 0, "expected") != pg_int(res, 0, "actual")) {
		err_set(err, ERR_MISMATCH,
		    "this is PostgreSQL cluster %s, but the outbox was written in %s: connect to "
		    "that one; if this one replaces it, run umavez rebase",
		    pg_text(res, 0, "actual"), pg_text(res, 0, "expected"));
		goto done;
	}
	*ret_shards = (unsigned)pg_int(res, 0, "shards");
	rc = 0;
done:
	PQclear(res);
	return rc;
}

static int connect(const char *url, const char *name, int64_t silence_ms, PGconn **ret_conn,
    unsigned *ret_shards, struct err *err)
{
	struct pg_session session = {.application_name = name,
	    .statement_timeout = STATEMENT_MS,
	    .lock_timeout = LOCK_MS,
	    .idle_in_transaction_timeout = STATEMENT_MS,
	    .connect_timeout = CONNECT_MS,
	    .stop_fd = service_stop_fd()};
	PGconn *conn = NULL;
	int rc = -1;

	if (pg_connect(url, &session, &conn, err) < 0)
		goto done;
	pg_allow_silence(conn, silence_ms);
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

	if (connect(url, "umavez-relay", DB_SILENCE_MIN_MS, &conn, ret_shards, err) < 0)
		return -1;
	PQfinish(conn);
	return 0;
}

static int prepare(PGconn *conn, struct err *err)
{
	for (int i = 0; i < DB_STATEMENTS; i++) {
		const struct statement *s = &statements[i];

		if (pg_prepare(conn, s->name, s->text, s->n, s->types, err) < 0)
			return err_wrap(err, "prepare %s", s->name);
	}
	return 0;
}

/* Before everything that needs the session. */
static int need_session(struct db *db, struct err *err)
{
	PGconn *conn = NULL;
	char name[32];
	unsigned shards;
	int rc = -1;

	if (db->conn)
		return 0;
	snprintf(name, sizeof(name), "umavez-relay/%u", db->shard);
	if (connect(db->url, name, db->silence_ms, &conn, &shards, err) < 0)
		goto done;
	if (pg_exec(conn, relay_sql_session_sql, err) < 0 || prepare(conn, err) < 0)
		goto done;
	if (pg_exec(conn, "LISTEN umavez_outbox", err) < 0)
		goto done;
	db->conn = conn;
	conn = NULL; /* the session's now */
	db->deaf = true;
	rc = 0;
done:
	PQfinish(conn);
	return rc;
}

int db_open(
    const char *url, unsigned shard, int64_t silence_ms, struct db **ret_db, struct err *err)
{
	struct db *db = mem_zalloc(1, sizeof(*db));
	int rc = -1;

	db->url = url;
	db->shard = shard;
	db->silence_ms = silence_ms;
	if (need_session(db, err) < 0)
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

void db_allow_silence(struct db *db, int64_t ms)
{
	db->silence_ms = ms;
	if (db->conn)
		pg_allow_silence(db->conn, ms);
}

bool db_was_silent(const struct db *db)
{
	return db->conn && pg_was_silent(db->conn);
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

/* The statement's own parameters, and behind them the caller's, which are borrowed as they are. */
static struct pg_params bind(
    const struct db *db, const struct statement *s, const struct db_args *args, struct db_args *all)
{
	*all = (struct db_args){.n = 0};
	if (s->of_shard)
		db_arg_int(all, db->shard);
	for (int i = 0; args && i < args->n; i++)
		arg(all, args->values[i], args->lens[i], args->formats[i]);
	assert(all->n == s->n);
	return (struct pg_params){all->n, all->values, all->lens, all->formats};
}

int db_run(struct db *db, enum db_statement statement, struct db_args *args, PGresult **ret_res,
    struct err *err)
{
	const struct statement *s = &statements[statement];
	struct db_args all;
	struct pg_params params = bind(db, s, args, &all);

	if (need_session(db, err) < 0 ||
	    pg_run_prepared(db->conn, s->name, &params, ret_res, err) < 0)
		return err_wrap(err, "%s", s->name);
	return 0;
}

int db_send(struct db *db, enum db_statement statement, struct db_args *args, struct err *err)
{
	const struct statement *s = &statements[statement];
	struct db_args all;
	struct pg_params params = bind(db, s, args, &all);

	if (need_session(db, err) < 0 || pg_start_prepared(db->conn, s->name, &params, err) < 0)
		return err_wrap(err, "%s", s->name);
	db->sent = s->name;
	return 0;
}

int db_row(struct db *db, PGresult **ret_row, struct err *err)
{
	return pg_row(db->conn, ret_row, err) < 0 ? err_wrap(err, "%s", db->sent) : 0;
}

void db_drop(struct db *db)
{
	PQfinish(db->conn);
	db->conn = NULL;
}

/* Forgets those that have arrived. */
static bool heard(struct db *db)
{
	bool any = db->deaf;
	PGnotify *notify;

	db->deaf = false;
	while ((notify = PQnotifies(db->conn))) {
		any = any || wakeup_concerns(notify->extra, db->shard);
		PQfreemem(notify);
	}
	return any;
}

void db_drain_wakeups(struct db *db)
{
	if (db->conn)
		heard(db);
}

int db_wait(struct db *db, int stop_fd, int64_t ms, struct err *err)
{
	struct pollfd pfds[] = {{.events = POLLIN}, {.fd = stop_fd, .events = POLLIN}};

	if (need_session(db, err) < 0)
		return -1;
	if (heard(db))
		return 1;
	pfds[0].fd = PQsocket(db->conn);
	if (poll(pfds, 2, (int)ms) < 0 && errno != EINTR)
		return err_set(err, ERR_RETRY, "poll: %s", strerror(errno));
	if (!PQconsumeInput(db->conn))
		return pg_error(db->conn, NULL, err);
	return heard(db);
}
