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

/* Something between the cursor and the first entry may have been trimmed. */
static bool begins_behind(const struct standing *s)
{
	return before(STREAM_ID_ZERO, s->cursor) && before(s->cursor, s->stream_first);
}

static bool is_empty(const struct standing *s)
{
	return same(s->stream_first, STREAM_ID_ZERO);
}

/* What the answer says, once the stream bears it out. */
static struct position follow_answer(const struct standing *s)
{
	struct stream_id start = {s->replay.tick, 0};

	if (!s->replay.again)
		return do_at(begins_behind(s) ? POSITION_READ : POSITION_FORGET, s->cursor);
	/* It would lead backwards. */
	if (!before(s->cursor, start))
		return do_at(POSITION_ASK, s->cursor);
	switch (s->replay_seen) {
	case REPLAY_NOTHING:
		/* A cursor ahead of the stream's end would look like a stream that lost it. */
		return do_at(POSITION_AWAIT, s->cursor);
	case REPLAY_ROW:
		return do_at(POSITION_JUMP, start);
	case REPLAY_OTHER:
		break;
	}
	return do_at(POSITION_ASK, s->cursor);
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
	if (is_empty(s) && before(STREAM_ID_ZERO, s->cursor))
		return do_at(POSITION_IDLE, s->cursor);
	if (s->replaying && !s->replay_stands)
		return do_at(POSITION_RETURN, s->replay_from);
	if (before(s->stream_end, s->cursor))
		return do_at(POSITION_RESTART, STREAM_ID_ZERO);
	if (before(s->cursor, s->bookmark))
		return do_at(POSITION_ASK, s->cursor);
	if (s->replay.asked || s->replay.answered)
		return follow_replay(s);
	return do_at(begins_behind(s) ? POSITION_ASK : POSITION_READ, s->cursor);
}

bool replay_set_ask(struct replay *r, const char *text)
{
	r->asked = stream_id_parse(text, &r->ask);
	return r->asked;
}

/* A tick is the first half of a stream ID, and parsed as one. */
static bool parse_tick(const char *text, uint64_t *ret_tick)
{
	char id[STREAM_ID_SIZE];
	struct stream_id parsed;
	size_t len = strlen(text);

	if (len + sizeof("-0") > sizeof(id))
		return false;
	memcpy(id, text, len);
	memcpy(id + len, "-0", sizeof("-0"));
	if (!stream_id_parse(id, &parsed))
		return false;
	*ret_tick = parsed.ms;
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
	r->again = strcmp(space + 1, "none") != 0;
	if (r->again && !parse_tick(space + 1, &r->tick))
		return false;
	r->answered = true;
	return true;
}
