#include "simulate/outside.h"

#include "simulate_text.h"
#include "tests/support/die.h"
#include "tests/support/text.h"

#include <inttypes.h>
#include <stdlib.h>

/* Autovacuum commits too, but not every time. */
#define TRIES 3

void outside_install(struct world *w)
{
	world_sql(w, "%s", simulate_sql_sample_sql);
}

/* Call it in a transaction that is rolled back; the transaction's id. An error is as good. */
static int64_t call_in_vain(PGconn *conn, const char *function, int64_t sample)
{
	char *sql = text_format(
	    "SELECT %s(event) FROM witness.sample OFFSET %" PRId64 " LIMIT 1", function, sample);
	PGresult *res;
	int64_t xid;

	PQclear(PQexec(conn, "BEGIN"));
	res = PQexec(conn, "SELECT pg_current_xact_id()");
	if (PQntuples(res) != 1)
		die("pg_current_xact_id: %s", PQerrorMessage(conn));
	xid = strtoll(PQgetvalue(res, 0, 0), NULL, 10);
	PQclear(res);
	PQclear(PQexec(conn, sql));
	PQclear(PQexec(conn, "ROLLBACK"));
	free(sql);
	return xid;
}

/* Whether what began after this transaction has committed; its own subtransactions have not. */
static bool has_committed_since(struct world *w, int64_t xid)
{
	return world_int(w,
		   "SELECT count(*) FROM generate_series(%" PRId64 "::numeric + 1,"
		   " pg_snapshot_xmax(pg_current_snapshot())::text::numeric - 1) AS x"
		   " WHERE pg_xact_status(x::text::xid8) = 'committed'",
		   xid) > 0;
}

static bool leaves_something(struct world *w, PGconn *conn, const char *function, int64_t sample)
{
	for (int i = 0; i < TRIES; i++)
		if (!has_committed_since(w, call_in_vain(conn, function, sample)))
			return false;
	return true;
}

bool outside_writes(struct world *w, const char *function)
{
	int64_t samples = world_int(w, "SELECT count(*) FROM witness.sample");
	PGconn *conn = PQconnectdb(world_consumer_url(w));
	bool found = false;

	if (PQstatus(conn) != CONNECTION_OK)
		die("cannot connect to PostgreSQL: %s", PQerrorMessage(conn));
	for (int64_t i = 0; i < samples && !found; i++)
		found = leaves_something(w, conn, function, i);
	PQfinish(conn);
	return found;
}

void outside_count(struct world *w)
{
	world_sql(w, "%s", simulate_sql_calls_sql);
}
