/* Repairs and replays on a real server: which rows a branch of the chain gives another position. */
#include "common/clock.h"
#include "relay/chain.h"
#include "relay/outbox.h"
#include "tests/relay/bench.h"
#include "tests/support/check.h"

#include <stdlib.h>

static void branch(struct bench *b, struct stream_id from, bool replay)
{
	enum cut made = CUT_NOTHING;

	CHECK_INT(chain_branch(b->db, b->last, 0, from, replay, &made, &b->last, &b->err), 0);
	CHECK_INT(made, CUT_TICK);
}

static void repairs(void)
{
	int64_t one, two, three, four;
	struct bench b;

	bench_open(&b);
	bench_add(&b, 4);
	bench_cut(&b);
	one = b.last;
	bench_add(&b, 2);
	bench_cut(&b);
	two = b.last;
	bench_check_first_after(&b, bench_at(one, 4), two, 5);

	branch(&b, bench_at(one, 2), false);
	three = b.last;
	bench_check_read(&b, STREAM_ID_ZERO, "1 2 3 4 5 6");
	bench_check_first_after(&b, bench_at(one, 1), one, 2);
	bench_check_first_after(&b, bench_at(one, 2), three, 3);
	bench_check_first_after(&b, bench_at(two, 5), three, 3);
	bench_check_first_after(&b, bench_at(three, 6), 0, 0);

	/* Once more, from the middle of the repair; rows that came meanwhile are in it. */
	bench_add(&b, 2);
	branch(&b, bench_at(three, 4), false);
	four = b.last;
	bench_check_read(&b, STREAM_ID_ZERO, "1 2 3 4 5 6 7 8");
	bench_check_first_after(&b, bench_at(three, 4), four, 5);
	CHECK_INT(bench_cut(&b), CUT_NOTHING);

	/* From a place that the first repair has voided: its batch must not be lost. */
	branch(&b, bench_at(two, 5), false);
	bench_check_read(&b, STREAM_ID_ZERO, "1 2 3 4 5 6 7 8");
	bench_check_first_after(&b, bench_at(one, 2), b.last, 3);

	/* From before everything, and from a tick that is not in the chain. */
	branch(&b, STREAM_ID_ZERO, false);
	bench_check_read(&b, STREAM_ID_ZERO, "1 2 3 4 5 6 7 8");
	bench_check_first_after(&b, STREAM_ID_ZERO, b.last, 1);
	branch(&b, bench_at(one - 1, 99), false);
	bench_check_read(&b, STREAM_ID_ZERO, "1 2 3 4 5 6 7 8");
	bench_close(&b);
}

static void replays(void)
{
	int64_t one, replay;
	struct bench b;

	bench_open(&b);
	bench_add(&b, 4);
	bench_cut(&b);
	one = b.last;
	branch(&b, bench_at(one, 2), true);
	replay = b.last;
	bench_check_read(&b, STREAM_ID_ZERO, "1 2 3 4 3 4");
	bench_add(&b, 1);
	bench_cut(&b);
	bench_check_read(&b, STREAM_ID_ZERO, "1 2 3 4 3 4 5");
	branch(&b, bench_at(replay, 3), false);
	bench_check_read(&b, STREAM_ID_ZERO, "1 2 3 4 3 4 5");
	bench_check_first_after(&b, bench_at(replay, 3), b.last, 4);
	bench_close(&b);
}

/* Publish a little. */
static void publish_some(struct bench *b, struct batch *batch, struct stream_id *place)
{
	struct outbox *o = outbox_new(b->db, BENCH_LARGE);

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
		bench_exec(conn, "BEGIN");
	bench_add_rows(conn, (int)(rng_next(rng) % 3));
	if (rng_next(rng) % 3 == 0)
		bench_exec(conn, rng_next(rng) % 4 ? "COMMIT" : "ROLLBACK");
}

static void check_every_row(struct bench *b, struct batch *batch)
{
	char *text = bench_read_after(b, STREAM_ID_ZERO, batch);

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

	bench_open(&b);
	rng_seed(&rng, check_seed());
	for (int i = 0; i < 4; i++)
		conns[i] = bench_session(&b);
	for (int step = 0; step < 400; step++) {
		int i = (int)(rng_next(&rng) % 4);

		switch (rng_next(&rng) % 4) {
		case 0:
			bench_cut(&b);
			break;
		case 1:
			publish_some(&b, batch, &place);
			if (rng_next(&rng) % 3 == 0) {
				branch(&b, place, false);
				place = bench_at(b.last, 0);
			}
			break;
		default:
			write_some(conns[i], &rng);
		}
	}
	for (int i = 0; i < 4; i++)
		PQfinish(conns[i]);
	CHECK(world_await_int(b.w, 0, BENCH_MS,
	    "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in%%'"));
	bench_cut(&b);
	check_every_row(&b, batch);
	batch_free(batch);
	bench_close(&b);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"repairs", repairs},
	    {"replays", replays},
	    {"every row once, whatever happened", every_row_once},
	    {NULL, NULL},
	};
	return check_main("relay branches", checks, argc, argv);
}
