#include "consumer/shard_private.h"

#include "common/event.h"
#include "common/failpoint.h"
#include "common/lease.h"
#include "common/log.h"
#include "common/metric.h"
#include "consumer/batch.h"
#include "consumer/counters.h"
#include "consumer/parked.h"
#include "consumer/progress.h"

#include <stdio.h>

#define BOOKMARK_INTERVAL_MS 100

int shard_bookmark(struct shard *s, struct err *err)
{
	bool there;

	if (!s->bookmark_behind)
		return 0;
	if (feed_set_bookmark(s->feed, s->cursor, s->place, &there, err) < 0)
		return -1;
	s->bookmark_behind = false;
	s->bookmark_us = clock_mono_us();
	if (!there)
		shard_unsettle(s);
	/* Durable: the effects, and the bookmark behind them. A restart finds both at one place. */
	return FAILPOINT_ERR("consumer.after_bookmark", err);
}

/* 0: now, or there is nothing to tell. */
static int64_t bookmark_due_ms(const struct shard *s)
{
	int64_t past_ms = (clock_mono_us() - s->bookmark_us) / 1000;

	return past_ms < BOOKMARK_INTERVAL_MS ? BOOKMARK_INTERVAL_MS - past_ms : 0;
}

static int64_t lesser(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* Reads wait no longer than until the bookmark is due, for an idle shard has told how far it is, or
 * something parked. */
static int64_t read_block_ms(const struct shard *s)
{
	int64_t block_ms = lesser(s->options->block_ms, shard_retry_due_ms(s));

	if (s->bookmark_behind)
		block_ms = lesser(block_ms, bookmark_due_ms(s));
	return block_ms > 0 ? block_ms : 1;
}

static double age_seconds(int64_t wall_ms)
{
	int64_t age_ms = clock_wall_ms() - wall_ms;

	return age_ms > 0 ? (double)age_ms / 1000 : 0;
}

/* Which of a batch had been applied before is not told: those would count from their first receipt.
 */
static void observe_end_to_end(const struct counters *c, const struct batch *batch)
{
	int64_t received_at;

	for (size_t i = 0; i < batch->n; i++)
		if (batch_received_at(&batch->events[i], &received_at))
			metric_observe(c->end_to_end, age_seconds(received_at));
}

static void count(
    const struct counters *c, const struct batch *batch, const struct inbox_outcome *outcome)
{
	metric_add(c->applied, (double)outcome->applied);
	metric_add(c->held, (double)outcome->held);
	metric_add(c->duplicate, (double)(batch->n - outcome->applied - outcome->held));
	metric_observe(c->batch_size, (double)batch->n);
	if (outcome->applied == batch->n)
		observe_end_to_end(c, batch);
}

void shard_get_on(struct shard *s)
{
	if (s->errors > 0)
		log_info("shard goes on", lf_int("shard", s->n), lf_int("attempt", s->errors));
	s->errors = 0;
	progress_ok(s->options->progress, s->n);
}

/* The cursor is behind the batch now, whatever became of it. */
static void passed(struct shard *s, const struct batch *batch)
{
	s->cursor = batch->last;
	if (s->place != LAG_UNKNOWN)
		s->place += (int64_t)(batch->n + batch->foreign);
	s->bookmark_behind = true;
	s->ahead.n = batch->behind;
	s->ahead.end = batch->end;
	failure_over(&s->failure, s->cursor);
	shard_get_on(s);
}

static void moved_by_another(struct shard *s)
{
	log_debug("the cursor was moved by another", lf_int("shard", s->n));
	shard_unsettle(s);
	shard_get_on(s);
}

/* Park the message that failed: the shard goes on behind it. */
static int park(struct shard *s, const struct batch *batch, const struct parking *parking,
    const struct err *why, struct err *err)
{
	const struct counters *c = s->options->counters;
	bool moved;

	if (parked_add(s->inbox, s->cursor, batch, parking, why, &moved, err) < 0)
		return err_wrap(err, "park %s/%s", batch->events[0].field[EVENT_SOURCE].s,
		    batch->events[0].field[EVENT_ID].s);
	if (!moved) {
		moved_by_another(s);
		return 0;
	}
	metric_add(parking->state == PARKED_FAILED ? c->failed : c->parked, 1);
	shard_tell_parked(s, &batch->events[0], parking, why);
	shard_retry_soon(s);
	passed(s, batch);
	return 0;
}

/* Nothing of the batch is applied, or all of it (a COMMIT whose answer was lost): look again. */
static int not_applied(
    struct shard *s, const struct batch *batch, const struct err *why, struct err *err)
{
	struct failure_plan plan = failure_next(&s->failure, inbox_failure(s->inbox, why), batch->n,
	    batch->last, &s->options->failure, &s->rng);

	if (plan.action == FAILURE_PARK)
		return park(s, batch, &plan.parking, why, err);
	shard_tell_plan(s, batch, plan, why);
	shard_unsettle(s);
	if (inbox_broken(s->inbox)) {
		if (batch->n == 1)
			shard_note_end(s, batch->events[0].stream_id, why);
		*err = *why;
		err->kind = ERR_RETRY; /* whatever it said, it was this session's end only */
		return -1;
	}
	if (shard_bookmark(s, err) < 0)
		return -1;
	lease_wait(s->lease, plan.wait_ms);
	return 0;
}

/* It was started as often as a message may be, and each time took its session or process along. */
static int give_up(struct shard *s, const struct batch *batch, struct err *err)
{
	unsigned starts = s->options->failure.max_attempts;
	const struct parking parking = {.state = PARKED_FAILED, .starts = starts};
	struct err why = ERR_INIT;
	char during[40];

	snprintf(during, sizeof(during), "each of %u starts", starts);
	shard_why_ended(s, batch->events[0].stream_id, during, &why);
	return park(s, batch, &parking, &why, err);
}

/* *ret_go false: everything has been done about it. */
static int count_start(struct shard *s, const struct batch *batch, bool *ret_go, struct err *err)
{
	const struct failure_policy *policy = &s->options->failure;
	unsigned starts = 0;
	bool moved;

	*ret_go = true;
	if (!failure_counts(&s->failure, batch->n))
		return 0;
	if (inbox_start(s->inbox, s->cursor, batch->events[0].stream_id, policy->max_attempts,
		&starts, &moved, err) < 0)
		return -1;
	*ret_go = moved && failure_started(&s->failure, starts, policy);
	if (!moved)
		moved_by_another(s);
	else if (!*ret_go)
		return give_up(s, batch, err);
	return 0;
}

static int apply(struct shard *s, const struct batch *batch, struct err *err)
{
	int64_t start_us = clock_mono_us();
	struct err why = ERR_INIT;
	struct inbox_outcome outcome;
	bool go;

	if (count_start(s, batch, &go, err) < 0)
		return -1;
	if (!go)
		return 0;
	if (inbox_apply(s->inbox, s->cursor, batch, &outcome, &why) < 0)
		return not_applied(s, batch, &why, err);
	metric_observe(s->options->counters->apply, (double)(clock_mono_us() - start_us) / 1e6);
	if (!outcome.moved) {
		moved_by_another(s);
		return 0;
	}
	count(s->options->counters, batch, &outcome);
	passed(s, batch);
	return 0;
}

int shard_step(struct shard *s, struct err *err)
{
	struct batch *batch = NULL;
	int rc = -1;

	if (s->bookmark_behind && bookmark_due_ms(s) == 0 && shard_bookmark(s, err) < 0)
		goto done;
	if (shard_read(s, read_block_ms(s), &batch, err) < 0)
		goto done;
	if (!batch) {
		shard_get_on(s);
		rc = 0;
		goto done;
	}
	if (batch->n > 0)
		metric_set(s->options->counters->lag_seconds[s->n],
		    age_seconds((int64_t)batch->events[0].stream_id.ms));
	/* Durable: what was before. A restart reads the same entries from the cursor. */
	if (FAILPOINT_ERR("consumer.after_read", err) < 0)
		goto done;
	rc = failure_divides(&s->failure, batch->n, batch->last) ? 0 : apply(s, batch, err);
done:
	batch_free(batch);
	return rc;
}
