/*
 * What a statement reads does not grow with history: two hundred thousand rows in fifteen
 * partitions cost it as many pages as in one, but for the top of an index or two in each.  EXPLAIN
 * of exactly what ships, under the relay's own settings.
 */
#include "relay_text.h"
#include "tests/relay/stack.h"
#include "tests/schema/past.h"
#include "tests/support/die.h"
#include "tests/support/explain.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PARTITIONS = 15, ROWS = 200000 };

enum { TICK, READ, NEXT_TICK, FIRST_AFTER, OWNS, RECEIVE, STATEMENTS };

static const char *const names[STATEMENTS] = {
    "tick", "read", "next_tick", "first_after", "owns", "receive"};

struct pages {
	int64_t of[STATEMENTS];
};

static void exec(PGconn *conn, const char *sql)
{
	PGresult *res = PQexec(conn, sql);

	if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK)
		die("%s: %s", sql, PQerrorMessage(conn));
	PQclear(res);
}

static void prepare(PGconn *conn, const char *name, const char *types, const char *text)
{
	char *sql = text_format("PREPARE %s(%s) AS %s", name, types, text);

	exec(conn, sql);
	free(sql);
}

static PGconn *session(struct world *w)
{
	PGconn *conn = world_pg(w);

	exec(conn, relay_sql_session_sql);
	prepare(conn, "tick", "smallint, bigint, bigint, bigint, bigint", relay_sql_tick_sql);
	prepare(conn, "read", "smallint, bigint, bigint, bigint", relay_sql_read_sql);
	prepare(conn, "next_tick", "smallint, bigint", relay_sql_next_tick_sql);
	prepare(conn, "first_after", "smallint, bigint, bigint", relay_sql_first_after_sql);
	prepare(conn, "owns", "smallint, bigint[], bigint[], text[], text[]", relay_sql_owns_sql);
	return conn;
}

#define EXPLAIN(pages, what, ...)                                                                  \
	do {                                                                                       \
		char *sql_ = text_format(__VA_ARGS__);                                             \
		(pages)->of[what] = explain_pages(conn, sql_);                                     \
		free(sql_);                                                                        \
	} while (0)

/* One row's way: received, ticked, read, and found again. */
static void publish_one(struct world *w, PGconn *conn, int round, struct pages *ret)
{
	int64_t last = world_int(w, "SELECT max(tick) FROM intake.tick"), tick, id;

	EXPLAIN(ret, RECEIVE,
	    "SELECT intake.receive('{app_store}', '{n%d}', '{renewed}', '{DID_RENEW}', '{3}',"
	    " '{purchase}', '{2026-01-01 00:00:%02dZ}', ARRAY[now()], '{NULL}', '{NULL}', '{p}',"
	    " '{a}', '{active}', '{false}', '{NULL}', '{NULL}', '{t%d}', '{100}', '{EUR}', '{1}',"
	    " '{false}', '{NULL}', '{x}')",
	    round, round, round);
	EXPLAIN(ret, TICK, "EXECUTE tick(0::smallint, %lld, 0, 100, 1000000)", (long long)last);
	tick = world_int(w, "SELECT max(tick) FROM intake.tick");
	id = world_int(w, "SELECT max(id) FROM intake.outbox");
	CHECK(tick > last);
	EXPLAIN(ret, READ, "EXECUTE read(0::smallint, %lld, 0, 1000000)", (long long)tick);
	EXPLAIN(ret, NEXT_TICK, "EXECUTE next_tick(0::smallint, %lld)", (long long)last);
	EXPLAIN(ret, FIRST_AFTER, "EXECUTE first_after(0::smallint, %lld, %lld)", (long long)last,
	    (long long)ROWS);
	EXPLAIN(ret, OWNS, "EXECUTE owns(0::smallint, '{%lld}', '{%lld}', '{app_store}', '{n%d}')",
	    (long long)tick, (long long)id, round);
}

/* History that is published, in so many of the fifteen partitions; then the pages of one row. */
static void measure(int filled, struct pages *ret)
{
	struct world *w = stack_open(1);
	PGconn *conn;

	past_make(w);
	world_sql(w, "SELECT intake.make_partition('outbox', (now() AT TIME ZONE 'UTC')::date - n)"
		     " FROM generate_series(10, 12) AS n");
	CHECK_INT(world_int(w, "SELECT count(*) FROM intake.partition WHERE parent = 'outbox'"),
	    PARTITIONS);
	for (int i = PARTITIONS - 1; i >= 0; i--) {
		world_sql(w,
		    "INSERT INTO intake.outbox (shard, source, message_id, type, subject, time, "
		    "data,"
		    " created_at) SELECT 0, 'app', 'm%d-' || g, 't', 'app/' || g %% 1000, now(), "
		    "'{}',"
		    " (SELECT first_day + interval '12 hours' FROM intake.partition WHERE parent ="
		    "  'outbox' ORDER BY first_day DESC OFFSET %d LIMIT 1)"
		    " FROM generate_series(1, %d) AS g",
		    i, filled == 1 ? 0 : i, ROWS / PARTITIONS);
		past_tick(w, 0, i);
	}
	conn = session(w);
	/* The first round also reads the catalog; it is not what is measured. */
	for (int round = 1; round <= 3; round++)
		publish_one(w, conn, round, ret);
	PQfinish(conn);
	world_close(w);
}

static void as_many_pages_as_in_one(void)
{
	struct pages one, fifteen;

	measure(1, &one);
	measure(PARTITIONS, &fifteen);
	for (int i = 0; i < STATEMENTS; i++) {
		printf("\n  %-12s %4lld pages, in one partition %4lld", names[i],
		    (long long)fifteen.of[i], (long long)one.of[i]);
		CHECK(fifteen.of[i] <= one.of[i] + 4 * PARTITIONS);
		CHECK(fifteen.of[i] < 300);
	}
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"as many pages in fifteen partitions as in one", as_many_pages_as_in_one},
	    {NULL, NULL},
	};
	return check_main("relay partitions", checks, argc, argv);
}
