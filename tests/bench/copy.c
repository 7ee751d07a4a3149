#include "tests/bench/copy.h"

#include "tests/support/files.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#define ROW_BYTES 1024

struct copy {
	PGconn *conn;
};

struct copy *copy_new(struct world *w, const char *table)
{
	struct copy *c = calloc(1, sizeof(*c));
	char *sql = text_format("COPY %s FROM STDIN", table);
	PGresult *res;

	if (c == NULL)
		die("out of memory");
	c->conn = world_pg(w);
	res = PQexec(c->conn, sql);
	if (PQresultStatus(res) != PGRES_COPY_IN)
		die("%s: %s", sql, PQerrorMessage(c->conn));
	PQclear(res);
	free(sql);
	return c;
}

void copy_row(struct copy *c, const char *fmt, ...)
{
	char row[ROW_BYTES];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(row, sizeof(row), fmt, args);
	va_end(args);
	if (n >= (int)sizeof(row) || PQputCopyData(c->conn, row, n) != 1)
		die("COPY: %s", PQerrorMessage(c->conn));
}

void copy_end(struct copy *c)
{
	PGresult *res;

	if (PQputCopyEnd(c->conn, NULL) != 1)
		die("COPY: %s", PQerrorMessage(c->conn));
	res = PQgetResult(c->conn);
	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		die("COPY: %s", PQerrorMessage(c->conn));
	PQclear(res);
	PQfinish(c->conn);
	free(c);
}
