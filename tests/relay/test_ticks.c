/* Ticks and their batches on a real server: what belongs to which, and what it costs to know. */
#include "common/clock.h"
#include "relay/chain.h"
#include "relay/outbox.h"
#include "tests/relay/bench.h"
#include "tests/support/check.h"
#include "tests/support/pause.h"

#include <stdio.h>

static void a_tick_takes_what_is_visible(void)
{
	struct bench b;
	int64_t first;

	bench_open(&b);
	CHECK_INT(bench_cut(&b), CUT_NOTHING);
	bench_add(&b, 3);
	CHECK_INT(bench_cut(&b), CUT_TICK);
	first = b.last;
	CHECK_INT(bench_cut(&b), CUT_NOTHING);
	bench_add(&b, 2);
	CHECK_INT(bench_cut(&b), CUT_TICK);
	bench_check_read(&b, STREAM_ID_ZERO, "1 2 3 4 5");
	bench_check_read(&b, bench_at(first, 2), "3 4 5");
	bench_check_read(&b, bench_at(first, INT64_MAX), "4 5");
	bench_check_read(&b, bench_at(b.last, 5), "");
	bench_close(&b);
}

static void names_are_times_and_ascend(void)
{
	struct bench b;
	int64_t now = clock_wall_ms(), far = now + 5000000;

	bench_open(&b);
	bench_add(&b, 1);
	CHECK_INT(bench_cut(&b), CUT_TICK);
	CHECK(b.last >= now && b.last < now + 60000);
	bench_add(&b, 1);
	CHECK_INT(bench_cut_at(&b, far), CUT_TICK);
	CHECK_INT(b.last, far);
	bench_add(&b, 1);
	CHECK_INT(bench_cut(&b), CUT_TICK);
	CHECK_INT(b.last, far + 1);
	bench_close(&b);
}

static void one_of_two_cuts(void)
{
	struct bench b;
	int64_t known;

	bench_open(&b);
	bench_add(&b, 1);
	known = b.last;
	CHECK_INT(bench_cut(&b), CUT_TICK);
	b.last = known;
	bench_add(&b, 1);
	CHECK_INT(bench_cut(&b), CUT_RACED);
	CHECK_INT(b.last, known);
	CHECK_INT(world_int(b.w, "SELECT count(*) FROM intake.tick"), 2);
	bench_close(&b);
}

/* The other's tick is not committed yet when ours looks at the chain. */
static void one_of_two_cuts_at_once(void)
{
	struct batch *rows = batch_new(BENCH_ROOM);
	enum cut made = CUT_NOTHING;
	PGconn *other;
	struct bench b;

	bench_open(&b);
	bench_add(&b, 1);
	other = bench_session(&b);
	bench_exec(other, "BEGIN; INSERT INTO intake.tick (shard, previous_tick, tick, snapshot) "
			  "VALUES (0, 1, 5, pg_current_snapshot()); "
			  "SELECT pg_notify('done', '')");
	PQsendQuery(other, "SELECT pg_sleep(0.2); COMMIT");
	CHECK_INT(chain_cut(b.db, b.last, 0, BENCH_LARGE, rows, &made, &b.last, &b.err), 0);
	CHECK_INT(made, CUT_RACED);
	CHECK_INT(batch_rows(rows), 0);
	batch_free(rows);
	CHECK_INT(b.last, 1);
	while (PQconsumeInput(other) && PQisBusy(other))
		sleep_ms(5);
	PQfinish(other);
	CHECK_INT(world_int(b.w, "SELECT tick FROM intake.tick WHERE previous_tick = 1"), 5);
	bench_close(&b);
}

static void few_rows_come_with_their_tick(void)
{
	static const struct {
		int rows;
		int64_t max_bytes;
		size_t room, given;
	} cases[] = {{1, BENCH_LARGE, BENCH_ROOM, 1}, {100, BENCH_LARGE, BENCH_ROOM, 100},
	    {101, BENCH_LARGE, BENCH_ROOM, 0}, {3, BENCH_LARGE, 3, 3}, {3, BENCH_LARGE, 2, 0},
	    {3, 27, BENCH_ROOM, 3}, {3, 26, BENCH_ROOM, 0}};
	struct bench b;

	bench_open(&b);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		size_t given;

		bench_add(&b, cases[i].rows);
		CHECK_INT(
		    bench_cut_into(&b, 0, cases[i].max_bytes, batch_new(cases[i].room), &given),
		    CUT_TICK);
		CHECK_INT(given, cases[i].given);
		CHECK_INT(
		    bench_cut_into(&b, 0, BENCH_LARGE, batch_new(BENCH_ROOM), &given), CUT_NOTHING);
		CHECK_INT(given, 0);
	}
	bench_close(&b);
}

static void late_rows_join_the_first_tick_that_sees_them(void)
{
	PGconn *one, *two, *three;
	struct bench b;

	bench_open(&b);
	one = bench_session(&b);
	two = bench_session(&b);
	three = bench_session(&b);
	bench_exec(one, "BEGIN");
	bench_add_rows(one, 2); /* 1 2 */
	bench_exec(two, "BEGIN");
	bench_add_rows(two, 2); /* 3 4 */
	bench_add(&b, 1);       /* 5 */
	CHECK_INT(bench_cut(&b), CUT_TICK);
	bench_exec(three, "BEGIN");
	bench_add_rows(three, 2); /* 6 7 */
	bench_add(&b, 1);         /* 8 */
	bench_exec(two, "COMMIT");
	CHECK_INT(bench_cut(&b), CUT_TICK);
	CHECK_INT(bench_cut(&b), CUT_NOTHING);
	bench_exec(one, "COMMIT");
	bench_exec(three, "ROLLBACK");
	CHECK_INT(bench_cut(&b), CUT_TICK);
	CHECK_INT(bench_cut(&b), CUT_NOTHING);
	bench_check_read(&b, STREAM_ID_ZERO, "5 3 4 8 1 2");
	PQfinish(one);
	PQfinish(two);
	PQfinish(three);
	bench_close(&b);
}

static void empty_ticks_move_the_window(void)
{
	const char *const age = "UPDATE intake.tick SET at = at - interval '%s'";
	PGconn *open;
	struct bench b;

	bench_open(&b);
	bench_add(&b, 1);
	CHECK_INT(bench_cut(&b), CUT_TICK);
	open = bench_session(&b);
	bench_exec(open, "BEGIN; SELECT pg_current_xact_id()");
	CHECK_INT(bench_cut(&b), CUT_NOTHING); /* not more often than each second */
	world_sql(b.w, age, "2 seconds");
	CHECK_INT(bench_cut(&b), CUT_EMPTY);
	world_sql(b.w, age, "2 seconds");
	CHECK_INT(bench_cut(&b), CUT_NOTHING); /* it is the same transaction still */
	bench_exec(open, "COMMIT");
	world_sql(b.w, age, "2 minutes");
	CHECK_INT(bench_cut(&b), CUT_EMPTY);
	bench_check_read(&b, STREAM_ID_ZERO, "1");
	PQfinish(open);
	bench_close(&b);
}

/* In the middle of a large batch the query can be given up, and reading goes on where it was. */
static void reading_rests(void)
{
	struct batch *batch = batch_new(100);
	struct outbox *o;
	struct bench b;
	size_t n = 0;

	bench_open(&b);
	bench_add(&b, 20000);
	bench_cut(&b);
	o = outbox_new(b.db, BENCH_LARGE);
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
		CHECK(world_await_int(b.w, 0, BENCH_MS,
		    "SELECT count(*) FROM pg_stat_activity WHERE application_name = "
		    "'umavez-relay/0' "
		    "AND (state <> 'idle' OR backend_xmin IS NOT NULL)"));
	}
	CHECK_INT((int64_t)n, 20000);
	outbox_free(o);
	batch_free(batch);
	bench_close(&b);
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
	CHECK(world_await_int(b->w, n, BENCH_MS,
	    "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'"));
}

/* One row, its tick, its batch, and a look that finds nothing. */
static void publish_one(struct bench *b, struct batch *batch)
{
	struct outbox *o = outbox_new(b->db, BENCH_LARGE);
	int64_t previous = b->last;

	world_sql(b->w,
	    "INSERT INTO intake.outbox (shard, source, message_id, type, subject, time, "
	    "data) VALUES (0, 'a', 'b', 't', 's', now(), '{}')");
	CHECK_INT(bench_cut(b), CUT_TICK);
	outbox_seek(o, bench_at(previous, INT64_MAX));
	CHECK_INT(outbox_fill(o, batch, &b->err), 0);
	CHECK_INT((int64_t)batch_rows(batch), 1);
	batch_clear(batch);
	outbox_rest(o);
	bench_check_first_after(b, bench_at(b->last, INT64_MAX), 0, 0);
	CHECK_INT(bench_cut(b), CUT_NOTHING);
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

	bench_open(&b);
	world_sql(b.w,
	    "DO $$ DECLARE p regclass; BEGIN FOR p IN SELECT relid FROM "
	    "pg_partition_tree('intake.outbox') WHERE isleaf LOOP EXECUTE format('ALTER TABLE "
	    "%%s SET (autovacuum_enabled = off)', p); END LOOP; END $$");
	publish_one(&b, batch);
	bench_add(&b, 200000);
	bench_cut(&b);
	open = bench_session(&b);
	bench_exec(open, "BEGIN");
	bench_add_rows(open, 200000);
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
	bench_close(&b);
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
	    {"reading rests", reading_rests},
	    {"a tick costs little", a_tick_costs_little},
	    {NULL, NULL},
	};
	return check_main("relay ticks", checks, argc, argv);
}
