#include "tests/crash/effects_db.h"

#include "tests/support/die.h"
#include "tests/support/text.h"
#include "world_text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME "effects_only"

struct effects_db {
	struct world *world, *server; /* whose outbox it follows, and where it is */
	char *admin_url, *consumer_url;
};

/* url, with another database. */
static char *other_database(const char *url)
{
	const char *slash = strchr(strstr(url, "://") + 3, '/');
	const char *options = strchr(url, '?');

	return text_format("%.*s/" NAME "%s", (int)(slash - url), url, options);
}

struct connecting {
	const char *url;
	PGconn *conn;
};

static bool is_connected(void *ctx)
{
	struct connecting *c = ctx;

	PQfinish(c->conn);
	c->conn = PQconnectdb(c->url);
	return PQstatus(c->conn) == CONNECTION_OK;
}

/* Of two hosts the standby is asked first, perhaps before it knows that the database is there
 * again: libpq then does not ask the other one. */
static PGconn *connect(const struct effects_db *d)
{
	struct connecting c = {d->admin_url, NULL};

	if (!await(is_connected, &c, 30000))
		die("cannot connect: %s", PQerrorMessage(c.conn));
	return c.conn;
}

static PGresult *run(PGconn *conn, const char *sql)
{
	PGresult *res = PQexec(conn, sql);

	switch (PQresultStatus(res)) {
	case PGRES_TUPLES_OK:
	case PGRES_COMMAND_OK:
	case PGRES_COPY_IN:
	case PGRES_COPY_OUT:
		return res;
	default:
		die("%s: %s", sql, PQerrorMessage(conn));
	}
}

static void migrate(const struct effects_db *d)
{
	char *shards = world_text(d->world, "SELECT shards FROM intake.setting");
	const char *const args[] = {"migrate", "--only", "effects", "--database-url", d->admin_url,
	    "--shards", shards, "--roles", NULL};

	if (world_run(d->world, NULL, "umavez", args) != 0)
		die("umavez migrate --only effects failed");
	free(shards);
}

struct effects_db *effects_db_open_on(struct world *w, struct world *server)
{
	struct effects_db *d = calloc(1, sizeof(*d));
	PGconn *conn;

	if (d == NULL)
		die("out of memory");
	d->world = w;
	d->server = server;
	d->admin_url = other_database(world_admin_url(server));
	d->consumer_url = other_database(world_consumer_url(server));
	world_sql(server, "CREATE DATABASE " NAME);
	migrate(d);
	conn = connect(d);
	PQclear(run(conn, tests_support_sql_witness_sql));
	PQfinish(conn);
	return d;
}

struct effects_db *effects_db_open(struct world *w)
{
	return effects_db_open_on(w, w);
}

void effects_db_close(struct effects_db *d)
{
	free(d->admin_url);
	free(d->consumer_url);
	free(d);
}

const char *effects_db_url(const struct effects_db *d)
{
	return d->consumer_url;
}

/* A template must not be in use; it takes a moment until ended sessions are gone. */
static bool is_unused(void *ctx)
{
	const struct effects_db *d = ctx;

	return world_int(d->server, "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
				    "WHERE datname = '" NAME "'") == 0;
}

void effects_db_backup(struct effects_db *d, const char *name)
{
	world_sql(d->server, "ALTER DATABASE " NAME " CONNECTION LIMIT 0");
	if (!await(is_unused, d, 30000))
		die("sessions do not end");
	world_sql(d->server, "CREATE DATABASE %s TEMPLATE " NAME, name);
	world_sql(d->server, "ALTER DATABASE " NAME " CONNECTION LIMIT -1");
}

void effects_db_restore(struct effects_db *d, const char *name)
{
	world_sql(d->server, "DROP DATABASE " NAME " WITH (FORCE)");
	world_sql(d->server, "CREATE DATABASE " NAME " TEMPLATE %s", name);
}

void effects_db_run(const struct effects_db *d, const char *fmt, ...)
{
	PGconn *conn = connect(d);
	va_list args;
	char *sql;

	va_start(args, fmt);
	if (vasprintf(&sql, fmt, args) < 0)
		die("out of memory");
	va_end(args);
	PQclear(run(conn, sql));
	PQfinish(conn);
	free(sql);
}

/* The first value; malloc'd, NULL without a row. */
static char *text(const struct effects_db *d, const char *sql)
{
	PGconn *conn = connect(d);
	PGresult *res = run(conn, sql);
	char *value = PQntuples(res) > 0 ? text_format("%s", PQgetvalue(res, 0, 0)) : NULL;

	PQclear(res);
	PQfinish(conn);
	return value;
}

struct stream_id effects_db_cursor(const struct effects_db *d, unsigned shard)
{
	char *sql = text_format("SELECT stream_id FROM effects.cursor WHERE shard = %u", shard);
	struct stream_id cursor = STREAM_ID_ZERO;
	char *id = text(d, sql);

	if (id != NULL && !stream_id_parse(id, &cursor))
		die("cursor: %s", id);
	free(id);
	free(sql);
	return cursor;
}

static bool is_applied(void *ctx)
{
	const struct effects_db *d = ctx;
	char *applied = text(d, "SELECT count(*) FROM effects.inbox");
	bool done =
	    strtoll(applied, NULL, 10) == world_int(d->world, "SELECT count(*) FROM intake.outbox");

	free(applied);
	return done;
}

bool effects_db_await_applied(struct effects_db *d, int64_t timeout_ms)
{
	return await(is_applied, d, timeout_ms);
}

static void copy_table(PGconn *from, PGconn *to, const char *table)
{
	char *out = text_format("COPY %s TO STDOUT", table);
	char *in = text_format("COPY %s FROM STDIN", table), *row;
	int len;

	PQclear(run(from, out));
	PQclear(run(to, in));
	while ((len = PQgetCopyData(from, &row, 0)) > 0) {
		if (PQputCopyData(to, row, len) != 1)
			die("%s: %s", in, PQerrorMessage(to));
		PQfreemem(row);
	}
	if (len != -1 || PQputCopyEnd(to, NULL) != 1)
		die("%s: %s%s", out, PQerrorMessage(from), PQerrorMessage(to));
	PQclear(PQgetResult(from));
	for (PGresult *res; (res = PQgetResult(to)) != NULL; PQclear(res))
		if (PQresultStatus(res) != PGRES_COMMAND_OK)
			die("%s: %s", in, PQerrorMessage(to));
	free(out);
	free(in);
}

void effects_db_gather(struct effects_db *d)
{
	static const char *const tables[] = {"effects.inbox", "effects.cursor",
	    "effects.entitlement", "effects.ledger", "witness.effect"};
	PGconn *from = connect(d), *to = world_pg(d->world);

	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		copy_table(from, to, tables[i]);
	PQfinish(from);
	PQfinish(to);
}
