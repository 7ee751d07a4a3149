#include "consumer/shard.h"

#include "common/lease.h"
#include "common/log.h"
#include "common/metric.h"
#include "common/reach.h"
#include "common/service.h"
#include "consumer/counters.h"
#include "consumer/progress.h"
#include "consumer/shard_private.h"

#define RECONNECT_MIN_MS 100
#define RECONNECT_MAX_MS 5000
#define ERROR_PACE_MS 10000

static int connect_both(struct shard *s, struct err *err)
{
	if (feed_open(&s->options->feed, s->n, &s->feed, err) < 0)
		return -1;
	return inbox_open(&s->options->inbox, s->n, &s->inbox, err);
}

static void disconnect_both(struct shard *s)
{
	feed_close(s->feed);
	s->feed = NULL;
	inbox_close(s->inbox);
	s->inbox = NULL;
	shard_unsettle(s);
	s->bookmark_behind = false;
	s->place = LAG_UNKNOWN;
	s->ahead.n = 0;
}

static int work(struct shard *s, struct err *err)
{
	bool ready = false;
	int rc = -1;

	if (connect_both(s, err) < 0)
		goto done;
	while (!lease_lost(s->lease)) {
		/* What is parked needs no stream: it came before the cursor, wherever that is. */
		if (shard_retry(s, err) < 0)
			goto done;
		if (!shard_settled(s)) {
			if (shard_settle(s, &ready, err) < 0)
				goto done;
			reach_answered(s->options->reach);
			if (!ready)
				continue;
		}
		if (shard_step(s, err) < 0)
			goto done;
	}
	/* Without this the successor's bookmark would only be set by its own first batch. */
	rc = shard_bookmark(s, err);
done:
	if (rc < 0 && (!s->feed || feed_broken(s->feed)))
		reach_lost(s->options->reach);
	disconnect_both(s);
	return rc;
}

static void rest(struct shard *s, const struct err *err)
{
	int64_t wait_ms = backoff_ms(s->errors, RECONNECT_MIN_MS, RECONNECT_MAX_MS, &s->rng);

	progress_stuck(s->options->progress, s->n, "%s", err->message);
	if (err->kind != ERR_RETRY && err->kind != ERR_REJECT)
		service_fail(err);
	else if (pace_due(&s->error_pace, clock_mono_us(), ERROR_PACE_MS))
		log_warn("shard interrupted, will try again", lf_int("shard", s->n), lf_err(err),
		    lf_int("attempt", s->errors + 1));
	s->errors++;
	lease_wait(s->lease, wait_ms);
}

static void init(struct shard *s, struct lease *lease, const struct shard_options *options)
{

	s->options = options;
	s->lease = lease;
	s->n = lease_shard(lease);
	s->place = LAG_UNKNOWN;
	failure_took_over(&s->failure);
	rng_seed_random(&s->rng);
}

void shard_run(struct lease *lease, void *ctx)
{
	struct shard s = {.options = NULL};
	const struct shard_options *options = ctx;

	init(&s, lease, options);
	progress_enter(options->progress, s.n);
	metric_add(options->counters->leases_held, 1);
	while (!lease_lost(lease)) {
		struct err err = ERR_INIT;

		if (work(&s, &err) < 0)
			rest(&s, &err);
	}
	metric_add(options->counters->leases_held, -1);
	shard_retry_leave(&s);
	progress_leave(options->progress, s.n);
	/* Whoever holds the shard now reports its lag. */
	metric_set(options->counters->lag_entries[s.n], 0);
	metric_set(options->counters->lag_seconds[s.n], 0);
}
