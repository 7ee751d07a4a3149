#include "tests/consumer/model.h"

#include "tests/support/check.h"

/* What is left for the repair and the replay that are made last. */
enum { FEW_POSITIONS = 2 * MODEL_STEPS };

unsigned model_pick(struct model *m, unsigned n)
{
	return (unsigned)(rng_next(&m->rng) % n);
}

bool model_before(struct stream_id a, struct stream_id b)
{
	return stream_id_compare(a, b) < 0;
}

bool model_stream_empty(const struct model_redis *r)
{
	return r->first == r->n;
}

static struct stream_id stream_end(const struct model_redis *r)
{
	return model_stream_empty(r) ? STREAM_ID_ZERO : r->entry[r->n - 1];
}

struct stream_id model_own(const struct model_redis *r)
{
	for (int i = r->n - 1; i >= r->first; i--)
		if (r->entry[i].seq > 0)
			return r->entry[i];
	return STREAM_ID_ZERO;
}

bool model_is_full(const struct model *m)
{
	return m->positions + m->rows + FEW_POSITIONS > MODEL_POSITIONS ||
	       m->redis.n + m->rows + FEW_POSITIONS > MODEL_ENTRIES ||
	       m->repairs == MODEL_STEPS * 2;
}

static bool voids(const struct model_repair *r, struct stream_id at)
{
	return model_before(r->from, at) && at.ms < r->tick;
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
		if (model_before(at, m->position[i]) && !is_void(m, m->position[i]))
			return m->position[i];
	return STREAM_ID_ZERO;
}

struct stream_id model_next_position(const struct model *m)
{
	return first_after(
	    m, model_stream_empty(&m->redis) ? m->acknowledged : model_own(&m->redis));
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
	CHECK(model_before(stream_end(&m->redis), at));
	m->redis.entry[m->redis.n++] = at;
}

/* After the newest entry of ours.  That may be void itself: then also after where the repairs began
 * that made it so, whose rows may follow what stands before it. */
static void make_repair(struct model *m)
{
	struct stream_id from = model_own(&m->redis);
	int rows = (int)from.seq;

	for (int i = 0; i < m->repairs; i++) {
		if (!voids(&m->repair[i], model_own(&m->redis)))
			continue;
		if (model_before(m->repair[i].from, from))
			from = m->repair[i].from;
		if ((int)m->repair[i].from.seq < rows)
			rows = (int)m->repair[i].from.seq;
	}
	m->repair[m->repairs++] = (struct model_repair){from, m->tick + 1};
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

void model_place(struct model *m)
{
	if (m->placed)
		return;
	if (is_void(m, model_own(&m->redis)))
		make_repair(m);
	revoke(m);
	m->placed = true;
}

void model_publish(struct model *m)
{
	struct stream_id next;

	model_place(m);
	next = model_next_position(m);
	if (next.ms != 0 && model_before(next, stream_end(&m->redis))) {
		make_repair(m);
		revoke(m);
		return;
	}
	if (next.ms == 0) {
		if (model_is_full(m))
			return;
		m->tick += model_pick(m, 2);
		m->rows++;
		assign(m, m->rows, m->rows);
		next = m->position[m->positions - 1];
	}
	append(m, next);
}

/* The newest entry of ours stays, and that at the bookmark. */
void model_trim(struct model *m)
{
	struct model_redis *r = &m->redis;

	if (!r->has_group)
		return;
	m->acknowledged = r->bookmark;
	while (!model_stream_empty(r) && model_before(r->entry[r->first], r->bookmark) &&
	       model_before(r->entry[r->first], model_own(r)))
		r->first++;
}

/* What came after it may have been trimmed, or what stands there now is something else. */
static bool may_lack(const struct model *m, struct stream_id at)
{
	const struct model_redis *r = &m->redis;

	if (is_void(m, at))
		return true;
	for (int i = 0; i < m->positions; i++)
		if (model_before(at, m->position[i]))
			return model_before(m->position[i], r->entry[r->first]);
	return false;
}

/* The stream does not have yet what comes before it. */
static bool is_ahead(const struct model *m, struct stream_id at)
{
	struct stream_id next = first_after(m, model_own(&m->redis));

	return next.ms != 0 && !model_before(at, next) && !is_void(m, at);
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
		if (model_before(m->position[i], at))
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
void model_answer(struct model *m)
{
	struct replay *r = &m->redis.replay;

	if (!m->placed || !r->asked || model_stream_empty(&m->redis) || is_ahead(m, r->ask))
		return;
	r->asked = false;
	r->answered = true;
	r->answer_to = r->ask;
	r->answer = REPLAY_NONE;
	if (may_lack(m, r->ask))
		answer_again(m, r);
}

void model_disturb(struct model *m)
{
	m->placed = false;
	m->tick++;
	append(m, (struct stream_id){m->tick, 0});
	m->tick++;
}
