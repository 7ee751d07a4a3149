/* Every row of the table "Where am I?", and its edges. */
#include "relay/position.h"
#include "tests/support/check.h"

#define NOW INT64_C(1800000000000)
#define MARGIN INT64_C(600000)

static struct stream_id at(uint64_t ms, uint64_t seq)
{
	return (struct stream_id){ms, seq};
}

static void check_id(struct stream_id actual, uint64_t ms, uint64_t seq)
{
	CHECK_INT((int64_t)actual.ms, (int64_t)ms);
	CHECK_INT((int64_t)actual.seq, (int64_t)seq);
}

/* A stream that ends with our own entry 1000-5, as this process knows. */
static struct position_input usual(void)
{
	return (struct position_input){
	    .kind = STREAM_PRESENT,
	    .last = at(1000, 5),
	    .own = at(1000, 5),
	    .known = at(1000, 5),
	    .margin_ms = MARGIN,
	    .now_ms = NOW,
	};
}

static void end_is_ours(void)
{
	struct position_input in = usual();
	struct position p = position_decide(&in);

	CHECK_INT(p.action, POSITION_GO_ON);
	check_id(p.start, 1000, 5);
	CHECK(!p.rewind && !p.gap && !p.aside && !p.setback);

	in.unpublished = at(1000, 6);
	CHECK_INT(position_decide(&in).action, POSITION_GO_ON);
	check_id(position_decide(&in).start, 1000, 5);
}

static void first_look_of_a_process(void)
{
	struct position_input in = usual();

	in.known = STREAM_ID_ZERO;
	CHECK(position_decide(&in).setback);
	CHECK(!position_decide(&in).rewind);
}

static void tail_was_lost(void)
{
	struct position_input in = usual();
	struct position p;

	in.known = at(2000, 1);
	in.unpublished = at(1000, 9);
	p = position_decide(&in);
	CHECK_INT(p.action, POSITION_GO_ON);
	check_id(p.start, 1000, 5);
	CHECK(p.rewind && p.setback && !p.gap);
}

/* A restarted process has no memory; what groups have acknowledged tells it. */
static void tail_was_lost_before_the_start(void)
{
	struct position_input in = usual();

	in.known = STREAM_ID_ZERO;
	in.has_acknowledged = true;
	in.acknowledged = at(1000, 6);
	CHECK(position_decide(&in).rewind);
	in.acknowledged = at(1000, 5);
	CHECK(!position_decide(&in).rewind);
}

static struct position_input empty(void)
{
	struct position_input in = usual();

	in.kind = STREAM_MISSING;
	in.last = in.own = in.known = STREAM_ID_ZERO;
	return in;
}

static void empty_without_groups(void)
{
	struct position_input in = empty();
	struct position p;

	in.unpublished = at(7, 1);
	p = position_decide(&in);
	CHECK_INT(p.action, POSITION_GO_ON);
	check_id(p.start, 0, 0);
	CHECK(!p.rewind && !p.gap && p.setback); /* a group may have been made before us */

	in.oldest = at(500, INT64_MAX);
	check_id(position_decide(&in).start, 500, INT64_MAX);
	CHECK(!position_decide(&in).gap);
}

static void empty_with_groups(void)
{
	struct position_input in = empty();
	struct position p;

	in.has_acknowledged = true;
	in.acknowledged = at(5000000, 3);
	in.known = at(5000001, 1);
	p = position_decide(&in);
	CHECK_INT(p.action, POSITION_GO_ON);
	check_id(p.start, 5000000 - MARGIN, 0);
	CHECK(p.rewind && p.setback && !p.gap);

	in.kind = STREAM_PRESENT; /* made by MKSTREAM */
	check_id(position_decide(&in).start, 5000000 - MARGIN, 0);

	in.acknowledged = at(MARGIN, 9); /* the margin reaches below zero */
	check_id(position_decide(&in).start, 0, 0);

	in.acknowledged = at(5000000, 3);
	in.oldest = at(4900000, INT64_MAX);
	check_id(position_decide(&in).start, 4900000, INT64_MAX);
	CHECK(!position_decide(&in).gap);

	in.oldest = at(5000000, INT64_MAX);
	CHECK(position_decide(&in).gap);
	in.released = at(4900000, INT64_MAX);
	CHECK(position_decide(&in).gap);
	/* The shard was idle for longer than rows are retained. */
	in.released = in.oldest;
	CHECK(!position_decide(&in).gap);
}

/* No entry is left, but IDs may not be used again. */
static void emptied_by_hand(void)
{
	struct position_input in = usual();
	struct position p;

	in.own = STREAM_ID_ZERO;
	in.unpublished = at(900, 1);
	p = position_decide(&in);
	CHECK_INT(p.action, POSITION_REPAIR);
	check_id(p.start, 0, 0);
	CHECK(!p.aside);

	in.unpublished = at(1000, 6);
	p = position_decide(&in);
	CHECK_INT(p.action, POSITION_GO_ON);
	check_id(p.start, 1000, 5);
}

static void older_than_all_retained(void)
{
	struct position_input in = usual();
	struct position p;

	in.own = STREAM_ID_ZERO; /* its row is gone: nobody can tell */
	in.above = 1;
	in.oldest = at(3000, INT64_MAX);
	in.has_acknowledged = true;
	in.acknowledged = at(2000, 5);
	in.unpublished = at(3001, 1);
	p = position_decide(&in);
	CHECK_INT(p.action, POSITION_GO_ON);
	check_id(p.start, 3000, INT64_MAX);
	CHECK(p.gap && !p.aside);
	/* Everything that was ever in it has been acknowledged: the shard was idle for long. */
	in.acknowledged = in.last;
	p = position_decide(&in);
	check_id(p.start, 3000, INT64_MAX);
	CHECK(!p.gap && !p.aside && !p.rewind);
}

static void foreign_and_nothing_behind(void)
{
	struct position_input in = usual();
	struct position p;

	in.last = at(1500, 0);
	in.above = 2;
	p = position_decide(&in);
	CHECK_INT(p.action, POSITION_GO_ON);
	check_id(p.start, 1500, 0);
	CHECK(p.aside && p.setback && !p.rewind);

	in.unpublished = at(1500, 1);
	CHECK_INT(position_decide(&in).action, POSITION_GO_ON);
}

static void foreign_and_rows_behind(void)
{
	struct position_input in = usual();
	struct position p;

	in.last = at(1500, 0);
	in.above = 1;
	in.unpublished = at(1000, 6);
	p = position_decide(&in);
	CHECK_INT(p.action, POSITION_REPAIR);
	check_id(p.start, 1000, 5);
	CHECK(p.aside && p.setback);

	/* Somebody has used the very ID. */
	in.unpublished = at(1500, 0);
	CHECK_INT(position_decide(&in).action, POSITION_REPAIR);
}

static void foreign_in_a_new_stream(void)
{
	struct position_input in = usual();
	struct position p;

	in.own = STREAM_ID_ZERO;
	in.above = 1;
	in.unpublished = at(900, 1);
	p = position_decide(&in);
	CHECK_INT(p.action, POSITION_REPAIR);
	check_id(p.start, 0, 0);
	CHECK(p.aside);
}

static void far_future(void)
{
	struct position_input in = usual();
	struct position p;

	in.above = 1;
	in.last = at((uint64_t)NOW + POSITION_FUTURE_MS + 1, 0);
	p = position_decide(&in);
	CHECK_INT(p.action, POSITION_PAUSE);
	CHECK_INT(p.reason, PAUSE_FAR_FUTURE);
	in.last = at(UINT64_MAX, UINT64_MAX);
	CHECK_INT(position_decide(&in).action, POSITION_PAUSE);
	in.last.ms = (uint64_t)NOW + POSITION_FUTURE_MS;
	CHECK_INT(position_decide(&in).action, POSITION_GO_ON);

	/* Ours: a clock was wrong when the tick was cut. IDs go on from there. */
	in.last = in.own = at((uint64_t)NOW * 2, 7);
	in.above = 0;
	p = position_decide(&in);
	CHECK_INT(p.action, POSITION_GO_ON);
	check_id(p.start, (uint64_t)NOW * 2, 7);
}

static void wrong_type(void)
{
	struct position_input in = empty();

	in.kind = STREAM_WRONG_TYPE;
	CHECK_INT(position_decide(&in).action, POSITION_PAUSE);
	CHECK_INT(position_decide(&in).reason, PAUSE_WRONG_TYPE);
}

static void void_entries_come_back(void)
{
	struct position_input in = usual();
	struct position p;

	in.last = in.stray = at(1500, 18);
	in.above = 3;
	p = position_decide(&in);
	CHECK_INT(p.action, POSITION_REPAIR);
	check_id(p.start, 1500, 18);
	in.unpublished = at(2000, 6); /* above the stream's end, but what follows is not it */
	CHECK_INT(position_decide(&in).action, POSITION_REPAIR);
	in.kind = STREAM_WRONG_TYPE;
	CHECK_INT(position_decide(&in).action, POSITION_PAUSE);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"the stream ends with our entry: go on", end_is_ours},
	    {"a new process sets groups back, and counts no rewind", first_look_of_a_process},
	    {"Redis lost its tail: rewind", tail_was_lost},
	    {"Redis lost its tail before we started: rewind", tail_was_lost_before_the_start},
	    {"empty, no groups: from the oldest retained", empty_without_groups},
	    {"empty, groups: from the lowest acknowledged less the margin", empty_with_groups},
	    {"emptied by hand: repair", emptied_by_hand},
	    {"older than all that is retained: gap", older_than_all_retained},
	    {"void entries of an older copy: repair", void_entries_come_back},
	    {"foreign entries, nothing behind them: go on above", foreign_and_nothing_behind},
	    {"foreign entries, rows behind them: repair", foreign_and_rows_behind},
	    {"foreign entries in a new stream: repair", foreign_in_a_new_stream},
	    {"far in the future: pause", far_future},
	    {"B35 another type: pause", wrong_type},
	    {NULL, NULL},
	};
	return check_main("relay position", checks, argc, argv);
}
