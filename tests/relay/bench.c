#include "tests/relay/bench.h"

#include "relay/chain.h"
#include "relay/outbox.h"
#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/text.h"

#include <stdlib.h>

void bench_open(struct bench *b)
{
	*b = (struct bench){.w = world_open(1), .last = 1, .err = ERR_INIT};
	/* The cluster is a copy: without rows, too, a tick that is a minute old is followed by
	 * another. */
	world_sql(b->w, "UPDATE intake.tick SET at = clock_timestamp()");
	CHECK_INT(db_open(world_relay_url(b->w), 0, DB_SILENCE_MIN_MS, &b->db, &b->err), 0);
}

void bench_close(struct bench *b)
{
	db_close(b->db);
	world_close(b->w);
}

PGconn *bench_session(struct bench *b)
{
	return world_pg(b->w);
}

void bench_exec(PGconn *conn, const char *sql)
{
	PGresult *res = PQexec(conn, sql);

	if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK)
		die("%s: %s", sql, PQerrorMessage(conn));
	PQclear(res);
}

void bench_add_rows(PGconn *conn, int n)
{
	char *sql = text_format(
	    "INSERT INTO intake.outbox (shard, source, message_id, type, subject, time, data) "
	    "SELECT 0, 'app', 'm' || g, 't', 's', now(), '{}' FROM generate_series(1, %d) AS g",
	    n);

	bench_exec(conn, sql);
	free(sql);
}

void bench_add(struct bench *b, int n)
{
	PGconn *conn = bench_session(b);

	bench_add_rows(conn, n);
	PQfinish(conn);
}

struct stream_id bench_at(int64_t tick, int64_t id)
{
	return (struct stream_id){(uint64_t)tick, (uint64_t)id};
}

/* malloc'd; text is taken over. */
static char *add_ids(char *text, const struct batch *batch)
{
	for (size_t i = 0; i < batch_rows(batch); i++) {
		char *more = text_format(
		    "%s%s%llu", text, *text ? " " : "", (unsigned long long)batch_id(batch, i).seq);

		CHECK(i == 0 || stream_id_compare(batch_id(batch, i - 1), batch_id(batch, i)) < 0);
		free(text);
		text = more;
	}
	return text;
}

/* Read everything after a position. The ids in order, as text, malloc'd; positions must ascend. */
char *bench_read_after(struct bench *b, struct stream_id position, struct batch *batch)
{
	struct outbox *o = outbox_new(b->db, BENCH_LARGE);
	struct stream_id last = position;
	char *text = text_format("%s", "");

	outbox_seek(o, position);
	for (;;) {
		CHECK_INT(outbox_fill(o, batch, &b->err), 0);
		if (batch_rows(batch) == 0)
			break;
		CHECK(stream_id_compare(last, batch_first(batch)) < 0);
		last = batch_last(batch);
		text = add_ids(text, batch);
		batch_clear(batch);
	}
	outbox_free(o);
	return text;
}

void bench_check_read(struct bench *b, struct stream_id position, const char *expected)
{
	for (size_t size = 1; size < 100; size *= 9) {
		struct batch *batch = batch_new(size);
		char *text = bench_read_after(b, position, batch);

		CHECK_STR(text, expected);
		free(text);
		batch_free(batch);
	}
}

/* What came with a tick is what is read of it. */
static void check_given(struct bench *b, const struct batch *rows)
{
	struct batch *batch = batch_new(BENCH_ROOM);
	char *given = add_ids(text_format("%s", ""), rows);
	char *read = bench_read_after(b, bench_at(b->last, 0), batch);

	CHECK_STR(given, read);
	free(given);
	free(read);
	batch_free(batch);
}

enum cut bench_cut_into(
    struct bench *b, int64_t least, int64_t max_bytes, struct batch *rows, size_t *ret_given)
{
	enum cut cut = CUT_NOTHING;

	CHECK_INT(chain_cut(b->db, b->last, least, max_bytes, rows, &cut, &b->last, &b->err), 0);
	*ret_given = batch_rows(rows);
	if (*ret_given > 0)
		check_given(b, rows);
	batch_free(rows);
	return cut;
}

enum cut bench_cut_at(struct bench *b, int64_t least)
{
	size_t given;

	return bench_cut_into(b, least, BENCH_LARGE, batch_new(BENCH_ROOM), &given);
}

enum cut bench_cut(struct bench *b)
{
	return bench_cut_at(b, 0);
}

void bench_check_first_after(struct bench *b, struct stream_id position, int64_t tick, int64_t id)
{
	struct stream_id found;

	CHECK_INT(chain_first_after(b->db, position, &found, &b->err), 0);
	CHECK_INT((int64_t)found.ms, tick);
	CHECK_INT((int64_t)found.seq, id);
}
