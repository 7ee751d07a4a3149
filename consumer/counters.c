#include "consumer/counters.h"

#include "common/memory.h"
#include "common/metric.h"

#include <stdio.h>
#include <stdlib.h>

static struct metric *outcome(struct metrics *m, const char *consumer, const char *name)
{
	static const char *const labels[] = {"consumer", "outcome", NULL};
	const char *values[] = {consumer, name};

	return metric_series(metric_family(m, METRIC_COUNTER, "umavez_messages_total",
				 "Messages read from the streams, by what became of them; failed: "
				 "parked, and then given up",
				 labels, NULL),
	    values);
}

static struct metric *retry(struct metrics *m, const char *consumer, const char *name)
{
	static const char *const labels[] = {"consumer", "outcome", NULL};
	const char *values[] = {consumer, name};

	return metric_series(metric_family(m, METRIC_COUNTER, "umavez_retries_total",
				 "Attempts at parked messages, by their outcome", labels, NULL),
	    values);
}

static struct metric *dead_letters(struct metrics *m, const char *consumer)
{
	static const char *const labels[] = {"consumer", NULL};
	const char *values[] = {consumer};

	return metric_series(
	    metric_family(m, METRIC_GAUGE, "umavez_dead_letters",
		"Failed messages of the shards that this process works on", labels, NULL),
	    values);
}

static struct metric *counter(struct metrics *m, const char *name, const char *help)
{
	return metric_plain(m, METRIC_COUNTER, name, help, NULL);
}

void counters_init(struct counters *c, struct metrics *m, const char *consumer)
{
	c->applied = outcome(m, consumer, "applied");
	c->duplicate = outcome(m, consumer, "duplicate");
	c->malformed = outcome(m, consumer, "malformed");
	c->parked = outcome(m, consumer, "parked");
	c->held = outcome(m, consumer, "held");
	c->failed = outcome(m, consumer, "failed");
	c->retry_applied = retry(m, consumer, "applied");
	c->retry_failed = retry(m, consumer, "failed");
	c->retry_discarded = retry(m, consumer, "discarded");
	c->dead_letters = dead_letters(m, consumer);
	c->end_to_end = metric_plain(m, METRIC_HISTOGRAM, "umavez_end_to_end_seconds",
	    "From the notification's receipt to its committed effect", metric_latency_buckets);
	c->apply = metric_plain(m, METRIC_HISTOGRAM, "umavez_apply_seconds",
	    "One batch's transaction, commit included", metric_latency_buckets);
	c->batch_size = metric_plain(m, METRIC_HISTOGRAM, "umavez_apply_batch_size",
	    "Messages in one transaction", metric_size_buckets);
	c->resets = counter(m, "umavez_cursor_resets_total",
	    "Times that a stream had lost its end and was read from its beginning");
	c->replays = counter(m, "umavez_replays_total",
	    "Times that the effects database had lost commits and a replay was asked for");
	c->leases_held = metric_plain(
	    m, METRIC_GAUGE, "umavez_leases_held", "Shards that this process works on", NULL);
	metric_build_info(m, "consumer");
}

void counters_shards(struct counters *c, struct metrics *m, unsigned shards)
{
	static const char *const labels[] = {"shard", NULL};
	struct metric_family *entries = metric_family(m, METRIC_GAUGE, "umavez_lag_entries",
	    "Stream entries not applied yet; an upper bound until the end was reached once", labels,
	    NULL);
	struct metric_family *seconds = metric_family(m, METRIC_GAUGE, "umavez_lag_seconds",
	    "Age of the oldest entry not applied yet", labels, NULL);

	c->lag_entries = mem_zalloc(shards, sizeof(*c->lag_entries));
	c->lag_seconds = mem_zalloc(shards, sizeof(*c->lag_seconds));
	for (unsigned i = 0; i < shards; i++) {
		char shard[12];
		const char *values[] = {shard};

		snprintf(shard, sizeof(shard), "%u", i);
		c->lag_entries[i] = metric_series(entries, values);
		c->lag_seconds[i] = metric_series(seconds, values);
	}
}

void counters_done(struct counters *c)
{
	free(c->lag_entries);
	free(c->lag_seconds);
}
