#include "tests/support/explain.h"

#include "tests/support/die.h"
#include "tests/support/text.h"

#include <jansson.h>
#include <stdlib.h>

int64_t explain_pages(PGconn *conn, const char *sql)
{
	char *text = text_format("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) %s", sql);
	PGresult *res = PQexec(conn, text);
	json_int_t hit, read;
	json_t *plans;

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		die("%s: %s", text, PQerrorMessage(conn));
	plans = json_loads(PQgetvalue(res, 0, 0), 0, NULL);
	if (json_unpack(plans, "[{s:{s:I, s:I}}]", "Plan", "Shared Hit Blocks", &hit,
		"Shared Read Blocks", &read) < 0)
		die("%s: not a plan: %s", sql, PQgetvalue(res, 0, 0));
	json_decref(plans);
	PQclear(res);
	free(text);
	return hit + read;
}
