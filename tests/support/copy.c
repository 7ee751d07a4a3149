#include "tests/support/copy.h"

#include "tests/support/die.h"
#include "tests/support/text.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* In COPY's text format. */
struct copy {
	PGconn *conn;
	FILE *row;
	char *text;
	size_t len;
	bool first;
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
	c->row = open_memstream(&c->text, &c->len);
	if (c->row == NULL)
		die("out of memory");
	c->first = true;
	return c;
}

void copy_column(struct copy *c, const char *s, size_t len)
{
	if (!c->first)
		fputc('\t', c->row);
	c->first = false;
	if (s == NULL)
		fputs("\\N", c->row);
	for (size_t i = 0; s != NULL && i < len; i++) {
		if (s[i] == '\\' || s[i] == '\t' || s[i] == '\n' || s[i] == '\r')
			fputc('\\', c->row);
		fputc(s[i], c->row);
	}
}

void copy_text(struct copy *c, const char *s)
{
	copy_column(c, s, s ? strlen(s) : 0);
}

void copy_int(struct copy *c, int64_t value)
{
	char text[32];

	snprintf(text, sizeof(text), "%" PRId64, value);
	copy_text(c, text);
}

void copy_row(struct copy *c)
{
	fputc('\n', c->row);
	fflush(c->row);
	if (PQputCopyData(c->conn, c->text, (int)c->len) != 1)
		die("COPY: %s", PQerrorMessage(c->conn));
	rewind(c->row);
	c->first = true;
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
	fclose(c->row);
	free(c->text);
	free(c);
}
