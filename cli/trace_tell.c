#include "cli/backlog.h"
#include "cli/trace_private.h"
#include "common/clock.h"
#include "common/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *trace_outcome_name(enum trace_outcome outcome)
{
	static const char *const names[] = {
	    [OUTCOME_APPLIED] = "applied",
	    [OUTCOME_PENDING] = "pending",
	    [OUTCOME_RETRYING] = "retrying",
	    [OUTCOME_HELD] = "held",
	    [OUTCOME_FAILED] = "failed",
	    [OUTCOME_QUARANTINED] = "quarantined",
	    [OUTCOME_MISSED] = "missed",
	    [OUTCOME_LOST] = "lost",
	    [OUTCOME_UNPUBLISHED] = "unpublished",
	    [OUTCOME_DISCARDED] = "discarded",
	    [OUTCOME_FORGOTTEN] = "forgotten",
	};
	return names[outcome];
}

void trace_verdict_done(struct trace_verdict *v)
{
	free(v->steps);
	free(v->standings);
	free(v->stuck);
	*v = (struct trace_verdict){0};
}

/* A message that waits for a moment needs nobody's look. */
#define ASK_IT "; if that lasts, its log and its /readyz say why"

static size_t count_published(const struct trace *t)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n_positions; i++)
		n += trace_is_published(t, &t->positions[i]);
	return n;
}

static char *why_unticked(const struct trace *t)
{
	if (!t->relay)
		return mem_printf("not ticked: no relay holds shard %u", t->shard);
	if (t->last_tick_ms == TRACE_UNKNOWN)
		return mem_printf(
		    "not ticked: shard %u has no ticks: run umavez migrate", t->shard);
	return mem_printf(
	    "not ticked: the relay %s holds shard %u and cut its last tick %.1f s ago" ASK_IT,
	    t->relay, t->shard, (double)(t->now_ms - t->last_tick_ms) / 1000);
}

static char *why_unpublished(const struct trace *t)
{
	const struct trace_position *p = &t->positions[t->n_positions - 1];
	char id[STREAM_ID_SIZE], last[STREAM_ID_SIZE];

	stream_id_format(p->id, id);
	if (!t->stream_known)
		return mem_printf("ticked as %s; whether it is in the stream cannot be said: %s",
		    id, t->stream_problem);
	if (stream_id_compare(p->id, t->stream.last) <= 0)
		return mem_printf("the stream of shard %u has passed %s without it", t->shard, id);
	stream_id_format(t->stream.last, last);
	if (!t->relay)
		return mem_printf(
		    "ticked as %s, not published: no relay holds shard %u", id, t->shard);
	return mem_printf(
	    "ticked as %s, not published: the relay %s has got to %s" ASK_IT, id, t->relay, last);
}

/* Outbox rows go when every group has acknowledged them, and inbox rows after their own time: an
 * old notification that was applied looks just like this. */
static enum trace_outcome judge_not_kept(const struct trace *t, char **ret_stuck)
{
	if (t->is_notification) {
		*ret_stuck =
		    mem_strdup("every group had acknowledged it when retention dropped its "
			       "outbox row, and no inbox has it (any more)");
		return OUTCOME_FORGOTTEN;
	}
	*ret_stuck = mem_strdup("no outbox has it, and no inbox: another database published it, or "
				"this one lost its commit");
	return OUTCOME_UNPUBLISHED;
}

static char *why_unapplied(const struct trace *t, const struct trace_consumer *c)
{
	struct stream_id position = t->positions[t->n_positions - 1].id;
	char lag[48] = "", cursor[STREAM_ID_SIZE];

	if (c->has_cursor && stream_id_compare(c->cursor, position) >= 0)
		return mem_printf(
		    "the cursor of %s is at %s, past it, but its inbox does not have it", c->name,
		    stream_id_format(c->cursor, cursor));
	if (c->lag_entries != BACKLOG_UNKNOWN)
		snprintf(lag, sizeof(lag), " lag %" PRId64 " %s,", c->lag_entries,
		    print_plural(c->lag_entries, "entry", "entries"));
	if (!c->holder)
		return mem_printf(
		    "published, the consumer %s has not got to it:%s nobody holds the lease",
		    c->name, lag);
	return mem_printf(
	    "published, the consumer %s has not got to it:%s %s holds the lease" ASK_IT, c->name,
	    lag, c->holder);
}

/* As `umavez reconcile` judges it; FATE_WAITING says only that the cursor is not past it. */
static enum trace_outcome fate_outcome(enum fate fate)
{
	switch (fate) {
	case FATE_LOST:
		return OUTCOME_LOST;
	case FATE_EARLY:
		return OUTCOME_MISSED;
	case FATE_PURGED:
	case FATE_UNRETAINED:
		return OUTCOME_FORGOTTEN;
	default:
		return OUTCOME_PENDING;
	}
}

/*
 * A consumer without a cursor, or with one of 0-0, begins where the stream does.  Only one that
 * stopped in front of the position asks for what was trimmed.
 */
static enum trace_outcome standing(const struct trace *t, const struct trace_consumer *c)
{
	const struct trace_position *last =
	    t->n_positions ? &t->positions[t->n_positions - 1] : NULL;

	if (c->applied)
		return c->discarded ? OUTCOME_DISCARDED : OUTCOME_APPLIED;
	if (c->parked)
		return trace_parked_outcome(c);
	bool begins = !c->has_cursor || stream_id_compare(c->cursor, STREAM_ID_ZERO) == 0;
	if (c->fate == FATE_WAITING && begins && last && trace_is_trimmed(t, last))
		return OUTCOME_MISSED;
	return fate_outcome(c->fate);
}

/* NULL: no consumer stands so. */
static const struct trace_consumer *first_with(const struct trace *t, enum trace_outcome outcome)
{
	for (size_t i = 0; i < t->n_consumers; i++) {
		if (standing(t, &t->consumers[i]) == outcome)
			return &t->consumers[i];
	}
	return NULL;
}

static char *why_missed(const struct trace_consumer *c)
{
	return mem_printf("the consumer %s began after it was trimmed from the stream and will not "
			  "apply it",
	    c->name);
}

static char *why_lost(const struct trace_consumer *c)
{
	char cursor[STREAM_ID_SIZE];

	return mem_printf("the cursor of %s is at %s, past it, but its inbox does not have it; "
			  "umavez republish tells it again",
	    c->name, stream_id_format(c->cursor, cursor));
}

static char *why_failed(const struct trace_consumer *c)
{
	return mem_printf("for %s after %" PRId64 " %s: %s; see umavez dead-letter", c->name,
	    c->starts, print_plural(c->starts, "start", "starts"),
	    c->error ? c->error : "no error is known");
}

static char *why_held(const struct trace_consumer *c)
{
	return mem_printf("for %s behind %s, which is %s%s%s", c->name, c->ahead ? c->ahead : "?",
	    c->ahead_state ? c->ahead_state : "gone", c->ahead_error ? ": " : "",
	    c->ahead_error ? c->ahead_error : "");
}

static char *why_retrying(const struct trace_consumer *c)
{
	char next[CLOCK_RFC3339_SIZE] = "?";

	if (!trace_is_parked_as(c, "retrying"))
		return mem_printf("marked by an operator for %s: %s%s%s%s", c->name, c->parked,
		    c->remark ? " (" : "", c->remark ? c->remark : "", c->remark ? ")" : "");
	if (!c->error)
		return mem_printf("it was held for %s, and its turn has come", c->name);
	if (c->next_ms != TRACE_UNKNOWN)
		clock_rfc3339(c->next_ms, next);
	return mem_printf("the handler of %s fails: %s; started %" PRId64 " %s, again at %s",
	    c->name, c->error, c->starts, print_plural(c->starts, "time", "times"), next);
}

/* Trouble that some consumer has with it, the worst first: it is told before another's delay. */
static bool judge_trouble(const struct trace *t, enum trace_outcome *ret_outcome, char **ret_stuck)
{
	static const struct {
		enum trace_outcome outcome;
		char *(*why)(const struct trace_consumer *c);
	} troubles[] = {{OUTCOME_LOST, why_lost}, {OUTCOME_FAILED, why_failed},
	    {OUTCOME_RETRYING, why_retrying}, {OUTCOME_HELD, why_held}};

	for (size_t i = 0; i < sizeof(troubles) / sizeof(troubles[0]); i++) {
		const struct trace_consumer *c = first_with(t, troubles[i].outcome);

		if (!c)
			continue;
		*ret_outcome = troubles[i].outcome;
		*ret_stuck = troubles[i].why(c);
		return true;
	}
	return false;
}

/* Nobody waits for it any more: some may have passed over it. */
static enum trace_outcome judge_done(const struct trace *t, char **ret_stuck)
{
	const struct trace_consumer *discarded = first_with(t, OUTCOME_DISCARDED);

	if (discarded) {
		*ret_stuck = mem_printf("for %s: %s", discarded->name, discarded->discarded);
		return OUTCOME_DISCARDED;
	}
	if (first_with(t, OUTCOME_APPLIED))
		return OUTCOME_APPLIED;
	const struct trace_consumer *missed = first_with(t, OUTCOME_MISSED);
	if (missed) {
		*ret_stuck = why_missed(missed);
		return OUTCOME_MISSED;
	}
	*ret_stuck = mem_printf("the cursor of %s is past it, and retention or a purge has removed "
				"what would tell whether it was applied",
	    first_with(t, OUTCOME_FORGOTTEN)->name);
	return OUTCOME_FORGOTTEN;
}

static enum trace_outcome judge(const struct trace *t, char **ret_stuck)
{
	const struct trace_consumer *waiting = first_with(t, OUTCOME_PENDING);
	enum trace_outcome trouble;

	if (t->is_quarantined) {
		*ret_stuck = mem_strdup(t->remark ? t->remark : "not understood");
		return OUTCOME_QUARANTINED;
	}
	if (judge_trouble(t, &trouble, ret_stuck))
		return trouble;
	if (!waiting && t->n_consumers > 0)
		return judge_done(t, ret_stuck);
	if (t->n_positions == 0 && !t->has_row)
		return judge_not_kept(t, ret_stuck);
	if (t->n_positions == 0) {
		*ret_stuck = why_unticked(t);
		return OUTCOME_UNPUBLISHED;
	}
	if (count_published(t) == 0) {
		*ret_stuck = why_unpublished(t);
		return OUTCOME_UNPUBLISHED;
	}
	*ret_stuck = waiting ? why_unapplied(t, waiting)
			     : mem_printf("published, no consumer has read shard %u yet", t->shard);
	return OUTCOME_PENDING;
}

void trace_tell(const struct trace *t, struct trace_verdict *ret_verdict)
{
	*ret_verdict = (struct trace_verdict){0};
	trace_tell_steps(t, ret_verdict);
	ret_verdict->standings = mem_zalloc(t->n_consumers, sizeof(*ret_verdict->standings));
	for (size_t i = 0; i < t->n_consumers; i++)
		ret_verdict->standings[i] = standing(t, &t->consumers[i]);
	ret_verdict->outcome = judge(t, &ret_verdict->stuck);
}
