#include "cli/trace_private.h"
#include "common/memory.h"

#include <string.h>

const char *trace_step_name(enum trace_step_kind kind)
{
	static const char *const names[] = {
	    [STEP_RECEIVED] = "received",
	    [STEP_COMMITTED] = "committed",
	    [STEP_TICKED] = "ticked",
	    [STEP_PUBLISHED] = "published",
	    [STEP_REPUBLISHED] = "republished",
	    [STEP_DELIVERED] = "delivered",
	    [STEP_APPLIED] = "applied",
	    [STEP_RETRYING] = "retrying",
	    [STEP_HELD] = "held",
	    [STEP_FAILED] = "failed",
	    [STEP_DISCARDED] = "discarded",
	};
	return names[kind];
}

/* Returns the step's time, for what follows it. */
static int64_t add(struct trace_verdict *v, struct trace_step step, int64_t before_ms)
{
	bool known = step.at_ms != TRACE_UNKNOWN && before_ms != TRACE_UNKNOWN;

	step.after_ms = known ? step.at_ms - before_ms : TRACE_UNKNOWN;
	v->steps = mem_realloc(v->steps, (v->n_steps + 1) * sizeof(*v->steps));
	v->steps[v->n_steps++] = step;
	return step.at_ms;
}

/* What an inbox says of the position that it was applied from, or parked. */
static const struct trace_consumer *witness(const struct trace *t, struct stream_id id)
{
	for (size_t i = 0; i < t->n_consumers; i++) {
		const struct trace_consumer *c = &t->consumers[i];

		if ((c->applied || c->parked) && stream_id_compare(c->stream_id, id) == 0)
			return c;
	}
	return NULL;
}

bool trace_is_trimmed(const struct trace *t, const struct trace_position *p)
{
	return t->stream_known && t->stream.length > 0 &&
	       stream_id_compare(p->id, t->stream.first) < 0;
}

bool trace_is_published(const struct trace *t, const struct trace_position *p)
{
	return p->published || trace_is_trimmed(t, p) || witness(t, p->id);
}

static int64_t published_ms(const struct trace *t, const struct trace_position *p)
{
	const struct trace_consumer *c = witness(t, p->id);

	return p->published_ms == TRACE_UNKNOWN && c ? c->published_ms : p->published_ms;
}

/* The published step of this position, else of the last one: what a delivery follows. */
static int64_t add_positions(const struct trace *t, struct trace_verdict *v, int64_t before_ms)
{
	int64_t last_ms = before_ms;

	for (size_t i = 0; i < t->n_positions; i++) {
		const struct trace_position *p = &t->positions[i];
		struct trace_step ticked = {
		    .kind = STEP_TICKED, .at_ms = p->ticked_ms, .stream_id = p->id};
		struct trace_step published = {.kind = STEP_PUBLISHED,
		    .at_ms = published_ms(t, p),
		    .by = p->relay,
		    .trimmed = !p->published && trace_is_trimmed(t, p),
		    .stream_id = p->id};

		if (t->has_row)
			last_ms = add(v, ticked, before_ms);
		if (trace_is_published(t, p))
			last_ms = add(v, published, last_ms);
	}
	return last_ms;
}

/* A row that comes again raises the position of an inbox row, which keeps its times: what was
 * applied before that position's tick was applied from an earlier one. */
static int64_t republished_ms(const struct trace_consumer *c)
{
	bool raised = c->applied && c->applied_ms < stream_id_bigint(c->stream_id.ms);

	return raised ? TRACE_UNKNOWN : c->published_ms;
}

/* Consumers that got it from a later row of the same id tell that there is one. */
static void add_republished(const struct trace *t, struct trace_verdict *v)
{
	struct stream_id told = STREAM_ID_ZERO;

	for (size_t i = 0; t->has_row && i < t->n_consumers; i++) {
		const struct trace_consumer *c = &t->consumers[i];

		if (c->stream_id.seq <= (uint64_t)t->outbox_id ||
		    stream_id_compare(c->stream_id, told) == 0)
			continue;
		told = c->stream_id;
		add(v,
		    (struct trace_step){
			.kind = STEP_REPUBLISHED, .at_ms = republished_ms(c), .stream_id = told},
		    TRACE_UNKNOWN);
	}
}

bool trace_is_parked_as(const struct trace_consumer *c, const char *state)
{
	return c->parked && strcmp(c->parked, state) == 0;
}

enum trace_outcome trace_parked_outcome(const struct trace_consumer *c)
{
	if (trace_is_parked_as(c, "held"))
		return OUTCOME_HELD;
	return trace_is_parked_as(c, "failed") ? OUTCOME_FAILED : OUTCOME_RETRYING;
}

static enum trace_step_kind last_step(const struct trace_consumer *c)
{
	if (c->applied)
		return c->discarded ? STEP_DISCARDED : STEP_APPLIED;
	if (trace_parked_outcome(c) == OUTCOME_RETRYING)
		return STEP_RETRYING;
	return trace_parked_outcome(c) == OUTCOME_HELD ? STEP_HELD : STEP_FAILED;
}

static void add_consumer(const struct trace_consumer *c, struct trace_verdict *v, int64_t before_ms)
{
	struct trace_step delivered = {.kind = STEP_DELIVERED,
	    .at_ms = c->delivered_ms,
	    .by = c->instance,
	    .consumer = c->name,
	    .stream_id = c->stream_id};
	struct trace_step last = {.kind = last_step(c),
	    .at_ms = c->applied ? c->applied_ms : c->parked_ms,
	    .by = c->instance,
	    .consumer = c->name,
	    .xid = c->xid,
	    .stream_id = c->stream_id,
	    .reason = c->discarded,
	    .error = c->error,
	    .starts = c->starts,
	    .next_ms = c->next_ms};

	if (!c->applied && !c->parked)
		return;
	/* From an entry before the last one published: the way it took is not the one shown. */
	if (c->delivered_ms < before_ms)
		before_ms = TRACE_UNKNOWN;
	else if (c->published_ms != TRACE_UNKNOWN)
		before_ms = c->published_ms;
	add(v, last, add(v, delivered, before_ms));
}

void trace_tell_steps(const struct trace *t, struct trace_verdict *v)
{
	int64_t last_ms = TRACE_UNKNOWN;

	if (t->is_notification)
		last_ms = add(v,
		    (struct trace_step){.kind = STEP_RECEIVED, .at_ms = t->received_ms}, last_ms);
	if (t->is_notification || t->has_row)
		last_ms = add(v,
		    (struct trace_step){
			.kind = STEP_COMMITTED, .at_ms = t->committed_ms, .xid = t->xid},
		    last_ms);
	last_ms = add_positions(t, v, last_ms);
	add_republished(t, v);
	for (size_t i = 0; i < t->n_consumers; i++)
		add_consumer(&t->consumers[i], v, last_ms);
}
