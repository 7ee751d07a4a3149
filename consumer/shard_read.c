/*
 * What a shard reads next, among entries that are no messages of ours.
 *
 * The cursor moves to messages.  What comes below a message was there before it was published, but
 * of somebody else's entry nothing of the kind is known: Redis may lose it, and the relay, which
 * has not seen it, publishes a row under its ID or a lower one.  So such entries are waited behind,
 * and read again with the message that comes, in one command, which tells what stands there now.
 */
#include "common/log.h"
#include "common/metric.h"
#include "consumer/batch.h"
#include "consumer/counters.h"
#include "consumer/shard_private.h"

/* Each look reads as many again, and so does the next message.  Beyond that the oldest are passed:
 * to do harm there, Redis must lose more than these, and no message of ours. */
#define AHEAD_MAX 1000

#define LOG_PACE_MS 60000

static void tell(struct shard *s, const struct batch *batch)
{
	static const char what[] = "passed over entries that are no messages";
	int64_t n = tally_take(&s->foreign, clock_mono_us(), LOG_PACE_MS);
	char id[STREAM_ID_SIZE];

	if (n == 0)
		return;
	if (batch->foreign_why)
		log_warn(what, lf_int("shard", s->n), lf_int("count", n),
		    lf_str("stream_id", stream_id_format(batch->foreign_at, id)),
		    lf_str("reason", batch->foreign_why));
	else
		log_warn(what, lf_int("shard", s->n), lf_int("count", n));
}

/* Each entry once, however often it is read. */
static void count(struct shard *s, const struct batch *batch)
{
	size_t more = batch->foreign_why ? batch_foreign_after(batch, s->counted) : 0;

	if (stream_id_compare(s->counted, batch->end) < 0)
		s->counted = batch->end;
	s->foreign.n += (int64_t)more;
	metric_add(s->options->counters->malformed, (double)more);
	tell(s, batch);
}

/* The batch came directly behind what is ahead, and has no messages either. */
static void extend(struct shard *s, const struct batch *batch)
{
	s->ahead.n += batch->behind;
	s->ahead.end = batch->end;
	count(s, batch);
}

/* *ret_beside: how many entries stand before the first message; 0: none has come. */
static int await_message(struct shard *s, int64_t block_ms, size_t *ret_beside, struct err *err)
{
	struct batch *batch = NULL;

	*ret_beside = 0;
	if (feed_read(s->feed, s->ahead.end, s->options->batch, 0, block_ms, &batch, err) < 0)
		return -1;
	if (batch && batch->n > 0)
		*ret_beside = s->ahead.n + batch->foreign;
	else if (batch)
		extend(s, batch);
	batch_free(batch);
	return 0;
}

static int read_at_cursor(
    struct shard *s, size_t beside, int64_t block_ms, struct batch **ret_batch, struct err *err)
{
	int64_t most = failure_alone(&s->failure) ? 1 : s->options->batch;

	s->ahead.n = 0;
	return feed_read(s->feed, s->cursor, most, (int64_t)beside, block_ms, ret_batch, err);
}

static int pass_oldest(struct shard *s, struct batch **ret_batch, struct err *err)
{
	char id[STREAM_ID_SIZE];

	if (read_at_cursor(s, 0, 1, ret_batch, err) < 0)
		return -1;
	if (!*ret_batch || (*ret_batch)->n > 0)
		return 0;
	batch_pass_all(*ret_batch);
	if (pace_due(&s->limit_pace, clock_mono_us(), LOG_PACE_MS))
		log_warn("too many entries in a row that are no messages: the cursor passes the "
			 "oldest",
		    lf_int("shard", s->n), lf_int("count", AHEAD_MAX),
		    lf_str("stream_id", stream_id_format((*ret_batch)->last, id)));
	return 0;
}

static int read_on(struct shard *s, int64_t block_ms, struct batch **ret_batch, struct err *err)
{
	size_t beside;

	if (s->ahead.n >= AHEAD_MAX)
		return pass_oldest(s, ret_batch, err);
	if (s->ahead.n == 0)
		return read_at_cursor(s, 0, block_ms, ret_batch, err);
	if (await_message(s, block_ms, &beside, err) < 0)
		return -1;
	return beside > 0 ? read_at_cursor(s, beside, 1, ret_batch, err) : 0;
}

int shard_read(struct shard *s, int64_t block_ms, struct batch **ret_batch, struct err *err)
{
	struct batch *batch = NULL;

	if (read_on(s, block_ms, &batch, err) < 0)
		return -1;
	if (batch && stream_id_compare(batch->last, STREAM_ID_ZERO) == 0) {
		extend(s, batch);
		batch_free(batch);
		batch = NULL;
	} else if (batch) {
		count(s, batch);
	}
	*ret_batch = batch;
	return 0;
}
