#include "consumer/shard_private.h"

#include "common/failpoint.h"
#include "common/lease.h"
#include "common/log.h"
#include "common/metric.h"
#include "consumer/batch.h"
#include "consumer/counters.h"
#include "consumer/progress.h"

#define BOOKMARK_INTERVAL_MS 100
#define LOG_PACE_MS 60000

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

/* Reads wait no longer than until the bookmark is due: an idle shard has told how far it is. */
static int64_t read_block_ms(const struct shard *s)
{
	int64_t due_ms = s->bookmark_behind ? bookmark_due_ms(s) + 1 : s->options->block_ms;

	return due_ms < s->options->block_ms ? due_ms : s->options->block_ms;
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

static void count(const struct counters *c, const struct batch *batch, size_t applied)
{
	metric_add(c->applied, (double)applied);
	metric_add(c->duplicate, (double)(batch->n - applied));
	metric_add(c->malformed, (double)batch->foreign);
	metric_observe(c->batch_size, (double)batch->n);
	if (applied == batch->n)
		observe_end_to_end(c, batch);
}

static void tell_foreign(struct shard *s, const struct batch *batch)
{
	char id[STREAM_ID_SIZE];

	s->foreign += batch->foreign;
	if (s->foreign == 0 || !pace_due(&s->foreign_pace, clock_mono_us(), LOG_PACE_MS))
		return;
	if (batch->foreign > 0)
		log_warn("passed over entries that are no messages", lf_int("shard", s->n),
		    lf_int("count", (int64_t)s->foreign),
		    lf_str("stream_id", stream_id_format(batch->foreign_at, id)),
		    lf_str("reason", batch->foreign_why));
	else
		log_warn("passed over entries that are no messages", lf_int("shard", s->n),
		    lf_int("count", (int64_t)s->foreign));
	s->foreign = 0;
}

void shard_get_on(struct shard *s)
{
	if (s->errors > 0)
		log_info("shard goes on", lf_int("shard", s->n), lf_int("attempt", s->errors));
	s->errors = 0;
	progress_ok(s->options->progress, s->n);
}

static void passed(struct shard *s, const struct batch *batch, size_t applied)
{
	s->cursor = batch->last;
	if (s->place != LAG_UNKNOWN)
		s->place += (int64_t)(batch->n + batch->foreign);
	s->bookmark_behind = true;
	failure_over(&s->failure, s->cursor);
	count(s->options->counters, batch, applied);
	tell_foreign(s, batch);
	shard_get_on(s);
}

/* At once when a message begins to fail, then once a minute. */
static void tell_failure(
    struct shard *s, const struct event *event, struct failure_plan plan, const struct err *err)
{
	char id[STREAM_ID_SIZE];

	progress_stuck(s->options->progress, s->n, "message %s/%s is not applied: %s",
	    event->field[EVENT_SOURCE].s, event->field[EVENT_ID].s, err->message);
	if (stream_id_compare(event->stream_id, s->failing) != 0) {
		s->failing = event->stream_id;
		s->failing_pace = (struct pace){0};
	}
	if (!pace_due(&s->failing_pace, clock_mono_us(), LOG_PACE_MS))
		return;
	LOG_AT(plan.action == FAILURE_MESSAGE_AGAIN ? LOG_ERROR : LOG_WARN,
	    "message not applied, will try again", lf_int("shard", s->n),
	    lf_str("stream_id", stream_id_format(event->stream_id, id)),
	    lf_str("source", event->field[EVENT_SOURCE].s),
	    lf_str("message_id", event->field[EVENT_ID].s), lf_int("attempt", plan.attempt),
	    lf_int("retry_ms", plan.wait_ms), lf_str("sqlstate", err->sqlstate), lf_err(err),
	    lf_end());
}

static void tell_plan(
    struct shard *s, const struct batch *batch, struct failure_plan plan, const struct err *err)
{
	if (batch->n == 1) {
		if (plan.action == FAILURE_MESSAGE_AGAIN)
			metric_add(s->options->counters->failed, 1);
		tell_failure(s, &batch->events[0], plan, err);
		return;
	}
	progress_stuck(s->options->progress, s->n, "%s", err->message);
	if (!pace_due(&s->alone_pace, clock_mono_us(), LOG_PACE_MS))
		return;
	log_warn(plan.action == FAILURE_ONE_BY_ONE ? "batch not applied, going on one by one"
						   : "batch not applied, will try again",
	    lf_int("shard", s->n), lf_int("messages", (int64_t)batch->n),
	    lf_int("attempt", plan.attempt), lf_str("sqlstate", err->sqlstate), lf_err(err));
}

/* Nothing of the batch is applied, or all of it (a COMMIT whose answer was lost): look again. */
static int not_applied(
    struct shard *s, const struct batch *batch, const struct err *cause, struct err *err)
{
	struct failure_plan plan = failure_next(&s->failure, inbox_failure(s->inbox, cause),
	    batch->n, batch->last, &s->options->failure, &s->rng);

	tell_plan(s, batch, plan, cause);
	shard_unsettle(s);
	if (inbox_broken(s->inbox)) {
		*err = *cause;
		err->kind = ERR_RETRY; /* whatever it said, it was this session's end only */
		return -1;
	}
	if (shard_bookmark(s, err) < 0)
		return -1;
	lease_wait(s->lease, plan.wait_ms);
	return 0;
}

static int apply(struct shard *s, const struct batch *batch, struct err *err)
{
	int64_t start_us = clock_mono_us();
	struct err cause = ERR_INIT;
	struct inbox_outcome outcome;

	if (inbox_apply(s->inbox, s->cursor, batch, &outcome, &cause) < 0)
		return not_applied(s, batch, &cause, err);
	metric_observe(s->options->counters->apply, (double)(clock_mono_us() - start_us) / 1e6);
	if (!outcome.moved) {
		log_debug("the cursor was moved by another", lf_int("shard", s->n));
		shard_unsettle(s);
		shard_get_on(s);
		return 0;
	}
	passed(s, batch, outcome.applied);
	return 0;
}

int shard_step(struct shard *s, struct err *err)
{
	int64_t count_max = failure_alone(&s->failure) ? 1 : s->options->batch;
	struct batch *batch = NULL;
	int rc = -1;

	if (s->bookmark_behind && bookmark_due_ms(s) == 0 && shard_bookmark(s, err) < 0)
		goto done;
	if (feed_read(s->feed, s->cursor, count_max, read_block_ms(s), &batch, err) < 0)
		goto done;
	if (!batch) {
		shard_get_on(s);
		rc = 0;
		goto done;
	}
	metric_set(s->options->counters->lag_seconds[s->n], age_seconds((int64_t)batch->first.ms));
	/* Durable: what was before. A restart reads the same entries from the cursor. */
	if (FAILPOINT_ERR("consumer.after_read", err) < 0)
		goto done;
	rc = apply(s, batch, err);
done:
	batch_free(batch);
	return rc;
}
