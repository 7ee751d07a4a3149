/* What position_next() decides, row by row, and at its edges; and what passes for an answer. */
#include "consumer/position.h"

#include "tests/support/check.h"

#include <stdio.h>

/* IDs as text, NULL: missing. */
struct row {
	const char *what;
	const char *bookmark, *cursor, *end, *ask, *answer;
	enum position_action action;
	const char *at;
};

static const struct row rows[] = {
    {"first start", NULL, "0-0", "0-0", NULL, NULL, POSITION_MAKE_GROUP, "0-0"},
    {"group destroyed", NULL, "5-1", "9-9", NULL, NULL, POSITION_MAKE_GROUP, "0-0"},
    {"nothing yet", "0-0", "0-0", "0-0", NULL, NULL, POSITION_READ, "0-0"},
    {"entries before the first read", "0-0", "0-0", "9-9", NULL, NULL, POSITION_READ, "0-0"},
    {"all read", "9-9", "9-9", "9-9", NULL, NULL, POSITION_READ, "9-9"},
    {"bookmark behind", "4-1", "5-1", "9-9", NULL, NULL, POSITION_READ, "5-1"},
    {"flushed", "0-0", "5-1", "0-0", NULL, NULL, POSITION_IDLE, "5-1"},
    {"flushed, and commits lost", "6-1", "5-1", "0-0", NULL, NULL, POSITION_IDLE, "5-1"},
    {"flushed while asking", "5-1", "5-1", "0-0", "5-1", NULL, POSITION_IDLE, "5-1"},
    {"tail lost", "5-1", "5-1", "5-0", NULL, NULL, POSITION_RESTART, "0-0"},
    {"tail lost, and commits", "6-1", "5-1", "4-9", NULL, NULL, POSITION_RESTART, "0-0"},
    {"tail lost while asking", "5-1", "5-1", "4-9", "5-1", NULL, POSITION_RESTART, "0-0"},
    {"commits lost", "6-1", "5-1", "9-9", NULL, NULL, POSITION_ASK, "5-1"},
    {"all commits lost", "6-1", "0-0", "9-9", NULL, NULL, POSITION_ASK, "0-0"},
    {"commits lost again", "6-1", "5-1", "9-9", NULL, "5-1 none", POSITION_ASK, "5-1"},
    {"asked", "5-1", "5-1", "9-9", "5-1", NULL, POSITION_AWAIT, "5-1"},
    {"answer unreadable", "5-1", "5-1", "9-9", "5-1", "soon", POSITION_AWAIT, "5-1"},
    {"answer to another question", "5-1", "5-1", "9-9", "5-1", "4-1 none", POSITION_AWAIT, "5-1"},
    {"nothing is missing", "5-1", "5-1", "9-9", NULL, "5-1 none", POSITION_FORGET, "5-1"},
    {"all comes again", "5-1", "5-1", "9-9", NULL, "5-1 8", POSITION_JUMP, "8-0"},
    {"all will come again", "5-1", "5-1", "7-9", NULL, "5-1 8", POSITION_AWAIT, "5-1"},
    {"question and answer", "5-1", "5-1", "9-9", "5-1", "5-1 8", POSITION_JUMP, "8-0"},
    {"answer leads nowhere", "5-1", "5-1", "9-9", NULL, "5-1 5", POSITION_ASK, "5-1"},
    {"jumped", "5-1", "8-0", "9-9", NULL, "5-1 8", POSITION_FORGET, "8-0"},
    {"jumped, bookmark told", "8-0", "8-0", "9-9", NULL, "5-1 8", POSITION_FORGET, "8-0"},
    {"a zombie's question", "8-1", "8-1", "9-9", "5-1", NULL, POSITION_FORGET, "8-1"},
};

static struct stream_id id(const char *text)
{
	struct stream_id id = STREAM_ID_ZERO;

	CHECK(text == NULL || stream_id_parse(text, &id));
	return id;
}

/* A stream that begins with the first ID there is; of an answer's tick it has what it reaches. */
static struct standing standing(const struct row *r)
{
	struct standing s = {.has_group = r->bookmark != NULL,
	    .bookmark = id(r->bookmark),
	    .cursor = id(r->cursor),
	    .stream_end = id(r->end)};

	if (s.stream_end.ms > 0)
		s.stream_first = (struct stream_id){0, 1};
	if (r->ask)
		CHECK(replay_set_ask(&s.replay, r->ask));
	if (r->answer)
		(void)replay_set_answer(&s.replay, r->answer);
	if (s.replay.again && s.stream_end.ms >= s.replay.tick)
		s.replay_seen = REPLAY_ROW;
	return s;
}

static void every_row(void)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct standing s = standing(&rows[i]);
		struct position p = position_next(&s);
		char at[STREAM_ID_SIZE];

		if (p.action != rows[i].action)
			printf("row: %s\n", rows[i].what);
		CHECK_INT(p.action, rows[i].action);
		CHECK_STR(stream_id_format(p.at, at), rows[i].at);
	}
}

/* Entries may be missing between the cursor and the first one, although the bookmark is at peace.
 */
static void a_stream_that_begins_behind(void)
{
	static const struct row as_seen[] = {
	    {"not asked yet", "5-1", "5-1", "9-9", NULL, NULL, POSITION_ASK, "5-1"},
	    {"asked", "5-1", "5-1", "9-9", "5-1", NULL, POSITION_AWAIT, "5-1"},
	    {"nothing is missing", "5-1", "5-1", "9-9", NULL, "5-1 none", POSITION_READ, "5-1"},
	    {"all comes again", "5-1", "5-1", "9-9", NULL, "5-1 8", POSITION_JUMP, "8-0"},
	    {"a new consumer", "0-0", "0-0", "9-9", NULL, NULL, POSITION_READ, "0-0"},
	};

	for (size_t i = 0; i < sizeof(as_seen) / sizeof(as_seen[0]); i++) {
		struct standing s = standing(&as_seen[i]);

		s.stream_first = id("6-1");
		CHECK_INT(position_next(&s).action, as_seen[i].action);
		s.stream_first = s.cursor;
		CHECK(position_next(&s).action != POSITION_ASK);
	}
}

/* The stream's end is beyond the tick that was promised: that alone proves nothing. */
static void a_tick_that_was_given_up(void)
{
	static const struct row promised = {
	    "all comes again", "5-1", "5-1", "9-9", NULL, "5-1 8", POSITION_JUMP, "8-0"};
	struct standing s = standing(&promised);

	CHECK_INT(position_next(&s).action, POSITION_JUMP);
	s.replay_seen = REPLAY_OTHER;
	CHECK_INT(position_next(&s).action, POSITION_ASK);
	s.replay_seen = REPLAY_NOTHING;
	CHECK_INT(position_next(&s).action, POSITION_AWAIT);
}

static void a_stream_that_lost_a_replay(void)
{
	static const struct row lost = {"", "8-3", "8-3", "7-9", NULL, NULL, POSITION_RETURN, ""};
	struct standing s = standing(&lost);
	struct position p;

	s.replaying = true;
	s.replay_from = id("5-1");
	p = position_next(&s);
	CHECK_INT(p.action, POSITION_RETURN);
	CHECK_INT(stream_id_compare(p.at, s.replay_from), 0);
	s.stream_end = id("9-9");
	CHECK_INT(position_next(&s).action, POSITION_RETURN);
	s.replay_stands = true;
	CHECK_INT(position_next(&s).action, POSITION_READ);
}

static void answers_are_read_strictly(void)
{
	static const char *const bad[] = {"", " ", "5-1", "5-1 ", "5-1  8", "5-1 None", "5-1 8-0",
	    "5-1 -8", "5 none", "5-1 99999999999999999999", "5-1 none ", NULL};
	struct replay r = {.asked = false};

	for (int i = 0; bad[i]; i++) {
		CHECK(!replay_set_answer(&r, bad[i]));
		CHECK(!r.answered);
	}
	CHECK(replay_set_answer(&r, "5-1 1767225600123"));
	CHECK(r.answered && r.again);
	CHECK_INT((int64_t)r.tick, INT64_C(1767225600123));
	CHECK(replay_set_answer(&r, "5-1 none"));
	CHECK(r.answered && !r.again);
	CHECK(!replay_set_ask(&r, "5"));
	CHECK(!r.asked);
}

static const struct check checks[] = {
    {"every row of the table", every_row},
    {"a stream that begins behind the cursor", a_stream_that_begins_behind},
    {"a tick that was given up", a_tick_that_was_given_up},
    {"a stream that lost a replay", a_stream_that_lost_a_replay},
    {"answers are read strictly", answers_are_read_strictly},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer position", checks, argc, argv);
}
