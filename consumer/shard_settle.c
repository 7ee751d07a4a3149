#include "consumer/shard_private.h"

#include "common/lease.h"
#include "common/log.h"
#include "common/metric.h"
#include "consumer/batch.h"
#include "consumer/counters.h"
#include "consumer/position.h"
#include "consumer/progress.h"

/* A read that comes back empty has waited, and so makes a new look due; a busy shard looks as
 * often. */
#define LOOK_INTERVAL_US 1000000

#define AWAIT_MS 200
#define AWAIT_PACE_MS 60000

bool shard_settled(const struct shard *s)
{
	return s->looked_us != 0 && clock_mono_us() - s->looked_us < LOOK_INTERVAL_US;
}

void shard_unsettle(struct shard *s)
{
	s->looked_us = 0;
}

/* The order is position.h's.  The cursor's row is what the consumer has begun with: it is made
 * after the group, which keeps the stream from being trimmed. */
static int look(
    struct shard *s, struct standing *ret, struct stream_size *ret_size, struct err *err)
{
	if (feed_look_at_group(s->feed, ret, err) < 0)
		return -1;
	if (!ret->has_group)
		return 0;
	if (inbox_cursor(s->inbox, &ret->cursor, err) < 0)
		return -1;
	return feed_look_at_stream(s->feed, ret, ret_size, err);
}

/* The place of the cursor, and how many entries come after it that may be messages. */
static int64_t measure(struct shard *s, const struct stream_size *size)
{
	int64_t ahead = (int64_t)s->ahead.n, place;
	struct stream_id reached = ahead > 0 ? s->ahead.end : s->cursor;

	s->place = lag_place(size, s->cursor, s->place);
	place = lag_place(size, reached, s->place == LAG_UNKNOWN ? LAG_UNKNOWN : s->place + ahead);
	if (place != LAG_UNKNOWN)
		s->place = place - ahead;
	return lag_entries(size, reached, place);
}

static void adopt(struct shard *s, const struct standing *now, const struct stream_size *size)
{
	const struct counters *c = s->options->counters;
	int64_t lag;

	if (stream_id_compare(now->cursor, s->cursor) != 0) {
		failure_elsewhere(&s->failure);
		s->place = LAG_UNKNOWN;
		s->cursor = now->cursor;
		s->ahead.n = 0;
		s->counted = STREAM_ID_ZERO;
	}
	lag = measure(s, size);
	/* Messages may have come in their place: the next read begins at the cursor again. */
	s->ahead.n = 0;
	s->bookmark_behind = stream_id_compare(now->bookmark, s->cursor) < 0;
	s->looked_us = clock_mono_us();
	metric_set(c->lag_entries[s->n], (double)lag);
	if (lag == 0)
		metric_set(c->lag_seconds[s->n], 0);
}

/* What comes first is for the next look; here it only ends the wait. */
static int idle(struct shard *s, struct err *err)
{
	const struct counters *c = s->options->counters;
	int64_t block_ms = s->options->block_ms, due_ms = shard_retry_due_ms(s);
	struct batch *batch = NULL;

	metric_set(c->lag_entries[s->n], 0);
	metric_set(c->lag_seconds[s->n], 0);
	shard_get_on(s);
	if (due_ms < block_ms)
		block_ms = due_ms > 0 ? due_ms : 1;
	if (feed_read(s->feed, STREAM_ID_ZERO, 1, 0, block_ms, &batch, err) < 0)
		return -1;
	batch_free(batch);
	return 0;
}

static int restart(struct shard *s, const struct standing *now, struct err *err)
{
	char cursor[STREAM_ID_SIZE];
	bool there, moved;

	/* Bookmark first: set back after the cursor it would look like lost commits for a moment,
	 * and a crash would make that moment last. */
	if (feed_set_bookmark(s->feed, STREAM_ID_ZERO, LAG_UNKNOWN, &there, err) < 0)
		return -1;
	if (inbox_move_cursor(s->inbox, now->cursor, STREAM_ID_ZERO, &moved, err) < 0)
		return -1;
	if (!moved)
		return 0;
	metric_add(s->options->counters->resets, 1);
	log_warn("the relay does not know the cursor: reading the stream from its beginning",
	    lf_int("shard", s->n), lf_str("cursor", stream_id_format(now->cursor, cursor)));
	return 0;
}

static void tell_ask(const struct shard *s, const struct standing *now)
{
	char cursor[STREAM_ID_SIZE], bookmark[STREAM_ID_SIZE];
	bool lost = stream_id_compare(now->cursor, now->bookmark) < 0;

	log_warn(lost ? "the effects database has lost commits: asking the relay how to go on"
		      : "the stream lacks the entry at the cursor: asking the relay how to go on",
	    lf_int("shard", s->n), lf_str("cursor", stream_id_format(now->cursor, cursor)),
	    lf_str("bookmark", stream_id_format(now->bookmark, bookmark)));
}

static int ask(struct shard *s, const struct standing *now, struct stream_id at, struct err *err)
{
	bool moved = true;

	if (stream_id_compare(at, now->cursor) != 0 &&
	    inbox_move_cursor(s->inbox, now->cursor, at, &moved, err) < 0)
		return -1;
	if (!moved)
		return 0;
	if (feed_ask(s->feed, at, err) < 0)
		return -1;
	metric_add(s->options->counters->replays, 1);
	tell_ask(s, now);
	return 0;
}

/* A relay that comes to a stream which ends before the bookmark sets that back to the end.  There
 * it would hold back what is on its way to the cursor, until the stream is full and never gets
 * there.
 */
static int await(struct shard *s, const struct standing *now, struct err *err)
{
	static const char why[] = "waiting for the relay to say how the stream goes on";
	bool there;

	if (stream_id_compare(now->bookmark, now->cursor) < 0 &&
	    feed_set_bookmark(s->feed, now->cursor, LAG_UNKNOWN, &there, err) < 0)
		return -1;
	progress_stuck(s->options->progress, s->n, "%s", why);
	if (pace_due(&s->await_pace, clock_mono_us(), AWAIT_PACE_MS))
		log_warn(why, lf_int("shard", s->n));
	lease_wait(s->lease, AWAIT_MS);
	return 0;
}

static int jump(struct shard *s, const struct standing *now, struct stream_id to, struct err *err)
{
	char cursor[STREAM_ID_SIZE], start[STREAM_ID_SIZE];
	bool moved;

	if (inbox_move_cursor(s->inbox, now->cursor, to, &moved, err) < 0)
		return -1;
	if (moved)
		log_info("replay: everything after the cursor comes again from here",
		    lf_int("shard", s->n), lf_str("cursor", stream_id_format(now->cursor, cursor)),
		    lf_str("stream_id", stream_id_format(to, start)));
	return 0;
}

static int make_group(struct shard *s, struct err *err)
{
	if (feed_make_group(s->feed, err) < 0)
		return -1;
	log_info(
	    "bookmark made", lf_int("shard", s->n), lf_str("consumer", s->options->feed.consumer));
	return 0;
}

static int follow(
    struct shard *s, struct position position, const struct standing *now, struct err *err)
{
	switch (position.action) {
	case POSITION_READ:
		return 0;
	case POSITION_IDLE:
		return idle(s, err);
	case POSITION_MAKE_GROUP:
		return make_group(s, err);
	case POSITION_RESTART:
		return restart(s, now, err);
	case POSITION_ASK:
		return ask(s, now, position.at, err);
	case POSITION_AWAIT:
		return await(s, now, err);
	case POSITION_JUMP:
		return jump(s, now, position.at, err);
	case POSITION_FORGET:
		return feed_forget(s->feed, now->cursor, err);
	}
	return 0;
}

int shard_settle(struct shard *s, bool *ret_ready, struct err *err)
{
	struct standing now = {.has_group = false};
	struct stream_size size = {.added = LAG_UNKNOWN};
	struct position position;

	if (look(s, &now, &size, err) < 0)
		return -1;
	position = position_next(&now);
	if (follow(s, position, &now, err) < 0)
		return -1;
	*ret_ready = position.action == POSITION_READ;
	if (*ret_ready)
		adopt(s, &now, &size);
	return 0;
}
