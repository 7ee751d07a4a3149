#include "consumer/position.h"

#include <string.h>

static bool before(struct stream_id a, struct stream_id b)
{
	return stream_id_compare(a, b) < 0;
}

static bool same(struct stream_id a, struct stream_id b)
{
	return stream_id_compare(a, b) == 0;
}

static struct position do_at(enum position_action action, struct stream_id at)
{
	return (struct position){action, at};
}

/* A new consumer's cursor: it begins where the stream does. */
static bool is_new(const struct standing *s)
{
	return same(s->cursor, STREAM_ID_ZERO);
}

static bool is_empty(const struct standing *s)
{
	return same(s->stream_first, STREAM_ID_ZERO);
}

/* The least position that is not a new consumer's stands for one whose database lost everything. */
static struct position ask(const struct standing *s)
{
	static const struct stream_id least = {0, 1};

	return do_at(POSITION_ASK, is_new(s) ? least : s->cursor);
}

/* To where everything comes again, once the stream bears it out. */
static struct position follow_tick(const struct standing *s)
{
	switch (s->replay_seen) {
	case REPLAY_NOTHING:
		return do_at(POSITION_AWAIT, s->cursor);
	case REPLAY_ROW:
		return do_at(POSITION_JUMP, s->replay.at);
	case REPLAY_OTHER:
		break;
	}
	return ask(s);
}

static struct position follow_answer(const struct standing *s)
{
	bool onward = before(s->cursor, s->replay.at);

	switch (s->replay.answer) {
	case REPLAY_AGAIN:
		return onward ? follow_tick(s) : ask(s);
	case REPLAY_AT:
		return onward ? do_at(POSITION_JUMP, s->replay.at) : ask(s);
	case REPLAY_START:
		return do_at(POSITION_RESTART, STREAM_ID_ZERO);
	case REPLAY_NONE:
		break;
	}
	/* The answer is kept until the cursor has moved: without it, it would be asked again. */
	return do_at(s->stands ? POSITION_FORGET : POSITION_READ, s->cursor);
}

/* There is a question or an answer, and the bookmark is not ahead. */
static struct position follow_replay(const struct standing *s)
{
	const struct replay *r = &s->replay;

	if (r->answered && same(r->answer_to, s->cursor))
		return follow_answer(s);
	if (r->asked && same(r->ask, s->cursor))
		return do_at(POSITION_AWAIT, s->cursor);
	/* The cursor went on since: they were followed, or a zombie's. */
	return do_at(POSITION_FORGET, s->cursor);
}

struct position position_next(const struct standing *s)
{
	if (!s->has_group)
		return do_at(POSITION_MAKE_GROUP, STREAM_ID_ZERO);
	if (is_empty(s) && !is_new(s))
		return do_at(POSITION_IDLE, s->cursor);
	if (before(s->cursor, s->bookmark))
		return ask(s);
	if (s->replay.asked || s->replay.answered)
		return follow_replay(s);
	if (!is_new(s) && !s->stands)
		return ask(s);
	return do_at(POSITION_READ, s->cursor);
}

bool replay_same(const struct replay *a, const struct replay *b)
{
	if (a->asked != b->asked || (a->asked && !same(a->ask, b->ask)) ||
	    a->answered != b->answered)
		return false;
	return !a->answered ||
	       (a->answer == b->answer && same(a->answer_to, b->answer_to) && same(a->at, b->at));
}

bool replay_set_ask(struct replay *r, const char *text)
{
	r->asked = stream_id_parse(text, &r->ask);
	return r->asked;
}

/* A tick is the first half of a stream ID, and parsed as one. */
static bool parse_tick(const char *text, struct stream_id *ret_start)
{
	char id[STREAM_ID_SIZE];
	size_t len = strlen(text);

	if (len + sizeof("-0") > sizeof(id))
		return false;
	memcpy(id, text, len);
	memcpy(id + len, "-0", sizeof("-0"));
	return stream_id_parse(id, ret_start);
}

/* "none", "start", "<tick>" or "<stream ID>" */
static bool parse_answer(const char *text, struct replay *r)
{
	if (strcmp(text, "none") == 0)
		r->answer = REPLAY_NONE;
	else if (strcmp(text, "start") == 0)
		r->answer = REPLAY_START;
	else if (parse_tick(text, &r->at))
		r->answer = REPLAY_AGAIN;
	else if (stream_id_parse(text, &r->at))
		r->answer = REPLAY_AT;
	else
		return false;
	return true;
}

bool replay_set_answer(struct replay *r, const char *text)
{
	const char *space = strchr(text, ' ');
	char to[STREAM_ID_SIZE];
	size_t len;

	r->answered = false;
	if (!space)
		return false;
	len = (size_t)(space - text);
	if (len >= sizeof(to))
		return false;
	memcpy(to, text, len);
	to[len] = '\0';
	if (!stream_id_parse(to, &r->answer_to))
		return false;
	if (!parse_answer(space + 1, r))
		return false;
	r->answered = true;
	return true;
}
