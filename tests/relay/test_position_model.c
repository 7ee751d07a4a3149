/*
 * A chain, an outbox and a stream in memory, and everything that may happen to them, at random.
 * After each story, what position.h decides must have brought every row into the stream, under IDs
 * that ascend, and never one ID for two rows.
 */
#include "common/clock.h"
#include "relay/position.h"
#include "tests/support/check.h"

#include <string.h>

#define STORIES 3000
#define STEPS 60
#define MAX_TICKS 200
#define MAX_ENTRIES 2000
#define MARGIN 3

/* Rows are numbered in commit order, which is their id.  An ordinary tick's batch is (low, high];
 * a repair's is what comes after the position it starts from. */
struct tick {
	uint64_t name;
	uint64_t low, high;
	bool repair;
	struct stream_id from;
};

struct entry {
	struct stream_id id;
	uint64_t row; /* 0: foreign */
};

struct model {
	struct rng rng;
	struct tick ticks[MAX_TICKS];
	int n_ticks;
	uint64_t rows; /* committed so far */
	struct entry stream[MAX_ENTRIES];
	int n_entries;
	struct stream_id last;
	uint64_t acknowledged_row; /* what the group has seen of rows */
	bool has_group;
	struct stream_id acknowledged;
	struct entry history[20 * MAX_ENTRIES]; /* all that was ever appended by us */
	int n_history;
	uint64_t now;
	struct stream_id known;
};

static uint64_t pick(struct model *m, uint64_t n)
{
	return rng_next(&m->rng) % n;
}

static bool is_void(const struct model *m, struct stream_id p)
{
	for (int i = 0; i < m->n_ticks; i++) {
		const struct tick *t = &m->ticks[i];

		if (t->repair && t->name > p.ms && stream_id_compare(t->from, p) < 0)
			return true;
	}
	return false;
}

/* What the tick holds, void or not: rows (*low, *high]. */
static void batch(const struct tick *t, uint64_t *low, uint64_t *high)
{
	*low = t->low;
	*high = t->high;
}

/* The first valid position after p, or 0-0, and its row. */
static struct stream_id first_after(const struct model *m, struct stream_id p)
{
	for (int i = 0; i < m->n_ticks; i++) {
		uint64_t low, high;

		if (m->ticks[i].name < p.ms)
			continue;
		batch(&m->ticks[i], &low, &high);
		for (uint64_t row = low + 1; row <= high; row++) {
			struct stream_id id = {m->ticks[i].name, row};

			if (stream_id_compare(id, p) > 0 && !is_void(m, id))
				return id;
		}
	}
	return STREAM_ID_ZERO;
}

/* Back to a position that a batch can begin at: as branch.sql does. */
static struct stream_id solid(const struct model *m, struct stream_id p)
{
	struct stream_id found = {1, 0};

	for (int i = 0; i < m->n_ticks && m->ticks[i].name <= p.ms; i++)
		found = (struct stream_id){
		    m->ticks[i].name, m->ticks[i].name == p.ms ? p.seq : INT64_MAX};
	for (int i = 0; i < m->n_ticks; i++) {
		const struct tick *t = &m->ticks[i];

		if (t->repair && t->name > found.ms && stream_id_compare(t->from, found) < 0)
			found = t->from;
	}
	return found;
}

/* The last row at or before a solid position. */
static uint64_t row_at(const struct model *m, struct stream_id p)
{
	for (int i = 0; i < m->n_ticks; i++) {
		if (m->ticks[i].name == p.ms)
			return p.seq < m->ticks[i].low    ? m->ticks[i].low
			       : p.seq > m->ticks[i].high ? m->ticks[i].high
							  : p.seq;
	}
	return 0;
}

static void add_tick(struct model *m, bool repair, struct stream_id from)
{
	const struct tick *previous = &m->ticks[m->n_ticks - 1];
	struct tick t = {.low = previous->high, .high = m->rows, .repair = repair};

	CHECK(m->n_ticks < MAX_TICKS);
	t.name = previous->name + 1;
	if (t.name < m->now)
		t.name = m->now;
	if (t.name <= m->last.ms)
		t.name = m->last.ms + 1;
	if (repair) {
		t.from = solid(m, from);
		t.low = row_at(m, t.from);
	}
	m->ticks[m->n_ticks++] = t;
}

static struct position_input gather(const struct model *m)
{
	struct position_input in = {.kind = m->n_entries ? STREAM_PRESENT : STREAM_MISSING,
	    .last = m->last,
	    .has_acknowledged = m->has_group,
	    .acknowledged = m->acknowledged,
	    .known = m->known,
	    .margin_ms = MARGIN,
	    .now_ms = (int64_t)m->now};

	for (int i = m->n_entries - 1; i >= 0; i--) {
		struct stream_id id = m->stream[i].id;

		if (m->stream[i].row && !is_void(m, id)) {
			in.own = id;
			break;
		}
		in.above++;
	}
	in.unpublished = first_after(m, position_start(&in));
	return in;
}

static void append(struct model *m, struct stream_id id)
{
	CHECK(stream_id_compare(id, m->last) > 0);
	CHECK(m->n_entries < MAX_ENTRIES);
	for (int i = 0; i < m->n_history; i++) {
		if (stream_id_compare(m->history[i].id, id) == 0)
			CHECK_INT((int64_t)m->history[i].row, (int64_t)id.seq);
	}
	m->history[m->n_history++] = (struct entry){id, id.seq};
	m->stream[m->n_entries++] = (struct entry){id, id.seq};
	m->last = id;
}

/* One relay: find the position, publish at most so many rows, cutting at most one tick. */
static void relay(struct model *m, int most)
{
	struct position_input in = gather(m);
	struct position p = position_decide(&in);
	struct stream_id at = p.start, next;

	CHECK(p.setback || stream_id_compare(m->known, m->last) == 0);
	CHECK(p.action != POSITION_PAUSE);
	if (p.action == POSITION_REPAIR) {
		add_tick(m, true, p.start);
		at = (struct stream_id){m->ticks[m->n_ticks - 1].name, 0};
	} else {
		CHECK(stream_id_compare(p.start, m->last) >= 0);
	}
	if (m->rows > m->ticks[m->n_ticks - 1].high)
		add_tick(m, false, STREAM_ID_ZERO);
	while (most-- > 0) {
		next = first_after(m, at);
		if (next.ms == 0)
			break;
		append(m, next);
		at = next;
	}
	m->known = m->last;
}

static void foreign(struct model *m)
{
	uint64_t ms = m->now + pick(m, 5);

	if (ms <= m->last.ms)
		ms = m->last.ms;
	m->last =
	    (struct stream_id){ms, ms == m->last.ms ? m->last.seq + 1 + pick(m, 3) : pick(m, 3)};
	m->stream[m->n_entries++] = (struct entry){m->last, 0};
}

/* A failover: the newest entries are gone, and the last ID with them. */
static void lose_tail(struct model *m)
{
	m->n_entries -= (int)pick(m, (uint64_t)m->n_entries + 1);
	m->last = m->n_entries ? m->stream[m->n_entries - 1].id : STREAM_ID_ZERO;
}

static void flush(struct model *m)
{
	m->n_entries = 0;
	m->last = STREAM_ID_ZERO;
}

/* Entries go, the last ID stays. */
static void drop_entries(struct model *m)
{
	if (pick(m, 2))
		m->n_entries -= (int)pick(m, (uint64_t)m->n_entries + 1);
	else
		m->n_entries = 0;
}

/* The group reads on, and what it has acknowledged is stored: never beyond an entry of ours. */
static void read_group(struct model *m)
{
	struct position_input in = gather(m);
	struct stream_id at = m->acknowledged;

	m->has_group = true;
	for (int i = 0; i < m->n_entries && pick(m, 4); i++) {
		if (stream_id_compare(m->stream[i].id, at) > 0)
			at = m->stream[i].id;
	}
	m->acknowledged = stream_id_compare(at, in.own) > 0 ? in.own : at;
}

static void step(struct model *m)
{
	m->now += pick(m, 4);
	switch (pick(m, 12)) {
	case 0:
		foreign(m);
		break;
	case 1:
		lose_tail(m);
		break;
	case 2:
		if (pick(m, 4) == 0)
			flush(m);
		break;
	case 3:
		if (pick(m, 4) == 0)
			drop_entries(m);
		break;
	case 4:
		read_group(m);
		break;
	case 5:
	case 6:
	case 7:
		m->rows += pick(m, 4);
		break;
	default:
		relay(m, (int)pick(m, 8));
	}
}

static bool was_published(const struct model *m, uint64_t row)
{
	for (int i = 0; i < m->n_history; i++) {
		if (m->history[i].row == row)
			return true;
	}
	return false;
}

static bool is_in_stream(const struct model *m, uint64_t row)
{
	for (int i = 0; i < m->n_entries; i++) {
		if (m->stream[i].row == row && !is_void(m, m->stream[i].id))
			return true;
	}
	return false;
}

/* Every row was published; and while no reader has acknowledged any, every row is in the stream. */
static void check_complete(struct model *m)
{
	relay(m, MAX_ENTRIES);
	relay(m, MAX_ENTRIES);
	for (uint64_t row = 1; row <= m->rows; row++) {
		CHECK(was_published(m, row));
		if (!m->has_group)
			CHECK(is_in_stream(m, row));
	}
	for (int i = 1; i < m->n_entries; i++)
		CHECK(stream_id_compare(m->stream[i - 1].id, m->stream[i].id) < 0);
}

static void stories(void)
{
	static struct model m;
	struct rng seeds;

	rng_seed(&seeds, check_seed());
	for (int i = 0; i < STORIES; i++) {
		memset(&m, 0, sizeof(m));
		rng_seed(&m.rng, rng_next(&seeds));
		m.now = 1000;
		m.ticks[m.n_ticks++] = (struct tick){.name = 1};
		for (int s = 0; s < STEPS; s++)
			step(&m);
		check_complete(&m);
	}
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"every row arrives, under an ID of its own", stories},
	    {NULL, NULL},
	};
	return check_main("relay position model", checks, argc, argv);
}
