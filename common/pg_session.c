#include "common/clock.h"
#include "common/hex.h"
#include "common/memory.h"
#include "common/pg.h"
#include "common/pg_io.h"
#include "common/schema_version.h"

#include <assert.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_CONNECT_MS = 5000, NONCE_SIZE = 33 };

static const char pooler_advice[] =
    "the server did not take our session settings (startup parameter \"options\"): connect to "
    "PostgreSQL directly, or through session pooling that passes them on";

static void silence(void *arg, const PGresult *notice)
{
	(void)arg;
	(void)notice;
}

/*
 * libpq takes the user and the password up to the first '@', if no '/' comes before it.  With an
 * unescaped one inside, the rest of the password would become a host name, and appear in error
 * messages.
 */
static bool ambiguous(const char *url)
{
	const char *authority = strstr(url, "://");

	if (!authority)
		return false;
	authority += 3;
	const char *end = authority + strcspn(authority, "@/");
	const char *hosts = *end == '@' ? end + 1 : authority;
	return memchr(hosts, '@', strcspn(hosts, "?")) != NULL;
}

/* NULL with an error; else free with PQconninfoFree(). */
static PQconninfoOption *parse_url(const char *url, struct err *err)
{
	PQconninfoOption *parsed;

	/* libpq's message would quote the URL, and with it the password. */
	if (ambiguous(url)) {
		err_set(
		    err, ERR_USAGE, "percent-encode '@' and '/' in the user name and the password");
		return NULL;
	}
	parsed = PQconninfoParse(url, NULL);
	if (!parsed)
		err_set(
		    err, ERR_USAGE, "not a PostgreSQL URL (postgresql://user@host:port/database)");
	return parsed;
}

int pg_url_check(const char *url, struct err *err)
{
	PQconninfoOption *parsed = parse_url(url, err);

	if (!parsed)
		return -1;
	PQconninfoFree(parsed);
	return 0;
}

/* The URL's own "options", or PGOPTIONS, which libpq would have used; malloc'd. */
static int base_options(const char *url, char **ret_options, struct err *err)
{
	PQconninfoOption *parsed = parse_url(url, err);
	const char *found = getenv("PGOPTIONS");

	if (!parsed)
		return -1;
	for (const PQconninfoOption *o = parsed; o->keyword; o++) {
		if (strcmp(o->keyword, "options") == 0 && o->val)
			found = o->val;
	}
	*ret_options = mem_strdup(found ? found : "");
	PQconninfoFree(parsed);
	return 0;
}

/* client_min_messages: a role that hides WARNINGs would hide a commit that no standby confirmed.
 * jit: what is estimated for many partitions looks dear enough to be compiled, which takes a
 * hundred times as long as the statement. */
static char *session_options(const char *base, const struct pg_session *s, const char *nonce)
{
	return mem_printf(
	    "%s -c umavez.session=%s -c default_transaction_isolation=read\\ committed"
	    " -c TimeZone=UTC -c DateStyle=ISO -c bytea_output=hex -c jit=off"
	    " -c standard_conforming_strings=on -c client_min_messages=notice"
	    " -c statement_timeout=%" PRId64 " -c lock_timeout=%" PRId64
	    " -c idle_in_transaction_session_timeout=%" PRId64 " -c idle_session_timeout=0",
	    base, nonce, s->statement_timeout, s->lock_timeout, s->idle_in_transaction_timeout);
}

static void make_nonce(char nonce[NONCE_SIZE])
{
	unsigned char bytes[(NONCE_SIZE - 1) / 2];

	random_bytes(bytes, sizeof(bytes));
	hex_format(bytes, sizeof(bytes), nonce);
}

static int64_t connect_ms(const struct pg_session *s)
{
	return s->connect_timeout ? s->connect_timeout : DEFAULT_CONNECT_MS;
}

int pg_connect_error(PGconn *conn, struct err *err)
{
	const char *message = PQerrorMessage(conn);

	if (strstr(message, "unsupported startup parameter"))
		return err_set(err, ERR_FATAL, "%s", pooler_advice);
	return err_set(err, ERR_RETRY, "%s", *message ? message : "cannot connect");
}

int pg_connect_start(const char *url, const struct pg_session *session, PGconn **ret_conn,
    char ret_nonce[33], struct err *err)
{
	char *base = NULL, *options = NULL, timeout[24];
	PGconn *conn = NULL;
	int rc = -1;

	if (base_options(url, &base, err) < 0)
		goto done;
	make_nonce(ret_nonce);
	options = session_options(base, session, ret_nonce);
	snprintf(timeout, sizeof(timeout), "%" PRId64, connect_ms(session));
	/* Later keywords override what the URL in dbname says. */
	const char *const keywords[] = {"dbname", "options", "application_name", "client_encoding",
	    "tcp_user_timeout", "keepalives", "keepalives_idle", "keepalives_interval",
	    "keepalives_count", NULL};
	const char *const values[] = {
	    url, options, session->application_name, "UTF8", timeout, "1", "10", "5", "3", NULL};
	conn = PQconnectStartParams(keywords, values, 1);
	if (!conn) {
		err_set(err, ERR_RETRY, "out of memory");
		goto done;
	}
	if (PQstatus(conn) == CONNECTION_BAD) {
		pg_connect_error(conn, err);
		goto done;
	}
	PQsetNoticeReceiver(conn, silence, NULL);
	*ret_conn = conn;
	conn = NULL; /* the caller's now */
	rc = 0;
done:
	PQfinish(conn);
	free(options);
	free(base);
	return rc;
}

static int finish_connect(PGconn *conn, int64_t deadline_us, struct err *err)
{
	PostgresPollingStatusType how = PGRES_POLLING_WRITING;

	while (how != PGRES_POLLING_OK) {
		short events = how == PGRES_POLLING_READING ? POLLIN : POLLOUT;
		if (!pg_io_wait(conn, events, deadline_us))
			return pg_error(conn, NULL, err);
		how = PQconnectPoll(conn);
		if (how == PGRES_POLLING_FAILED)
			return pg_connect_error(conn, err);
	}
	return 0;
}

const char *pg_session_check_query(void)
{
	return "SELECT current_setting('umavez.session', true) AS session,"
	       " pg_is_in_recovery() AS standby,"
	       " current_setting('transaction_read_only')::boolean AS read_only,"
	       " CASE WHEN current_setting('synchronous_commit')"
	       " IN ('off', 'local', 'remote_write')"
	       " THEN set_config('synchronous_commit', 'on', false)"
	       " ELSE current_setting('synchronous_commit') END AS synchronous_commit";
}

int pg_session_check(const PGresult *res, const char *nonce, struct err *err)
{
	if (PQresultStatus(res) != PGRES_TUPLES_OK || PQntuples(res) != 1)
		return pg_error(NULL, res, err);

	const char *session = pg_text(res, 0, "session");
	const char *commit = pg_text(res, 0, "synchronous_commit");

	if (!session || strcmp(session, nonce) != 0)
		return err_set(err, ERR_FATAL, "%s", pooler_advice);
	if (pg_bool(res, 0, "standby"))
		return err_set(err, ERR_RETRY, "the server is a standby");
	if (pg_bool(res, 0, "read_only"))
		return err_set(err, ERR_RETRY, "the server is read-only");
	if (strcmp(commit, "on") != 0 && strcmp(commit, "remote_apply") != 0)
		return err_set(err, ERR_FATAL, "synchronous_commit stays \"%s\"", commit);
	return 0;
}

static int check_session(PGconn *conn, const char *nonce, int64_t deadline_us, struct err *err)
{
	int64_t left_ms = (deadline_us - clock_mono_us()) / 1000;

	pg_io_limit(conn, left_ms > 0 ? left_ms : 1);
	PGresult *res = pg_io_query(conn, pg_session_check_query());
	int rc = res && PQstatus(conn) == CONNECTION_OK ? pg_session_check(res, nonce, err)
							: pg_error(conn, res, err);

	PQclear(res);
	return rc;
}

int pg_connect(
    const char *url, const struct pg_session *session, PGconn **ret_conn, struct err *err)
{
	int64_t deadline_us = clock_mono_us() + connect_ms(session) * 1000;
	char nonce[NONCE_SIZE];
	PGconn *conn = NULL;
	int rc = -1;

	if (pg_connect_start(url, session, &conn, nonce, err) < 0)
		goto done;
	pg_io_attach(conn, session->stop_fd, session->stop_ms);
	if (finish_connect(conn, deadline_us, err) < 0)
		goto done;
	if (check_session(conn, nonce, deadline_us, err) < 0)
		goto done;
	pg_io_limit(conn,
	    session->statement_timeout ? session->statement_timeout + connect_ms(session) : 0);
	*ret_conn = conn;
	conn = NULL; /* the caller's now */
	rc = 0;
done:
	PQfinish(conn);
	return rc;
}

static bool is_intake(const char *schema)
{
	bool intake = strcmp(schema, "intake") == 0;

	assert(intake || strcmp(schema, "effects") == 0);
	return intake;
}

const char *pg_schema_check_query(const char *schema)
{
	return is_intake(schema) ? "SELECT max(version) AS version FROM intake.migration"
				 : "SELECT max(version) AS version FROM effects.migration";
}

/* 0: there is no such schema. */
static int schema_version(const PGresult *res, int64_t *ret_version, struct err *err)
{
	const char *sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);

	if (PQresultStatus(res) == PGRES_TUPLES_OK) {
		*ret_version = pg_int(res, 0, "version");
		return 0;
	}
	/* undefined table, invalid schema name */
	if (sqlstate && (strcmp(sqlstate, "42P01") == 0 || strcmp(sqlstate, "3F000") == 0)) {
		*ret_version = 0;
		return 0;
	}
	pg_error(NULL, res, err);
	return pg_error_at_start(err);
}

int pg_schema_check(const PGresult *res, const char *schema, struct err *err)
{
	int64_t want = is_intake(schema) ? SCHEMA_VERSION_INTAKE : SCHEMA_VERSION_EFFECTS;
	int64_t have = 0;

	if (schema_version(res, &have, err) < 0)
		return err_wrap(err, "schema %s", schema);
	if (have == 0)
		return err_set(
		    err, ERR_MISMATCH, "schema %s is missing: run umavez migrate", schema);
	if (have < want)
		return err_set(err, ERR_MISMATCH,
		    "schema %s is at version %" PRId64 ", not %" PRId64 ": run umavez migrate",
		    schema, have, want);
	if (have > want)
		return err_set(err, ERR_MISMATCH,
		    "this binary is older than schema %s: it knows version %" PRId64
		    ", the database has %" PRId64,
		    schema, want, have);
	return 0;
}

int pg_check_schema(PGconn *conn, const char *schema, struct err *err)
{
	PGresult *res = pg_io_query(conn, pg_schema_check_query(schema));
	int rc = res && PQstatus(conn) == CONNECTION_OK ? pg_schema_check(res, schema, err)
							: pg_error(conn, res, err);

	PQclear(res);
	return rc;
}
