#include "tests/bench/entries.h"

#include "common/stream_id.h"
#include "tests/support/die.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 2000

/* Outbox rows by id, from the least on: 0 no row, else how many entries it has and one. */
struct rows {
	int64_t least, n;
	unsigned char *seen;
};

static void read_rows(struct ground *g, struct rows *rows)
{
	PGconn *conn = world_pg(g->w);
	PGresult *res = PQexec(conn, "SELECT id FROM intake.outbox ORDER BY id");
	int n = PQntuples(res);

	if (PQresultStatus(res) != PGRES_TUPLES_OK || n == 0)
		die("no outbox: %s", PQerrorMessage(conn));
	rows->least = strtoll(PQgetvalue(res, 0, 0), NULL, 10);
	rows->n = strtoll(PQgetvalue(res, n - 1, 0), NULL, 10) - rows->least + 1;
	rows->seen = calloc(1, (size_t)rows->n);
	if (rows->seen == NULL)
		die("out of memory");
	for (int i = 0; i < n; i++)
		rows->seen[strtoll(PQgetvalue(res, i, 0), NULL, 10) - rows->least] = 1;
	PQclear(res);
	PQfinish(conn);
}

static void take(struct rows *rows, const char *text, struct stream_id *last, int64_t *doubled)
{
	struct stream_id id;
	int64_t at;

	if (!stream_id_parse(text, &id))
		die("not a stream ID: %s", text);
	at = (int64_t)id.seq - rows->least;
	if (at < 0 || at >= rows->n || rows->seen[at] != 1 || stream_id_compare(id, *last) <= 0)
		++*doubled;
	else
		rows->seen[at] = 2;
	*last = id;
}

static void read_stream(struct ground *g, unsigned shard, struct rows *rows, int64_t *doubled)
{
	struct stream_id last = {0, 0};
	char from[STREAM_ID_SIZE + 1] = "-";
	size_t got;

	do {
		redisReply *page = ground_redis(
		    g, "XRANGE umavez:purchases:{%u} %s + COUNT %d", shard, from, PAGE);

		got = page->elements;
		for (size_t i = 0; i < got; i++)
			take(rows, page->element[i]->element[0]->str, &last, doubled);
		from[0] = '(';
		stream_id_format(last, from + 1);
		freeReplyObject(page);
	} while (got == PAGE);
}

void entries_check(struct ground *g, struct entries_ledger *ret)
{
	struct entries_ledger ledger = {0, 0};
	struct rows rows;

	read_rows(g, &rows);
	for (unsigned shard = 0; shard < GROUND_SHARDS; shard++)
		read_stream(g, shard, &rows, &ledger.doubled);
	for (int64_t i = 0; i < rows.n; i++)
		ledger.lost += rows.seen[i] == 1;
	free(rows.seen);
	*ret = ledger;
}
