/*
 * What a batch reads does not grow with what was applied or parked before it, although its plans
 * were made when there was nothing yet.
 */
#include "consumer_text.h"
#include "tests/consumer/stage.h"
#include "tests/support/die.h"
#include "tests/support/explain.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 10, HISTORY = 200000, PARKED = 20000 };

static void exec(PGconn *conn, const char *sql)
{
	PGresult *res = PQexec(conn, sql);

	if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK)
		die("%s: %s", sql, PQerrorMessage(conn));
	PQclear(res);
}

static PGconn *session(struct stage *s)
{
	PGconn *conn = world_pg(s->w);
	char *sql = text_format("PREPARE apply AS %s", consumer_sql_apply_sql);

	exec(conn, sql);
	free(sql);
	return conn;
}

/* "<before><first>,<before><first + 1>,...", one for each message of a batch. */
static char *column(const char *before, int first)
{
	char *list = text_format("%s%d", before, first);

	for (int n = first + 1; n < first + BATCH; n++) {
		char *longer = text_format("%s,%s%d", list, before, n);

		free(list);
		list = longer;
	}
	return list;
}

/* The pages of a batch at tick `at` of messages first ...; the cursor stood at tick at - 1. */
static int64_t apply(PGconn *conn, int at, int first)
{
	char *positions = column("9-", first), *sources = column("s", 0);
	char *ids = column("m", first), *subjects = column("app/", first);
	char *sql = text_format(
	    "EXECUTE apply('c', 'i', 0::smallint, '%d-0', '%d-0', 'effects.apply_purchase(json)',"
	    " '{%s}', '{%s}', '{%s}', '{%s}', '{%s}', array_fill(NULL::text, '{%d}'),"
	    " array_fill(NULL::timestamptz, '{%d}'), now(), array_fill('{}'::text, '{%d}'))",
	    at - 1, at, positions, positions, sources, ids, subjects, BATCH, BATCH, BATCH);
	int64_t pages = explain_pages(conn, sql);

	free(positions);
	free(sources);
	free(ids);
	free(subjects);
	free(sql);
	return pages;
}

/* Every path is taken: something is parked, the inbox is purged below a floor, and in every second
 * batch all are duplicates. */
static void prepare_paths(struct stage *s, int parked_shard)
{
	world_sql(s->w,
	    "ALTER TABLE effects.inbox SET (autovacuum_enabled = off);"
	    "ALTER TABLE effects.parked SET (autovacuum_enabled = off);"
	    "INSERT INTO effects.cursor (consumer, shard, stream_id, purge_floor)"
	    " VALUES ('c', 0, '0-0', '5-0');"
	    "INSERT INTO effects.parked (consumer, source, message_id, subject, shard, stream_id,"
	    " delivered_at, event, state) SELECT 'c', 's', 'first' || g, 'app/first' || g, %d, "
	    "'4-1',"
	    " now(), '{}', 'failed' FROM generate_series(1, 60) AS g;"
	    "INSERT INTO effects.inbox (consumer, source, message_id, subject, shard, stream_id,"
	    " delivered_at, instance) SELECT 'c', 's', 'first' || g, 'app/' || g, 0, '8-1', now(), "
	    "'i'"
	    " FROM generate_series(1, 60) AS g",
	    parked_shard);
	/* As autovacuum does when there are some. */
	world_sql(s->w, "VACUUM ANALYZE effects.inbox, effects.parked");
}

static void grow(struct stage *s, int parked_shard)
{
	world_sql(s->w,
	    "INSERT INTO effects.inbox (consumer, source, message_id, subject, shard, stream_id,"
	    " delivered_at, instance) SELECT 'c', 's' || g %% 10, 'old' || g, 'app/' || g %% 1000, "
	    "0,"
	    " '8-' || g, now(), 'i' FROM generate_series(1, %d) AS g;"
	    "INSERT INTO effects.parked (consumer, source, message_id, subject, shard, stream_id,"
	    " delivered_at, event, state) SELECT 'c', 's', 'parked' || g, 'app/parked' || g, %d,"
	    " '8-' || g, now(), '{}', 'failed' FROM generate_series(1, %d) AS g",
	    HISTORY, parked_shard, PARKED);
}

static void cost(int parked_shard)
{
	struct stage *s = stage_open(1);
	PGconn *conn;
	int64_t fresh = 0, again = 0;
	int at = 1;

	prepare_paths(s, parked_shard);
	conn = session(s);
	/* Plans are made for good with the sixth. */
	for (int i = 1; i <= 8; i++) {
		fresh = apply(conn, at++, 100 * i);
		again = apply(conn, at++, 100 * i);
	}
	printf("\n  a batch of %d: %lld pages, duplicates %lld", BATCH, (long long)fresh,
	    (long long)again);
	grow(s, parked_shard);
	for (int i = 11; i <= 13; i++) {
		int64_t fresh_now = apply(conn, at++, 100 * i),
			again_now = apply(conn, at++, 100 * i);

		printf("\n  with history:  %lld pages, duplicates %lld", (long long)fresh_now,
		    (long long)again_now);
		CHECK(fresh_now <= 2 * fresh + 20 * BATCH);
		CHECK(again_now <= 2 * again + 20 * BATCH);
	}
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM effects.inbox WHERE message_id LIKE 'm%%'"),
	    (int64_t)11 * BATCH);
	PQfinish(conn);
	stage_close(s);
}

static void behind_dead_letters(void)
{
	cost(0);
}

static void beside_dead_letters_of_others(void)
{
	cost(1);
}

static const struct check checks[] = {
    {"behind dead letters", behind_dead_letters},
    {"beside dead letters of another shard", beside_dead_letters_of_others},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer cost", checks, argc, argv);
}
