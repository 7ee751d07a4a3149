#include "tests/bench/history.h"

#include "bench_text.h"
#include "tests/support/die.h"
#include "tests/support/text.h"

#include <inttypes.h>
#include <unistd.h>

/* What does not depend on each other, each in a session of its own. */
static const char *const texts[] = {
    tests_bench_sql_history_received_sql, tests_bench_sql_history_published_sql};
#define SESSIONS (sizeof(texts) / sizeof(texts[0]))

static PGconn *begin(struct ground *g, const char *text, int64_t rows)
{
	PGconn *conn = world_pg(g->w);
	char *sql = text_format("SET bench.history = %" PRId64 "; %s", rows, text);

	if (!PQsendQuery(conn, sql))
		die("history: %s", PQerrorMessage(conn));
	free(sql);
	return conn;
}

static void finish(PGconn *conn)
{
	PGresult *res;

	while ((res = PQgetResult(conn)) != NULL) {
		if (PQresultStatus(res) == PGRES_FATAL_ERROR)
			die("history: %s", PQerrorMessage(conn));
		PQclear(res);
	}
	PQfinish(conn);
}

/* Nothing waits for the disk meanwhile, and at the end nothing is left for it to do. */
void history_fill(struct ground *g, int64_t rows)
{
	PGconn *sessions[SESSIONS];

	world_sql(g->w, "ALTER SYSTEM SET fsync = off");
	world_sql(g->w, "SELECT pg_reload_conf()");
	for (size_t i = 0; i < SESSIONS; i++)
		sessions[i] = begin(g, texts[i], rows);
	for (size_t i = 0; i < SESSIONS; i++)
		finish(sessions[i]);
	world_sql(g->w, "VACUUM ANALYZE");
	ground_configure(g);
	sync();
}
