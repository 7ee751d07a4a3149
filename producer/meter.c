#include "producer/meter.h"

#include "common/memory.h"
#include "common/metric.h"

#include <stdlib.h>

#define US_PER_S 1e6

struct meter {
	struct metric_family *notifications, *refused;
	struct metric *receive, *commit, *batch, *queue, *database;
};

static const char *const notification_labels[] = {"store", "outcome", NULL};
static const char *const refused_labels[] = {"store", "reason", NULL};

struct meter *meter_new(struct metrics *metrics)
{
	struct meter *m = mem_zalloc(1, sizeof(*m));

	m->notifications = metric_family(metrics, METRIC_COUNTER, "umavez_notifications_total",
	    "Authentic notifications by what became of them", notification_labels, NULL);
	m->refused = metric_family(metrics, METRIC_COUNTER, "umavez_refused_total",
	    "Requests refused before anything was stored", refused_labels, NULL);
	m->receive = metric_plain(metrics, METRIC_HISTOGRAM, "umavez_receive_seconds",
	    "From the first byte of a request to its answer", metric_latency_buckets);
	m->commit = metric_plain(metrics, METRIC_HISTOGRAM, "umavez_commit_seconds",
	    "One call of intake.receive, its commit included", metric_latency_buckets);
	m->batch = metric_plain(metrics, METRIC_HISTOGRAM, "umavez_batch_size",
	    "Notifications committed by one call", metric_size_buckets);
	m->queue = metric_plain(metrics, METRIC_GAUGE, "umavez_queue_depth",
	    "Notifications that wait for a commit", NULL);
	m->database = metric_plain(metrics, METRIC_GAUGE, "umavez_database_connections",
	    "Database connections that are up", NULL);
	metric_build_info(metrics, "producer");
	return m;
}

void meter_free(struct meter *m)
{
	free(m);
}

void meter_notification(struct meter *m, const char *store, const char *outcome)
{
	const char *const values[] = {store, outcome};

	metric_add(metric_series(m->notifications, values), 1);
}

void meter_refused(struct meter *m, const char *store, const char *reason)
{
	const char *const values[] = {store, reason};

	metric_add(metric_series(m->refused, values), 1);
}

void meter_receive(struct meter *m, int64_t us)
{
	metric_observe(m->receive, (double)us / US_PER_S);
}

void meter_commit(struct meter *m, int64_t us)
{
	metric_observe(m->commit, (double)us / US_PER_S);
}

void meter_batch(struct meter *m, size_t n)
{
	metric_observe(m->batch, (double)n);
}

void meter_queue(struct meter *m, int change)
{
	metric_add(m->queue, change);
}

void meter_database(struct meter *m, int change)
{
	metric_add(m->database, change);
}
