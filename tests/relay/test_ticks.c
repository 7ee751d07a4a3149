/* Ticks and their batches on a real server: what belongs to which, and what it costs to know. */
#include "common/clock.h"
#include "common/pg.h"
#include "relay/batch.h"
#include "relay/chain.h"
#include "relay/db.h"
#include "relay/outbox.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/world.h"

#include <stdio.h>
#include <stdlib.h>

#define WAIT_MS 30000
#define LARGE 1048576
#define ROOM 1000 /* --append-batch */

struct bench {
	struct world *w;
	struct db *db;
	int64_t last;
	struct err err;
};

static void setup(struct bench *b)
{
	*b = (struct bench){.w = world_open(1), .last = 1, .err = ERR_INIT};
	/* The cluster is a copy: without rows, too, a tick that is a minute old is followed by
	 * another. */
	world_sql(b->w, "UPDATE intake.tick SET at = clock_timestamp()");
	CHECK_INT(db_open(world_relay_url(b->w), 0, DB_SILENCE_MIN_MS, &b->db, &b->err), 0);
}

static void teardown(struct bench *b)
{
	db_close(b->db);
	world_close(b->w);
}

static PGconn *session(struct bench *b)
{
	return world_pg(b->w);
}

static void exec(PGconn *conn, const char *sql)
{
	PGresult *res = PQexec(conn, sql);

	if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK)
		die("%s: %s", sql, PQerrorMessage(conn));
	PQclear(res);
}

static void add_rows(PGconn *conn, int n)
{
	char *sql = text_format(
	    "INSERT INTO intake.outbox (shard, source, message_id, type, subject, time, data) "
	    "SELECT 0, 'app', 'm' || g, 't', 's', now(), '{}' FROM generate_series(1, %d) AS g",
	    n);

	exec(conn, sql);
	free(sql);
}

static void add(struct bench *b, int n)
{
	PGconn *conn = session(b);

	add_rows(conn, n);
	PQfinish(conn);
}

static struct stream_id at(int64_t tick, int64_t id)
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
static char *read_after(struct bench *b, struct stream_id position, struct batch *batch)
{
	struct outbox *o = outbox_new(b->db, LARGE);
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

/* What came with a tick is what is read of it. */
static void check_given(struct bench *b, const struct batch *rows)
{
	struct batch *batch = batch_new(ROOM);
	char *given = add_ids(text_format("%s", ""), rows);
	char *read = read_after(b, at(b->last, 0), batch);

	CHECK_STR(given, read);
	free(given);
	free(read);
	batch_free(batch);
}

static enum cut cut_into(
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

static enum cut cut_at(struct bench *b, int64_t least)
{
	size_t given;

	return cut_into(b, least, LARGE, batch_new(ROOM), &given);
}

static enum cut cut(struct bench *b)
{
	return cut_at(b, 0);
}

static void branch(struct bench *b, struct stream_id from, bool replay)
{
	enum cut made = CUT_NOTHING;

	CHECK_INT(chain_branch(b->db, b->last, 0, from, replay, &made, &b->last, &b->err), 0);
	CHECK_INT(made, CUT_TICK);
}

static void check_read(struct bench *b, struct stream_id position, const char *expected)
{
	for (size_t size = 1; size < 100; size *= 9) {
		struct batch *batch = batch_new(size);
		char *text = read_after(b, position, batch);

		CHECK_STR(text, expected);
		free(text);
		batch_free(batch);
	}
}

static void a_tick_takes_what_is_visible(void)
{
	struct bench b;
	int64_t first;

	setup(&b);
	CHECK_INT(cut(&b), CUT_NOTHING);
	add(&b, 3);
	CHECK_INT(cut(&b), CUT_TICK);
	first = b.last;
	CHECK_INT(cut(&b), CUT_NOTHING);
	add(&b, 2);
	CHECK_INT(cut(&b), CUT_TICK);
	check_read(&b, STREAM_ID_ZERO, "1 2 3 4 5");
	check_read(&b, at(first, 2), "3 4 5");
	check_read(&b, at(first, INT64_MAX), "4 5");
	check_read(&b, at(b.last, 5), "");
	teardown(&b);
}

static void names_are_times_and_ascend(void)
{
	struct bench b;
	int64_t now = clock_wall_ms(), far = now + 5000000;

	setup(&b);
	add(&b, 1);
	CHECK_INT(cut(&b), CUT_TICK);
	CHECK(b.last >= now && b.last < now + 60000);
	add(&b, 1);
	CHECK_INT(cut_at(&b, far), CUT_TICK);
	CHECK_INT(b.last, far);
	add(&b, 1);
	CHECK_INT(cut(&b), CUT_TICK);
	CHECK_INT(b.last, far + 1);
	teardown(&b);
}

static void one_of_two_cuts(void)
{
	struct bench b;
	int64_t known;

	setup(&b);
	add(&b, 1);
	known = b.last;
	CHECK_INT(cut(&b), CUT_TICK);
	b.last = known;
	add(&b, 1);
	CHECK_INT(cut(&b), CUT_RACED);
	CHECK_INT(b.last, known);
	CHECK_INT(world_int(b.w, "SELECT count(*) FROM intake.tick"), 2);
	teardown(&b);
}

/* The other's tick is not committed yet when ours looks at the chain. */
static void one_of_two_cuts_at_once(void)
{
	struct batch *rows = batch_new(ROOM);
	enum cut made = CUT_NOTHING;
	PGconn *other;
	struct bench b;

	setup(&b);
	add(&b, 1);
	other = session(&b);
	exec(other, "BEGIN; INSERT INTO intake.tick (shard, previous_tick, tick, snapshot) "
		    "VALUES (0, 1, 5, pg_current_snapshot()); "
		    "SELECT pg_notify('done', '')");
	PQsendQuery(other, "SELECT pg_sleep(0.2); COMMIT");
	CHECK_INT(chain_cut(b.db, b.last, 0, LARGE, rows, &made, &b.last, &b.err), 0);
	CHECK_INT(made, CUT_RACED);
	CHECK_INT(batch_rows(rows), 0);
	batch_free(rows);
	CHECK_INT(b.last, 1);
	while (PQconsumeInput(other) && PQisBusy(other))
		sleep_ms(5);
	PQfinish(other);
	CHECK_INT(world_int(b.w, "SELECT tick FROM intake.tick WHERE previous_tick = 1"), 5);
	teardown(&b);
}

static void few_rows_come_with_their_tick(void)
{
	static const struct {
		int rows;
		int64_t max_bytes;
		size_t room, given;
	} cases[] = {{1, LARGE, ROOM, 1}, {100, LARGE, ROOM, 100}, {101, LARGE, ROOM, 0},
	    {3, LARGE, 3, 3}, {3, LARGE, 2, 0}, {3, 27, ROOM, 3}, {3, 26, ROOM, 0}};
	struct bench b;

	setup(&b);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t given;

		add(&b, cases[i].rows);
		CHECK_INT(cut_into(&b, 0, cases[i].max_bytes, batch_new(cases[i].room), &given),
		    CUT_TICK);
		CHECK_INT(given, cases[i].given);
		CHECK_INT(cut_into(&b, 0, LARGE, batch_new(ROOM), &given), CUT_NOTHING);
		CHECK_INT(given, 0);
	}
	teardown(&b);
}

static void late_rows_join_the_first_tick_that_sees_them(void)
{
	PGconn *one, *two, *three;
	struct bench b;

	setup(&b);
	one = session(&b);
	two = session(&b);
	three = session(&b);
	exec(one, "BEGIN");
	add_rows(one, 2); /* 1 2 */
	exec(two, "BEGIN");
	add_rows(two, 2); /* 3 4 */
	add(&b, 1);       /* 5 */
	CHECK_INT(cut(&b), CUT_TICK);
	exec(three, "BEGIN");
	add_rows(three, 2); /* 6 7 */
	add(&b, 1);         /* 8 */
	exec(two, "COMMIT");
	CHECK_INT(cut(&b), CUT_TICK);
	CHECK_INT(cut(&b), CUT_NOTHING);
	exec(one, "COMMIT");
	exec(three, "ROLLBACK");
	CHECK_INT(cut(&b), CUT_TICK);
	CHECK_INT(cut(&b), CUT_NOTHING);
	check_read(&b, STREAM_ID_ZERO, "5 3 4 8 1 2");
	PQfinish(one);
	PQfinish(two);
	PQfinish(three);
	teardown(&b);
}

static void empty_ticks_move_the_window(void)
{
	const char *const age = "UPDATE intake.tick SET at = at - interval '%s'";
	PGconn *open;
	struct bench b;

	setup(&b);
	add(&b, 1);
	CHECK_INT(cut(&b), CUT_TICK);
	open = session(&b);
	exec(open, "BEGIN; SELECT pg_current_xact_id()");
	CHECK_INT(cut(&b), CUT_NOTHING); /* not more often than each second */
	world_sql(b.w, age, "2 seconds");
	CHECK_INT(cut(&b), CUT_EMPTY);
	world_sql(b.w, age, "2 seconds");
	CHECK_INT(cut(&b), CUT_NOTHING); /* it is the same transaction still */
	exec(open, "COMMIT");
	world_sql(b.w, age, "2 minutes");
	CHECK_INT(cut(&b), CUT_EMPTY);
	check_read(&b, STREAM_ID_ZERO, "1");
	PQfinish(open);
	teardown(&b);
}

static void check_first_after(struct bench *b, struct stream_id position, int64_t tick, int64_t id)
{
	struct stream_id found;

	CHECK_INT(chain_first_after(b->db, position, &found, &b->err), 0);
	CHECK_INT((int64_t)found.ms, tick);
	CHECK_INT((int64_t)found.seq, id);
}

static void repairs(void)
{
	int64_t one, two, three, four;
	struct bench b;

	setup(&b);
	add(&b, 4);
	cut(&b);
	one = b.last;
	add(&b, 2);
	cut(&b);
	two = b.last;
	check_first_after(&b, at(one, 4), two, 5);

	branch(&b, at(one, 2), false);
	three = b.last;
	check_read(&b, STREAM_ID_ZERO, "1 2 3 4 5 6");
	check_first_after(&b, at(one, 1), one, 2);
	check_first_after(&b, at(one, 2), three, 3);
	check_first_after(&b, at(two, 5), three, 3);
	check_first_after(&b, at(three, 6), 0, 0);

	/* Once more, from the middle of the repair; rows that came meanwhile are in it. */
	add(&b, 2);
	branch(&b, at(three, 4), false);
	four = b.last;
	check_read(&b, STREAM_ID_ZERO, "1 2 3 4 5 6 7 8");
	check_first_after(&b, at(three, 4), four, 5);
	CHECK_INT(cut(&b), CUT_NOTHING);

	/* From a place that the first repair has voided: its batch must not be lost. */
	branch(&b, at(two, 5), false);
	check_read(&b, STREAM_ID_ZERO, "1 2 3 4 5 6 7 8");
	check_first_after(&b, at(one, 2), b.last, 3);

	/* From before everything, and from a tick that is not in the chain. */
	branch(&b, STREAM_ID_ZERO, false);
	check_read(&b, STREAM_ID_ZERO, "1 2 3 4 5 6 7 8");
	check_first_after(&b, STREAM_ID_ZERO, b.last, 1);
	branch(&b, at(one - 1, 99), false);
	check_read(&b, STREAM_ID_ZERO, "1 2 3 4 5 6 7 8");
	teardown(&b);
}

static void replays(void)
{
	int64_t one, replay;
	struct bench b;

	setup(&b);
	add(&b, 4);
	cut(&b);
	one = b.last;
	branch(&b, at(one, 2), true);
	replay = b.last;
	check_read(&b, STREAM_ID_ZERO, "1 2 3 4 3 4");
	add(&b, 1);
	cut(&b);
	check_read(&b, STREAM_ID_ZERO, "1 2 3 4 3 4 5");
	branch(&b, at(replay, 3), false);
	check_read(&b, STREAM_ID_ZERO, "1 2 3 4 3 4 5");
	check_first_after(&b, at(replay, 3), b.last, 4);
	teardown(&b);
}

/* Publish a little. */
static void publish_some(struct bench *b, struct batch *batch, struct stream_id *place)
{
	struct outbox *o = outbox_new(b->db, LARGE);

	outbox_seek(o, *place);
	CHECK_INT(outbox_fill(o, batch, &b->err), 0);
	if (batch_rows(batch) > 0)
		*place = batch_last(batch);
	batch_clear(batch);
	outbox_rest(o);
	outbox_free(o);
}

/* Begin a transaction, or go on with it, and perhaps end it. */
static void write_some(PGconn *conn, struct rng *rng)
{
	if (PQtransactionStatus(conn) == PQTRANS_IDLE)
		exec(conn, "BEGIN");
	add_rows(conn, (int)(rng_next(rng) % 3));
	if (rng_next(rng) % 3 == 0)
		exec(conn, rng_next(rng) % 4 ? "COMMIT" : "ROLLBACK");
}

static void check_every_row(struct bench *b, struct batch *batch)
{
	char *text = read_after(b, STREAM_ID_ZERO, batch);

	CHECK_INT(world_int(b->w,
		      "SELECT count(*) FROM (SELECT id FROM intake.outbox EXCEPT ALL "
		      "SELECT unnest(string_to_array('%s', ' '))::bigint) AS missing",
		      text),
	    0);
	CHECK_INT(world_int(b->w, "SELECT count(*) FROM intake.outbox"),
	    world_int(b->w, "SELECT cardinality(string_to_array('%s', ' '))", text));
	free(text);
}

/* Repairs only: however the chain came about, reading it through gives every row once. */
static void every_row_once(void)
{
	PGconn *conns[4];
	struct batch *batch = batch_new(7);
	struct stream_id place = STREAM_ID_ZERO;
	struct rng rng;
	struct bench b;

	setup(&b);
	rng_seed(&rng, check_seed());
	for (int i = 0; i < 4; i++)
		conns[i] = session(&b);
	for (int step = 0; step < 400; step++) {
		int i = (int)(rng_next(&rng) % 4);

		switch (rng_next(&rng) % 4) {
		case 0:
			cut(&b);
			break;
		case 1:
			publish_some(&b, batch, &place);
			if (rng_next(&rng) % 3 == 0) {
				branch(&b, place, false);
				place = at(b.last, 0);
			}
			break;
		default:
			write_some(conns[i], &rng);
		}
	}
	for (int i = 0; i < 4; i++)
		PQfinish(conns[i]);
	CHECK(world_await_int(
	    b.w, 0, WAIT_MS, "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%%'"));
	cut(&b);
	check_every_row(&b, batch);
	batch_free(batch);
	teardown(&b);
}

/* In the middle of a large batch the query can be given up, and reading goes on where it was. */
static void reading_rests(void)
{
	struct batch *batch = batch_new(100);
	struct outbox *o;
	struct bench b;
	size_t n = 0;

	setup(&b);
	add(&b, 20000);
	cut(&b);
	o = outbox_new(b.db, LARGE);
	outbox_seek(o, STREAM_ID_ZERO);
	for (int turn = 0;; turn++) {
		CHECK_INT(outbox_fill(o, batch, &b.err), 0);
		if (batch_rows(batch) == 0)
			break;
		n += batch_rows(batch);
		CHECK_INT((int64_t)batch_last(batch).seq, (int64_t)n);
		batch_clear(batch);
		if (turn % 20 != 3)
			continue;
		outbox_rest(o);
		CHECK(world_await_int(b.w, 0, WAIT_MS,
		    "SELECT count(*) FROM pg_stat_activity WHERE application_name = "
		    "'umavez-relay/0' "
		    "AND (state <> 'idle' OR backend_xmin IS NOT NULL)"));
	}
	CHECK_INT((int64_t)n, 20000);
	outbox_free(o);
	batch_free(batch);
	teardown(&b);
}

/* Blocks of the outbox that ended sessions have touched. */
static int64_t blocks_touched(struct bench *b)
{
	return world_int(b->w,
	    "SELECT sum(heap_blks_hit + heap_blks_read + idx_blks_hit + "
	    "idx_blks_read) FROM pg_statio_user_tables WHERE relname LIKE 'outbox%%'");
}

static void await_sessions(struct bench *b, int n)
{
	CHECK(world_await_int(b->w, n, WAIT_MS,
	    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"));
}

/* One row, its tick, its batch, and a look that finds nothing. */
static void publish_one(struct bench *b, struct batch *batch)
{
	struct outbox *o = outbox_new(b->db, LARGE);
	int64_t previous = b->last;

	world_sql(b->w,
	    "INSERT INTO intake.outbox (shard, source, message_id, type, subject, time, "
	    "data) VALUES (0, 'a', 'b', 't', 's', now(), '{}')");
	CHECK_INT(cut(b), CUT_TICK);
	outbox_seek(o, at(previous, INT64_MAX));
	CHECK_INT(outbox_fill(o, batch, &b->err), 0);
	CHECK_INT((int64_t)batch_rows(batch), 1);
	batch_clear(batch);
	outbox_rest(o);
	check_first_after(b, at(b->last, INT64_MAX), 0, 0);
	CHECK_INT(cut(b), CUT_NOTHING);
	outbox_free(o);
}

/* Most of it is an empty index of a day that is still to come: one block for each. */
enum { ROUND_BLOCKS = 300 };

/* Neither history, nor a large open transaction, nor stale statistics make a tick dear: plans are
 * made on the empty table, and the table is never analysed. */
static void a_tick_costs_little(void)
{
	struct batch *batch = batch_new(100);
	int64_t before, touched;
	struct bench b;
	PGconn *open;

	setup(&b);
	world_sql(b.w,
	    "DO $$ DECLARE p regclass; BEGIN FOR p IN SELECT relid FROM "
	    "pg_partition_tree('intake.outbox') WHERE isleaf LOOP EXECUTE format('ALTER TABLE "
	    "%%s SET (autovacuum_enabled = off)', p); END LOOP; END $$");
	publish_one(&b, batch);
	add(&b, 200000);
	cut(&b);
	open = session(&b);
	exec(open, "BEGIN");
	add_rows(open, 200000);
	await_sessions(&b, 3);
	before = blocks_touched(&b);
	for (int i = 0; i < 50; i++)
		publish_one(&b, batch);
	db_close(b.db);
	b.db = NULL;
	await_sessions(&b, 2);
	touched = blocks_touched(&b) - before;
	if (touched > 50 * ROUND_BLOCKS)
		fprintf(stderr, "%lld blocks in 50 rounds\n", (long long)touched);
	CHECK(touched > 50 && touched < 50 * ROUND_BLOCKS);
	PQfinish(open);
	batch_free(batch);
	teardown(&b);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"a tick takes what is visible", a_tick_takes_what_is_visible},
	    {"names are times, and ascend", names_are_times_and_ascend},
	    {"P8 one of two cuts", one_of_two_cuts},
	    {"P8 one of two cuts at the same moment", one_of_two_cuts_at_once},
	    {"B32 late rows join the first tick that sees them",
		late_rows_join_the_first_tick_that_sees_them},
	    {"few rows come with their tick", few_rows_come_with_their_tick},
	    {"empty ticks move the window", empty_ticks_move_the_window},
	    {"repairs", repairs},
	    {"replays", replays},
	    {"every row once, whatever happened", every_row_once},
	    {"reading rests", reading_rests},
	    {"a tick costs little", a_tick_costs_little},
	    {NULL, NULL},
	};
	return check_main("relay ticks", checks, argc, argv);
}
