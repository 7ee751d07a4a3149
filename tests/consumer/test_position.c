/* What position_next() decides, row by row, and at its edges; and what passes for an answer. */
#include "consumer/position.h"

#include "tests/support/check.h"

#include <stdio.h>

enum { GONE, STANDS };

/* IDs as text, NULL: missing. first: of the stream. */
struct row {
	const char *what;
	const char *bookmark, *cursor, *first;
	bool stands;
	const char *ask, *answer;
	enum position_action action;
	const char *at;
};

static const struct row rows[] = {
    {"first start", NULL, "0-0", NULL, GONE, NULL, NULL, POSITION_MAKE_GROUP, "0-0"},
    {"group destroyed", NULL, "5-1", "1-1", STANDS, NULL, NULL, POSITION_MAKE_GROUP, "0-0"},
    {"nothing yet", "0-0", "0-0", NULL, GONE, NULL, NULL, POSITION_READ, "0-0"},
    {"a new consumer", "0-0", "0-0", "3-1", GONE, NULL, NULL, POSITION_READ, "0-0"},
    {"reading on", "4-1", "5-1", "1-1", STANDS, NULL, NULL, POSITION_READ, "5-1"},
    {"flushed", "0-0", "5-1", NULL, GONE, NULL, NULL, POSITION_IDLE, "5-1"},
    {"flushed, and commits lost", "6-1", "5-1", NULL, GONE, NULL, NULL, POSITION_IDLE, "5-1"},
    {"flushed while asking", "5-1", "5-1", NULL, GONE, "5-1", NULL, POSITION_IDLE, "5-1"},
    {"another stream", "5-1", "5-1", "1-1", GONE, NULL, NULL, POSITION_ASK, "5-1"},
    {"a stream that begins behind", "5-1", "5-1", "6-1", GONE, NULL, NULL, POSITION_ASK, "5-1"},
    {"commits lost", "6-1", "5-1", "1-1", STANDS, NULL, NULL, POSITION_ASK, "5-1"},
    {"all commits lost", "6-1", "0-0", "1-1", GONE, NULL, NULL, POSITION_ASK, "0-1"},
    {"all were lost", "0-1", "0-1", "1-1", GONE, NULL, NULL, POSITION_ASK, "0-1"},
    {"commits lost again", "6-1", "5-1", "1-1", STANDS, NULL, "5-1 none", POSITION_ASK, "5-1"},
    {"asked", "5-1", "5-1", "1-1", GONE, "5-1", NULL, POSITION_AWAIT, "5-1"},
    {"asked, and there", "5-1", "5-1", "1-1", STANDS, "5-1", NULL, POSITION_AWAIT, "5-1"},
    {"unreadable", "5-1", "5-1", "1-1", GONE, "5-1", "soon", POSITION_AWAIT, "5-1"},
    {"of another question", "5-1", "5-1", "1-1", GONE, "5-1", "4-1 none", POSITION_AWAIT, "5-1"},
    {"all is there", "5-1", "5-1", "1-1", STANDS, NULL, "5-1 none", POSITION_FORGET, "5-1"},
    {"all that follows is", "5-1", "5-1", "6-1", GONE, NULL, "5-1 none", POSITION_READ, "5-1"},
    {"not known", "5-1", "5-1", "1-1", GONE, NULL, "5-1 start", POSITION_RESTART, "0-0"},
    {"nothing follows", "5-1", "5-1", "1-1", GONE, NULL, "5-1 8-0", POSITION_JUMP, "8-0"},
    {"all comes again", "5-1", "5-1", "1-1", GONE, NULL, "5-1 8", POSITION_JUMP, "8-0"},
    {"question and answer", "5-1", "5-1", "1-1", GONE, "5-1", "5-1 8", POSITION_JUMP, "8-0"},
    {"the tick leads back", "5-1", "5-1", "1-1", GONE, NULL, "5-1 5", POSITION_ASK, "5-1"},
    {"the ID leads back", "5-1", "5-1", "1-1", GONE, NULL, "5-1 5-0", POSITION_ASK, "5-1"},
    {"jumped", "5-1", "8-0", "1-1", STANDS, NULL, "5-1 8", POSITION_FORGET, "8-0"},
    {"bookmark told", "8-0", "8-0", "1-1", STANDS, NULL, "5-1 8", POSITION_FORGET, "8-0"},
    {"a zombie's question", "8-1", "8-1", "1-1", STANDS, "5-1", NULL, POSITION_FORGET, "8-1"},
};

static struct stream_id id(const char *text)
{
	struct stream_id id = STREAM_ID_ZERO;

	CHECK(text == NULL || stream_id_parse(text, &id));
	return id;
}

/* Of an answer's tick the stream has a row. */
static struct standing standing(const struct row *r)
{
	struct standing s = {.has_group = r->bookmark != NULL,
	    .bookmark = id(r->bookmark),
	    .replay_seen = REPLAY_ROW,
	    .cursor = id(r->cursor),
	    .stands = r->stands,
	    .stream_first = id(r->first)};

	if (r->ask)
		CHECK(replay_set_ask(&s.replay, r->ask));
	if (r->answer)
		(void)replay_set_answer(&s.replay, r->answer);
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

/* A row of the tick that was promised must come first: only that proves that it has come. */
static void a_tick_that_was_given_up(void)
{
	static const struct row promised = {
	    "", "5-1", "5-1", "1-1", GONE, NULL, "5-1 8", POSITION_JUMP, "8-0"};
	struct standing s = standing(&promised);

	CHECK_INT(position_next(&s).action, POSITION_JUMP);
	s.replay_seen = REPLAY_OTHER;
	CHECK_INT(position_next(&s).action, POSITION_ASK);
	s.replay_seen = REPLAY_NOTHING;
	CHECK_INT(position_next(&s).action, POSITION_AWAIT);
}

static void answers_that_differ(void)
{
	static const char *const all[] = {
	    "5-1 none", "5-1 start", "5-1 8", "5-1 8-0", "5-1 9", "4-1 8"};
	const int n = sizeof(all) / sizeof(all[0]);
	struct replay none = {.asked = false}, a, b;

	for (int i = 0; i < n; i++) {
		a = none;
		CHECK(replay_set_answer(&a, all[i]));
		CHECK(!replay_same(&a, &none));
		for (int k = 0; k < n; k++) {
			b = none;
			CHECK(replay_set_answer(&b, all[k]));
			CHECK_INT(replay_same(&a, &b), i == k);
		}
	}
	a = b = none;
	CHECK(replay_set_ask(&a, "5-1"));
	CHECK(!replay_same(&a, &b));
	CHECK(replay_set_ask(&b, "5-1"));
	CHECK(replay_same(&a, &b));
	CHECK(replay_set_ask(&b, "5-2"));
	CHECK(!replay_same(&a, &b));
}

static void answers_are_read_strictly(void)
{
	static const char *const bad[] = {"", " ", "5-1", "5-1 ", "5-1  8", "5-1 None", "5-1 8-",
	    "5-1 8-0-0", "5-1 -8", "5 none", "5-1 99999999999999999999", "5-1 none ", NULL};
	struct replay r = {.asked = false};

	for (int i = 0; bad[i]; i++) {
		CHECK(!replay_set_answer(&r, bad[i]));
		CHECK(!r.answered);
	}
	CHECK(replay_set_answer(&r, "5-1 1767225600123"));
	CHECK(r.answered && r.answer == REPLAY_AGAIN);
	CHECK_INT((int64_t)r.at.ms, INT64_C(1767225600123));
	CHECK_INT((int64_t)r.at.seq, 0);
	CHECK(replay_set_answer(&r, "5-1 8-2"));
	CHECK(r.answer == REPLAY_AT && stream_id_compare(r.at, id("8-2")) == 0);
	CHECK(replay_set_answer(&r, "5-1 start"));
	CHECK_INT(r.answer, REPLAY_START);
	CHECK(replay_set_answer(&r, "5-1 none"));
	CHECK_INT(r.answer, REPLAY_NONE);
	CHECK(!replay_set_ask(&r, "5"));
	CHECK(!r.asked);
}

static const struct check checks[] = {
    {"every row of the table", every_row},
    {"a tick that was given up", a_tick_that_was_given_up},
    {"answers that differ", answers_that_differ},
    {"answers are read strictly", answers_are_read_strictly},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer position", checks, argc, argv);
}
