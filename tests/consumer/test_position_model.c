/*
 * A model of one shard.  Rows 1, 2, 3 ... get positions as ticks go by, and further ones when a
 * replay is asked for; the relay appends the positions that the stream lacks and trims up to the
 * bookmark. The consumer may die between any two of its writes, the database may go back to an
 * earlier moment, Redis too, or lose everything.  (Not both to an earlier moment at once: the
 * evidence for one would be lost by the other.)  Somebody else may add an entry. Rows must be
 * applied in order and none passed over.
 */
#include "common/clock.h"
#include "consumer/position.h"
#include "tests/support/check.h"

#include <string.h>

enum { MAX_ENTRIES = 4000, STEPS = 500 };

struct redis_side {
	int first, n; /* the stream holds the positions first .. n-1 */
	bool has_group;
	struct stream_id bookmark;
	struct replay replay;
};

struct cursor_side {
	struct stream_id id, replay_from, replay_at;
};

struct model {
	struct rng rng;
	struct stream_id position[MAX_ENTRIES]; /* seq is the row; 0: somebody else's entry */
	int total;
	int rows;
	uint64_t tick;
	struct redis_side redis, saved;
	struct cursor_side cursor, kept_cursor;
	struct stream_id replayed;          /* the newest replay's last position */
	bool applied[MAX_ENTRIES];          /* by row: what the inbox knows */
	bool kept[MAX_ENTRIES];             /* with kept_cursor: a backup */
	struct cursor_side at[MAX_ENTRIES]; /* by position: the cursor when it was read there */
};

static unsigned pick(struct model *m, unsigned n)
{
	return (unsigned)(rng_next(&m->rng) % n);
}

static void assign(struct model *m, int row)
{
	m->position[m->total++] = (struct stream_id){m->tick, (uint64_t)row};
}

static void publish(struct model *m)
{
	if (m->redis.n < m->total) {
		m->redis.n++;
		return;
	}
	if (m->total == MAX_ENTRIES)
		return;
	m->tick += pick(m, 2);
	assign(m, ++m->rows);
	m->redis.n++;
}

/* The newest entry stays. */
static void trim(struct model *m)
{
	struct redis_side *r = &m->redis;

	while (r->has_group && r->first < r->n - 1 &&
	       stream_id_compare(m->position[r->first], r->bookmark) <= 0)
		r->first++;
}

/* Everything after the question's cursor again, in row order, as one tick. */
static void answer(struct model *m)
{
	struct replay *r = &m->redis.replay;

	if (!r->asked || m->total + m->rows >= MAX_ENTRIES)
		return;
	r->asked = false;
	r->answered = true;
	r->answer_to = r->ask;
	r->again =
	    m->redis.first > 0 && stream_id_compare(m->position[m->redis.first - 1], r->ask) > 0;
	if (!r->again)
		return;
	r->tick = ++m->tick;
	for (int row = (int)r->ask.seq + 1; row <= m->rows; row++)
		assign(m, row);
	m->replayed = m->position[m->total - 1];
	m->tick++;
}

/* Somebody else's entry. The relay publishes the rows that the stream lacks above it, and gives up
 * the positions that it had for them, and for rows to come again. */
static void disturb(struct model *m)
{
	struct redis_side *r = &m->redis;
	struct stream_id own;

	if (r->n == r->first || m->total + m->rows >= MAX_ENTRIES)
		return;
	own = m->position[r->n - 1];
	if (own.seq == 0)
		return;
	m->tick++;
	m->total = r->n;
	assign(m, 0);
	r->n = m->total;
	m->tick++;
	for (int row = (int)own.seq + 1; row <= m->rows; row++)
		assign(m, row);
	if (stream_id_compare(own, m->replayed) < 0)
		m->replayed = m->position[m->total - 1];
	m->tick++;
}

static bool applied_up_to(const struct model *m, uint64_t row)
{
	for (uint64_t i = 1; i <= row; i++)
		if (!m->applied[i])
			return false;
	return true;
}

static void keep_commits(struct model *m)
{
	m->kept_cursor = m->cursor;
	memcpy(m->kept, m->applied, sizeof(m->kept));
}

/* To a moment at which the cursor was at some entry, or to the one that was kept. */
static void lose_commits(struct model *m)
{
	struct cursor_side back = {.id = STREAM_ID_ZERO};

	if (m->redis.n < m->total || !m->redis.has_group)
		return;
	if (pick(m, 3) == 0) {
		/* With neither cursor nor bookmark it would look like a new consumer. */
		if (m->kept_cursor.id.ms == 0 && m->redis.bookmark.ms == 0)
			return;
		m->cursor = m->kept_cursor;
		memcpy(m->applied, m->kept, sizeof(m->kept));
		return;
	}
	if (m->total > 0)
		back = m->at[pick(m, (unsigned)m->total)];
	if (stream_id_compare(back.id, m->cursor.id) >= 0 || back.id.seq == 0 ||
	    !applied_up_to(m, back.id.seq))
		return;
	m->cursor = back;
	for (int row = (int)back.id.seq + 1; row <= m->rows; row++)
		m->applied[row] = false;
}

static void lose_redis(struct model *m)
{
	struct redis_side *r = &m->redis;
	bool evidence = r->replay.asked || r->replay.answered ||
			stream_id_compare(r->bookmark, m->cursor.id) > 0;

	/* As above. */
	if (evidence && m->cursor.id.ms == 0)
		return;
	if (pick(m, 2) == 0)
		*r = (struct redis_side){.first = r->first, .n = r->first};
	else if (!evidence)
		*r = m->saved;
	m->saved = *r;
}

static void apply_next(struct model *m)
{
	for (int i = m->redis.first; i < m->redis.n; i++) {
		if (stream_id_compare(m->position[i], m->cursor.id) <= 0 || m->position[i].seq == 0)
			continue;
		m->cursor.id = m->position[i];
		m->at[i] = m->cursor;
		CHECK(applied_up_to(m, m->cursor.id.seq - 1));
		m->applied[m->cursor.id.seq] = true;
		return;
	}
}

static enum replay_seen see_replay(const struct model *m)
{
	const struct replay *replay = &m->redis.replay;
	struct stream_id start = {replay->tick, 0};

	if (!replay->answered || !replay->again)
		return REPLAY_NOTHING;
	for (int i = m->redis.first; i < m->redis.n; i++) {
		struct stream_id at = m->position[i];

		if (stream_id_compare(at, start) > 0)
			return at.seq > 0 && at.ms == replay->tick ? REPLAY_ROW : REPLAY_OTHER;
	}
	return REPLAY_NOTHING;
}

static bool is_replaying(const struct model *m)
{
	return m->cursor.replay_at.ms != 0;
}

static bool replay_stands(const struct model *m)
{
	struct stream_id cursor = m->cursor.id;

	for (int i = m->redis.first; i < m->redis.n; i++) {
		struct stream_id at = m->position[i];

		if (cursor.seq == 0 && stream_id_compare(at, cursor) > 0)
			return at.seq > 0 && at.ms == cursor.ms;
		if (stream_id_compare(at, cursor) == 0)
			return true;
	}
	return false;
}

static void jump(struct model *m, struct stream_id to)
{
	if (!is_replaying(m))
		m->cursor.replay_from = m->cursor.id;
	m->cursor.id = m->cursor.replay_at = to;
}

static void ask(struct model *m, struct stream_id cursor)
{
	m->redis.bookmark = cursor;
	m->redis.replay = (struct replay){.asked = true, .ask = cursor};
}

static struct standing look(const struct model *m)
{
	const struct redis_side *r = &m->redis;

	return (struct standing){.has_group = r->has_group,
	    .bookmark = r->bookmark,
	    .replay = r->replay,
	    .replay_seen = see_replay(m),
	    .cursor = m->cursor.id,
	    .replaying = is_replaying(m),
	    .replay_from = m->cursor.replay_from,
	    .replay_stands = replay_stands(m),
	    .stream_first = r->n > r->first ? m->position[r->first] : STREAM_ID_ZERO,
	    .stream_end = r->n > r->first ? m->position[r->n - 1] : STREAM_ID_ZERO};
}

/* One action; the consumer may die in the middle of the one that writes to both sides. */
static void consume(struct model *m)
{
	struct redis_side *r = &m->redis;
	struct standing now = look(m);
	struct position p = position_next(&now);

	switch (p.action) {
	case POSITION_READ:
		apply_next(m);
		if (pick(m, 3) == 0)
			r->bookmark = m->cursor.id;
		break;
	case POSITION_IDLE:
		break;
	case POSITION_MAKE_GROUP:
		r->has_group = true;
		r->bookmark = STREAM_ID_ZERO;
		break;
	case POSITION_RESTART:
		r->bookmark = STREAM_ID_ZERO;
		if (pick(m, 3) > 0)
			m->cursor = (struct cursor_side){.id = p.at};
		break;
	case POSITION_RETURN:
		ask(m, p.at);
		if (pick(m, 3) > 0)
			m->cursor = (struct cursor_side){.id = p.at};
		break;
	case POSITION_ASK:
		ask(m, p.at);
		break;
	case POSITION_AWAIT:
		break;
	case POSITION_JUMP:
		jump(m, p.at);
		break;
	case POSITION_FORGET:
		r->bookmark = m->cursor.id;
		r->replay = (struct replay){.asked = false};
		break;
	}
}

static void step(struct model *m)
{
	switch (pick(m, 14)) {
	case 0:
	case 1:
	case 2:
		publish(m);
		break;
	case 3:
		trim(m);
		break;
	case 4:
		answer(m);
		break;
	case 5:
		if (pick(m, 8) == 0)
			lose_commits(m);
		else if (pick(m, 8) == 0)
			keep_commits(m);
		break;
	case 6:
		if (pick(m, 16) == 0)
			lose_redis(m);
		else if (pick(m, 8) == 0)
			m->saved = m->redis;
		else if (pick(m, 8) == 0)
			disturb(m);
		break;
	default:
		consume(m);
	}
}

static bool all_read(const struct model *m)
{
	for (int i = m->redis.first; i < m->redis.n; i++)
		if (m->position[i].seq > 0 && stream_id_compare(m->position[i], m->cursor.id) > 0)
			return false;
	return true;
}

static bool at_rest(const struct model *m)
{
	struct standing now = look(m);

	return m->redis.n == m->total && position_next(&now).action == POSITION_READ && all_read(m);
}

static void run_model(struct model *m)
{
	for (int i = 0; i < STEPS; i++)
		step(m);
	for (int calm = 0; calm < 2 * MAX_ENTRIES && !at_rest(m); calm++) {
		if (m->redis.n < m->total)
			publish(m);
		answer(m);
		consume(m);
	}
	CHECK(at_rest(m));
	CHECK(applied_up_to(m, (uint64_t)m->rows));
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
