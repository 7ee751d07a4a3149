#include "consumer/shard_private.h"

#include "common/lease.h"
#include "common/log.h"
#include "common/metric.h"
#include "consumer/counters.h"
#include "consumer/parked.h"
#include "consumer/progress.h"

#include <stdio.h>

/* How long parked messages may keep the stream waiting before its turn comes again. */
#define TURN_US 20000

/* How soon an operator's mark is seen. */
#define LOOK_INTERVAL_MS 1000

/* Dead letters are counted this often, since marks change them too; and so soon after something
 * else did, however much is being released: there may be very many of them. */
#define COUNT_INTERVAL_US 5000000
#define COUNT_SOON_US 500000

static void count_soon(struct shard *s)
{
	int64_t soon_us = clock_mono_us() + COUNT_SOON_US;

	if (s->count_us > soon_us)
		s->count_us = soon_us;
}

void shard_retry_soon(struct shard *s)
{
	s->parked_us = 0;
	count_soon(s);
}

int64_t shard_retry_due_ms(const struct shard *s)
{
	int64_t left_us = s->parked_us - clock_mono_us();

	return left_us > 0 ? left_us / 1000 + 1 : 0;
}

static void show_failed(struct shard *s, int64_t n)
{
	progress_failed(s->options->progress, s->n, n);
	metric_add(s->options->counters->dead_letters, (double)(n - s->failed));
	s->failed = n;
}

void shard_retry_leave(struct shard *s)
{
	show_failed(s, 0);
}

static int count_failed(struct shard *s, struct err *err)
{
	int64_t now_us = clock_mono_us(), n;

	if (now_us < s->count_us)
		return 0;
	if (parked_failed(s->inbox, &n, err) < 0)
		return -1;
	show_failed(s, n);
	s->count_us = now_us + COUNT_INTERVAL_US;
	return 0;
}

static int fail(struct shard *s, const struct parked *p, const struct err *why, struct err *err)
{
	const struct counters *c = s->options->counters;
	struct parking parking = failure_parking(p->starts, &s->options->failure, &s->rng);
	bool moved;

	if (parked_fail(s->inbox, p, &parking, why, &moved, err) < 0)
		return -1;
	if (!moved)
		return 0;
	metric_add(c->retry_failed, 1);
	if (parking.state == PARKED_FAILED)
		metric_add(c->failed, 1);
	shard_tell_retried(s, p, &parking, why);
	return 0;
}

static int give_up(struct shard *s, const struct parked *p, struct err *err)
{
	struct err why = ERR_INIT;
	char during[40];

	snprintf(during, sizeof(during), "start %u", p->starts);
	shard_why_ended(s, p->stream_id, during, &why);
	return fail(s, p, &why, err);
}

static int release(struct shard *s, const struct parked *p, struct err *err)
{
	const struct counters *c = s->options->counters;
	bool discarded = p->state == PARKED_DISCARD, moved;
	struct err why = ERR_INIT;

	if (parked_release(s->inbox, p, &moved, &why) < 0) {
		if (!inbox_broken(s->inbox))
			return fail(s, p, &why, err);
		shard_note_end(s, p->stream_id, &why);
		*err = why;
		err->kind = ERR_RETRY; /* whatever it said, it was this session's end only */
		return -1;
	}
	if (!moved)
		return 0;
	metric_add(discarded ? c->retry_discarded : c->retry_applied, 1);
	log_info(discarded ? "parked message discarded" : "parked message applied",
	    lf_int("shard", s->n), lf_str("source", p->source), lf_str("message_id", p->message_id),
	    lf_str("subject", p->subject), lf_int("attempt", p->starts));
	return 0;
}

static int start(struct shard *s, struct parked *p, struct err *err)
{
	struct parking unheard = failure_parking(p->starts + 1, &s->options->failure, &s->rng);
	bool moved;

	if (parked_start(s->inbox, p, unheard.wait_ms, &moved, err) < 0)
		return -1;
	return moved ? release(s, p, err) : 0;
}

static int turn_to(struct shard *s, struct parked *p, struct err *err)
{
	switch (failure_due(p->state, p->starts, &s->options->failure)) {
	case DUE_START:
		return start(s, p, err);
	case DUE_GIVE_UP:
		return give_up(s, p, err);
	case DUE_DISCARD:
		return release(s, p, err);
	}
	return 0;
}

/* The first one that is due; there may be none, and then it is known when to look again. */
static int turn_to_next(struct shard *s, struct err *err)
{
	struct parked p = {.source = NULL};
	int rc = -1;

	if (parked_next(s->inbox, &p, err) < 0)
		goto done;
	if (!p.source || p.wait_ms > 0) {
		int64_t wait_ms =
		    p.source && p.wait_ms < LOOK_INTERVAL_MS ? p.wait_ms : LOOK_INTERVAL_MS;

		s->parked_us = clock_mono_us() + wait_ms * 1000;
		rc = 0;
		goto done;
	}
	count_soon(s);
	rc = turn_to(s, &p, err);
done:
	parked_done(&p);
	return rc;
}

int shard_retry(struct shard *s, struct err *err)
{
	int64_t end_us = clock_mono_us() + TURN_US;

	while (
	    clock_mono_us() >= s->parked_us && clock_mono_us() < end_us && !lease_lost(s->lease)) {
		if (turn_to_next(s, err) < 0)
			return -1;
	}
	return count_failed(s, err);
}
