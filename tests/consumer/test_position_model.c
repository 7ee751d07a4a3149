/*
 * A model of one shard.  The relay gives rows 1, 2, 3 ... positions, a row perhaps several: a
 * repair voids those after the newest entry of ours and gives their rows others, a replay gives all
 * rows after a position further ones.  It appends the positions that the stream lacks, and trims
 * what the bookmark has passed.  The consumer may die between any two of its writes, the database
 * may go back to an earlier moment, Redis too, or lose everything, and somebody else may add an
 * entry, in any order and again before the last one is overcome.  (Not database and Redis both
 * before the consumer has looked: the evidence for one would be lost by the other.)  Rows must be
 * applied in order and none passed over.
 */
#include "common/clock.h"
#include "consumer/position.h"
#include "tests/support/check.h"

#include <string.h>

enum { MAX_POSITIONS = 6000, MAX_ENTRIES = 3000, STEPS = 500 };

/* What is left for the repair and the replay that are made last. */
enum { FEW_POSITIONS = 2 * STEPS };

struct redis_side {
	struct stream_id entry[MAX_ENTRIES]; /* seq is the row; 0: somebody else's */
	int first, n;                        /* the stream holds first .. n-1 */
	bool has_group;
	struct stream_id bookmark;
	struct replay replay;
};

struct database_side {
	struct stream_id cursor;
	int applied; /* rows 1 .. applied are, or are older than the consumer */
};

struct repair {
	struct stream_id from;
	uint64_t tick;
};

struct model {
	struct rng rng;
	struct stream_id position[MAX_POSITIONS]; /* ascending; seq is the row */
	int positions;
	int rows;
	uint64_t tick;
	bool placed; /* the relay knows where the stream is */
	struct repair repair[STEPS * 2];
	int repairs;
	struct stream_id acknowledged; /* as the relay has stored it */
	struct redis_side redis, saved;
	struct database_side db, kept, past[STEPS * 2];
	int pasts;
	bool unseen; /* commits were lost, and the consumer has not looked */
	bool blind;  /* and Redis was emptied before it did */
};

static unsigned pick(struct model *m, unsigned n)
{
	return (unsigned)(rng_next(&m->rng) % n);
}

static bool less(struct stream_id a, struct stream_id b)
{
	return stream_id_compare(a, b) < 0;
}

static bool is_empty(const struct redis_side *r)
{
	return r->first == r->n;
}

static struct stream_id stream_end(const struct redis_side *r)
{
	return is_empty(r) ? STREAM_ID_ZERO : r->entry[r->n - 1];
}

/* The newest entry of ours. */
static struct stream_id own(const struct redis_side *r)
{
	for (int i = r->n - 1; i >= r->first; i--)
		if (r->entry[i].seq > 0)
			return r->entry[i];
	return STREAM_ID_ZERO;
}

static bool is_full(const struct model *m)
{
	return m->positions + m->rows + FEW_POSITIONS > MAX_POSITIONS ||
	       m->redis.n + m->rows + FEW_POSITIONS > MAX_ENTRIES || m->repairs == STEPS * 2;
}

static bool voids(const struct repair *r, struct stream_id at)
{
	return less(r->from, at) && at.ms < r->tick;
}

static bool is_void(const struct model *m, struct stream_id at)
{
	for (int i = 0; i < m->repairs; i++)
		if (voids(&m->repair[i], at))
			return true;
	return false;
}

/* ZERO: there is none yet. */
static struct stream_id first_after(const struct model *m, struct stream_id at)
{
	for (int i = 0; i < m->positions; i++)
		if (less(at, m->position[i]) && !is_void(m, m->position[i]))
			return m->position[i];
	return STREAM_ID_ZERO;
}

/* What the stream lacks. */
static struct stream_id next_position(const struct model *m)
{
	return first_after(m, is_empty(&m->redis) ? m->acknowledged : own(&m->redis));
}

static void assign(struct model *m, int from, int to)
{
	for (int row = from; row <= to; row++)
		m->position[m->positions++] = (struct stream_id){m->tick, (uint64_t)row};
}

/* One tick with all rows after that one. */
static void assign_again(struct model *m, uint64_t row)
{
	m->tick++;
	assign(m, (int)row + 1, m->rows);
	m->tick++;
}

static void append(struct model *m, struct stream_id at)
{
	CHECK(less(stream_end(&m->redis), at));
	m->redis.entry[m->redis.n++] = at;
}

/* After the newest entry of ours.  That may be void itself: then also after where the repairs began
 * that made it so, whose rows may follow what stands before it. */
static void make_repair(struct model *m)
{
	struct stream_id from = own(&m->redis);
	int rows = (int)from.seq;

	for (int i = 0; i < m->repairs; i++) {
		if (!voids(&m->repair[i], own(&m->redis)))
			continue;
		if (less(m->repair[i].from, from))
			from = m->repair[i].from;
		if ((int)m->repair[i].from.seq < rows)
			rows = (int)m->repair[i].from.seq;
	}
	m->repair[m->repairs++] = (struct repair){from, m->tick + 1};
	assign_again(m, (uint64_t)rows);
}

/* Before anything is appended to another stream than the one that the answer was about. */
static void revoke(struct model *m)
{
	struct replay *r = &m->redis.replay;
	struct stream_id first = {r->at.ms, 1};

	if (r->answered && (r->answer != REPLAY_AGAIN || is_void(m, first)))
		*r = (struct replay){.asked = true, .ask = r->answer_to};
}

static void place(struct model *m)
{
	if (m->placed)
		return;
	if (is_void(m, own(&m->redis)))
		make_repair(m);
	revoke(m);
	m->placed = true;
}

static void publish(struct model *m)
{
	struct stream_id next;

	place(m);
	next = next_position(m);
	if (next.ms != 0 && less(next, stream_end(&m->redis))) {
		make_repair(m);
		revoke(m);
		return;
	}
	if (next.ms == 0) {
		if (is_full(m))
			return;
		m->tick += pick(m, 2);
		m->rows++;
		assign(m, m->rows, m->rows);
		next = m->position[m->positions - 1];
	}
	append(m, next);
}

/* The newest entry of ours stays, and that at the bookmark. */
static void trim(struct model *m)
{
	struct redis_side *r = &m->redis;

	if (!r->has_group)
		return;
	m->acknowledged = r->bookmark;
	while (!is_empty(r) && less(r->entry[r->first], r->bookmark) &&
	       less(r->entry[r->first], own(r)))
		r->first++;
}

static bool stands(const struct redis_side *r, struct stream_id at)
{
	for (int i = r->first; i < r->n; i++)
		if (stream_id_compare(r->entry[i], at) == 0)
			return true;
	return false;
}

/* What came after it may have been trimmed, or what stands there now is something else. */
static bool may_lack(const struct model *m, struct stream_id at)
{
	const struct redis_side *r = &m->redis;

	if (is_void(m, at))
		return true;
	for (int i = 0; i < m->positions; i++)
		if (less(at, m->position[i]))
			return less(m->position[i], r->entry[r->first]);
	return false;
}

/* The stream does not have yet what comes before it. */
static bool is_ahead(const struct model *m, struct stream_id at)
{
	struct stream_id next = first_after(m, own(&m->redis));

	return next.ms != 0 && !less(at, next) && !is_void(m, at);
}

/* How many rows come before a position and at it. */
static int rows_up_to(const struct model *m, struct stream_id at)
{
	int rows = 0;

	if (at.seq > 0)
		return (int)at.seq;
	for (int i = 0; i < m->positions; i++) {
		if (m->position[i].ms == at.ms)
			return (int)m->position[i].seq - 1;
		if (less(m->position[i], at))
			rows = (int)m->position[i].seq;
	}
	return rows;
}

static void answer_again(struct model *m, struct replay *r)
{
	int rows = r->ask.ms == 0 ? 0 : rows_up_to(m, r->ask);

	r->answer = rows < m->rows ? REPLAY_AGAIN : REPLAY_AT;
	r->at = (struct stream_id){m->tick + 1, 0};
	assign_again(m, (uint64_t)rows);
}

/* Everything after the question's cursor again, in row order, as one tick. */
static void answer(struct model *m)
{
	struct replay *r = &m->redis.replay;

	if (!m->placed || !r->asked || is_empty(&m->redis) || is_ahead(m, r->ask))
		return;
	r->asked = false;
	r->answered = true;
	r->answer_to = r->ask;
	r->answer = REPLAY_NONE;
	if (may_lack(m, r->ask))
		answer_again(m, r);
}

/* Somebody else's entry. */
static void disturb(struct model *m)
{
	m->placed = false;
	m->tick++;
	append(m, (struct stream_id){m->tick, 0});
	m->tick++;
}

/* To a moment at which the cursor was at some entry, or to the one that was kept. */
static void lose_commits(struct model *m)
{
	struct database_side back = m->kept;

	if (next_position(m).ms != 0 || !m->redis.has_group)
		return;
	if (m->pasts > 0 && pick(m, 3) > 0)
		back = m->past[pick(m, (unsigned)m->pasts)];
	/* With neither cursor nor bookmark it would look like a new consumer. */
	if (back.cursor.ms == 0 && m->redis.bookmark.ms == 0)
		return;
	m->db = back;
	m->unseen = true;
}

static void lose_redis(struct model *m)
{
	struct redis_side *r = &m->redis;

	/* As above. */
	if (m->db.cursor.ms == 0)
		return;
	m->placed = false;
	if (pick(m, 2) == 0) {
		*r = (struct redis_side){.first = 0};
		m->blind |= m->unseen;
	} else if (!m->unseen && !m->blind) {
		*r = m->saved;
	}
}

static void apply_next(struct model *m)
{
	struct redis_side *r = &m->redis;

	for (int i = r->first; i < r->n; i++) {
		if (!less(m->db.cursor, r->entry[i]) || r->entry[i].seq == 0)
			continue;
		m->db.cursor = r->entry[i];
		CHECK((int)m->db.cursor.seq <= m->db.applied + 1);
		if ((int)m->db.cursor.seq > m->db.applied)
			m->db.applied = (int)m->db.cursor.seq;
		m->past[m->pasts < STEPS * 2 ? m->pasts++ : (int)pick(m, STEPS * 2)] = m->db;
		return;
	}
}

/* A message of that tick is the first entry after <tick>-0. */
static enum replay_seen see_tick(const struct redis_side *r, struct stream_id start)
{
	for (int i = r->first; i < r->n; i++)
		if (less(start, r->entry[i]))
			return r->entry[i].ms == start.ms ? REPLAY_ROW : REPLAY_OTHER;
	return REPLAY_NOTHING;
}

static enum replay_seen see(const struct redis_side *r)
{
	if (!r->replay.answered || r->replay.answer == REPLAY_NONE)
		return REPLAY_NOTHING;
	return see_tick(r, r->replay.at);
}

static bool cursor_stands(const struct redis_side *r, struct stream_id cursor)
{
	if (stands(r, cursor))
		return true;
	return cursor.seq == 0 && !is_empty(r) && less(r->entry[r->first], cursor) &&
	       see_tick(r, cursor) == REPLAY_ROW;
}

static struct standing look(const struct model *m)
{
	const struct redis_side *r = &m->redis;

	return (struct standing){.has_group = r->has_group,
	    .bookmark = r->bookmark,
	    .replay = r->replay,
	    .replay_seen = see(r),
	    .cursor = m->db.cursor,
	    .stands = cursor_stands(r, m->db.cursor),
	    .stream_first = is_empty(r) ? STREAM_ID_ZERO : r->entry[r->first]};
}

static void ask(struct model *m, struct stream_id cursor)
{
	m->redis.bookmark = cursor;
	m->redis.replay = (struct replay){.asked = true, .ask = cursor};
}

/* One action; the consumer may die in the middle of one that writes to both sides. */
static void consume(struct model *m)
{
	struct redis_side *r = &m->redis;
	struct standing now = look(m);
	struct position p = position_next(&now);

	m->unseen = m->unseen && p.action == POSITION_MAKE_GROUP;
	switch (p.action) {
	case POSITION_READ:
		apply_next(m);
		if (pick(m, 3) == 0)
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
		if (pick(m, 3) > 0)
			m->db.cursor = p.at;
		break;
	case POSITION_ASK:
		m->db.cursor = p.at;
		if (pick(m, 3) > 0)
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
		if (!is_full(m))
			answer(m);
		break;
	case 5:
		if (pick(m, 8) == 0)
			lose_commits(m);
		else if (pick(m, 8) == 0)
			m->kept = m->db;
		break;
	case 6:
		if (pick(m, 16) == 0)
			lose_redis(m);
		else if (pick(m, 8) == 0)
			m->saved = m->redis;
		else if (pick(m, 8) == 0 && !is_full(m))
			disturb(m);
		break;
	default:
		consume(m);
	}
}

static bool all_read(const struct model *m)
{
	return !less(m->db.cursor, own(&m->redis));
}

static bool at_rest(const struct model *m)
{
	struct standing now = look(m);

	return next_position(m).ms == 0 && position_next(&now).action == POSITION_READ &&
	       all_read(m);
}

/* Others have read the stream before. */
static void begin(struct model *m)
{
	for (int i = 1 + (int)pick(m, 10); i > 0; i--)
		publish(m);
	m->saved = m->redis;
	m->redis.first = (int)pick(m, (unsigned)m->rows);
	m->acknowledged = m->redis.entry[m->redis.first];
	m->db.applied = m->redis.first;
	m->kept = m->db;
}

static void run_model(struct model *m)
{
	begin(m);
	for (int i = 0; i < STEPS; i++)
		step(m);
	for (int calm = 0; calm < 3 * MAX_ENTRIES && !at_rest(m); calm++) {
		if (next_position(m).ms != 0 || is_empty(&m->redis))
			publish(m);
		place(m);
		answer(m);
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
