/* Random histories of the model: the consumer's side, what befalls both sides, and what must hold.
 */
#include "consumer/position.h"
#include "tests/consumer/model.h"
#include "tests/support/check.h"

#include <string.h>

static bool stands(const struct model_redis *r, struct stream_id at)
{
	for (int i = r->first; i < r->n; i++)
		if (stream_id_compare(r->entry[i], at) == 0)
			return true;
	return false;
}

/* To a moment at which the cursor was at some entry, or to the one that was kept. */
static void lose_commits(struct model *m)
{
	struct model_database back = m->kept;

	if (model_next_position(m).ms != 0 || !m->redis.has_group)
		return;
	if (m->pasts > 0 && model_pick(m, 3) > 0)
		back = m->past[model_pick(m, (unsigned)m->pasts)];
	/* With neither cursor nor bookmark it would look like a new consumer. */
	if (back.cursor.ms == 0 && m->redis.bookmark.ms == 0)
		return;
	m->db = back;
	m->unseen = true;
}

static void lose_redis(struct model *m)
{
	struct model_redis *r = &m->redis;

	/* As above. */
	if (m->db.cursor.ms == 0)
		return;
	m->placed = false;
	if (model_pick(m, 2) == 0) {
		*r = (struct model_redis){.first = 0};
		m->blind |= m->unseen;
	} else if (!m->unseen && !m->blind) {
		*r = m->saved;
	}
}

static void apply_next(struct model *m)
{
	struct model_redis *r = &m->redis;

	for (int i = r->first; i < r->n; i++) {
		if (!model_before(m->db.cursor, r->entry[i]) || r->entry[i].seq == 0)
			continue;
		m->db.cursor = r->entry[i];
		CHECK((int)m->db.cursor.seq <= m->db.applied + 1);
		if ((int)m->db.cursor.seq > m->db.applied)
			m->db.applied = (int)m->db.cursor.seq;
		m->past[m->pasts < MODEL_STEPS * 2 ? m->pasts++
						   : (int)model_pick(m, MODEL_STEPS * 2)] = m->db;
		return;
	}
}

/* A message of that tick is the first entry after <tick>-0. */
static enum replay_seen see_tick(const struct model_redis *r, struct stream_id start)
{
	for (int i = r->first; i < r->n; i++)
		if (model_before(start, r->entry[i]))
			return r->entry[i].ms == start.ms ? REPLAY_ROW : REPLAY_OTHER;
	return REPLAY_NOTHING;
}

static enum replay_seen see(const struct model_redis *r)
{
	if (!r->replay.answered || r->replay.answer == REPLAY_NONE)
		return REPLAY_NOTHING;
	return see_tick(r, r->replay.at);
}

static bool cursor_stands(const struct model_redis *r, struct stream_id cursor)
{
	if (stands(r, cursor))
		return true;
	return cursor.seq == 0 && !model_stream_empty(r) &&
	       model_before(r->entry[r->first], cursor) && see_tick(r, cursor) == REPLAY_ROW;
}

static struct standing look(const struct model *m)
{
	const struct model_redis *r = &m->redis;

	return (struct standing){.has_group = r->has_group,
	    .bookmark = r->bookmark,
	    .replay = r->replay,
	    .replay_seen = see(r),
	    .cursor = m->db.cursor,
	    .stands = cursor_stands(r, m->db.cursor),
	    .stream_first = model_stream_empty(r) ? STREAM_ID_ZERO : r->entry[r->first]};
}

static void ask(struct model *m, struct stream_id cursor)
{
	m->redis.bookmark = cursor;
	m->redis.replay = (struct replay){.asked = true, .ask = cursor};
}

/* One action; the consumer may die in the middle of one that writes to both sides. */
static void consume(struct model *m)
{
	struct model_redis *r = &m->redis;
	struct standing now = look(m);
	struct position p = position_next(&now);

	m->unseen = m->unseen && p.action == POSITION_MAKE_GROUP;
	switch (p.action) {
	case POSITION_READ:
		apply_next(m);
		if (model_pick(m, 3) == 0)
			r->bookmark = m->db.cursor;
		break;
	case POSITION_IDLE:
	case POSITION_AWAIT:
		break;
	case POSITION_MAKE_GROUP:
		r->has_group = true;
		r->bookmark = STREAM_ID_ZERO;
		break;
	case POSITION_RESTART:
		r->bookmark = STREAM_ID_ZERO;
		if (model_pick(m, 3) > 0)
			m->db.cursor = p.at;
		break;
	case POSITION_ASK:
		m->db.cursor = p.at;
		if (model_pick(m, 3) > 0)
			ask(m, p.at);
		break;
	case POSITION_JUMP:
		m->db.cursor = p.at;
		break;
	case POSITION_FORGET:
		r->bookmark = m->db.cursor;
		r->replay = (struct replay){.asked = false};
		break;
	}
}

static void step(struct model *m)
{
	switch (model_pick(m, 14)) {
	case 0:
	case 1:
	case 2:
		model_publish(m);
		break;
	case 3:
		model_trim(m);
		break;
	case 4:
		if (!model_is_full(m))
			model_answer(m);
		break;
	case 5:
		if (model_pick(m, 8) == 0)
			lose_commits(m);
		else if (model_pick(m, 8) == 0)
			m->kept = m->db;
		break;
	case 6:
		if (model_pick(m, 16) == 0)
			lose_redis(m);
		else if (model_pick(m, 8) == 0)
			m->saved = m->redis;
		else if (model_pick(m, 8) == 0 && !model_is_full(m))
			model_disturb(m);
		break;
	default:
		consume(m);
	}
}

static bool all_read(const struct model *m)
{
	return !model_before(m->db.cursor, model_own(&m->redis));
}

static bool at_rest(const struct model *m)
{
	struct standing now = look(m);

	return model_next_position(m).ms == 0 && position_next(&now).action == POSITION_READ &&
	       all_read(m);
}

/* Others have read the stream before. */
static void begin(struct model *m)
{
	for (int i = 1 + (int)model_pick(m, 10); i > 0; i--)
		model_publish(m);
	m->saved = m->redis;
	m->redis.first = (int)model_pick(m, (unsigned)m->rows);
	m->acknowledged = m->redis.entry[m->redis.first];
	m->db.applied = m->redis.first;
	m->kept = m->db;
}

static void run_model(struct model *m)
{
	begin(m);
	for (int i = 0; i < MODEL_STEPS; i++)
		step(m);
	for (int calm = 0; calm < 3 * MODEL_ENTRIES && !at_rest(m); calm++) {
		if (model_next_position(m).ms != 0 || model_stream_empty(&m->redis))
			model_publish(m);
		model_place(m);
		model_answer(m);
		consume(m);
	}
	CHECK(at_rest(m));
	CHECK_INT(m->db.applied, m->rows);
}

static void no_row_is_passed_over(void)
{
	static struct model m;

	for (int round = 0; round < 500; round++) {
		memset(&m, 0, sizeof(m));
		rng_seed(&m.rng, check_seed() + (uint64_t)round);
		m.tick = 1000;
		run_model(&m);
	}
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"random histories pass over no row", no_row_is_passed_over},
	    {NULL, NULL},
	};
	return check_main("consumer position model", checks, argc, argv);
}
