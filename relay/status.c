#include "relay/status.h"

#include "common/clock.h"
#include "common/memory.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REASON_SIZE 600
#define LOG_AGAIN_US (60 * 1000000LL)

enum counter { TICKS, APPENDED, REWINDS, REPAIRS, FOREIGN, TRIMMED, N_COUNTERS };

struct shard_status {
	struct status *all;
	unsigned shard;
	bool held;
	int64_t progress_us; /* on the monotonic clock */
	double caught_up;    /* seconds since 1970: everything older is published */
	char error[REASON_SIZE];
	char pause[REASON_SIZE]; /* "": not paused */
	int64_t pause_logged_us;
	struct metric *counters[N_COUNTERS];
	struct metric *lag, *paused, *length, *postgresql, *redis;
};

struct status {
	struct metrics *metrics;
	int64_t stall_us;
	pthread_mutex_t lock;      /* everything below, and the fields of shards */
	char waiting[REASON_SIZE]; /* why the process as a whole is not ready; "": it is */
	char notice[REASON_SIZE];  /* what should be known nevertheless */
	unsigned n;
	struct shard_status *shards;
	struct metric *held, *append_seconds;
};

static const char *const by_shard[] = {"shard", NULL};
static const char *const by_server[] = {"shard", "server", NULL};

static const struct {
	const char *name, *help;
} counters[N_COUNTERS] = {
    [TICKS] = {"umavez_ticks_total", "Ticks cut"},
    [APPENDED] = {"umavez_appended_total", "Entries appended to the stream"},
    [REWINDS] = {"umavez_rewinds_total", "Times that Redis had lost entries"},
    [REPAIRS] = {"umavez_repairs_total", "Repair ticks cut"},
    [FOREIGN] = {"umavez_foreign_entries_total", "Entries copied aside that were not ours"},
    [TRIMMED] = {"umavez_trimmed_total", "Entries trimmed from the stream"},
};

static double wall_seconds(void)
{
	return (double)clock_wall_ms() / 1000;
}

struct status *status_new(struct metrics *metrics, int64_t stall_ms)
{
	struct status *s = mem_zalloc(1, sizeof(*s));

	s->metrics = metrics;
	s->stall_us = stall_ms * 1000;
	pthread_mutex_init(&s->lock, NULL);
	snprintf(s->waiting, sizeof(s->waiting), "starting");
	s->held = metric_plain(
	    metrics, METRIC_GAUGE, "umavez_leases_held", "Shards that this process works on", NULL);
	s->append_seconds = metric_plain(metrics, METRIC_HISTOGRAM, "umavez_append_seconds",
	    "From an append to Redis's answer", metric_latency_buckets);
	metric_build_info(metrics, "relay");
	return s;
}

void status_free(struct status *s)
{
	if (!s)
		return;
	pthread_mutex_destroy(&s->lock);
	free(s->shards);
	free(s);
}

void status_waiting(struct status *s, const char *why)
{
	pthread_mutex_lock(&s->lock);
	snprintf(s->waiting, sizeof(s->waiting), "%s", why ? why : "");
	pthread_mutex_unlock(&s->lock);
}

void status_notice(struct status *s, const char *notice)
{
	pthread_mutex_lock(&s->lock);
	snprintf(s->notice, sizeof(s->notice), "%s", notice);
	pthread_mutex_unlock(&s->lock);
}

static struct metric *gauge(
    struct shard_status *s, const char *name, const char *help, const char *server)
{
	char number[12];
	const char *const values[] = {number, server};

	snprintf(number, sizeof(number), "%u", s->shard);
	return metric_series(metric_family(s->all->metrics, METRIC_GAUGE, name, help,
				 server ? by_server : by_shard, NULL),
	    values);
}

static void make_metrics(struct shard_status *s)
{
	char number[12];
	const char *const values[] = {number};

	snprintf(number, sizeof(number), "%u", s->shard);
	for (int i = 0; i < N_COUNTERS; i++)
		s->counters[i] =
		    metric_series(metric_family(s->all->metrics, METRIC_COUNTER, counters[i].name,
				      counters[i].help, by_shard, NULL),
			values);
	s->lag = gauge(s, "umavez_outbox_lag_seconds",
	    "Age of the oldest row that may not be in the stream yet", NULL);
	s->paused = gauge(s, "umavez_paused", "1: somebody must act, see the log", NULL);
	s->length = gauge(s, "umavez_stream_length", "Entries in the stream", NULL);
	s->postgresql = gauge(s, "umavez_connected", "1: connected", "postgresql");
	s->redis = gauge(s, "umavez_connected", "1: connected", "redis");
}

void status_start(struct status *s, unsigned shards)
{
	pthread_mutex_lock(&s->lock);
	s->shards = mem_zalloc(shards, sizeof(*s->shards));
	s->n = shards;
	for (unsigned i = 0; i < shards; i++) {
		s->shards[i].all = s;
		s->shards[i].shard = i;
		s->shards[i].caught_up = wall_seconds();
		make_metrics(&s->shards[i]);
	}
	pthread_mutex_unlock(&s->lock);
}

/* Why a shard makes no progress; false: it does. */
static bool is_stuck(const struct shard_status *s, char *reason, size_t size)
{
	int64_t still_us = clock_mono_us() - s->progress_us;

	if (!s->held)
		return false;
	if (s->pause[0]) {
		snprintf(reason, size, "shard %u: paused: %s", s->shard, s->pause);
		return true;
	}
	if (still_us <= s->all->stall_us)
		return false;
	snprintf(reason, size, "shard %u: no progress for %d s%s%s", s->shard,
	    (int)(still_us / 1000000), s->error[0] ? ": " : "", s->error);
	return true;
}

bool status_ready(void *ctx, char *reason, size_t reason_size)
{
	struct status *s = ctx;
	bool ready;

	pthread_mutex_lock(&s->lock);
	ready = !s->waiting[0];
	if (!ready)
		snprintf(reason, reason_size, "%s", s->waiting);
	for (unsigned i = 0; i < s->n && ready; i++)
		ready = !is_stuck(&s->shards[i], reason, reason_size);
	if (ready && s->notice[0])
		snprintf(reason, reason_size, "ok: %s", s->notice);
	pthread_mutex_unlock(&s->lock);
	return ready;
}

struct shard_status *status_shard(struct status *s, unsigned shard)
{
	return &s->shards[shard];
}

static void set_held(struct shard_status *s, bool held)
{
	unsigned n = 0;

	pthread_mutex_lock(&s->all->lock);
	s->held = held;
	s->progress_us = clock_mono_us();
	s->caught_up = wall_seconds();
	s->pause[0] = s->error[0] = '\0';
	for (unsigned i = 0; i < s->all->n; i++)
		n += s->all->shards[i].held;
	metric_set(s->all->held, n);
	metric_set(s->paused, 0);
	metric_set(s->lag, 0);
	pthread_mutex_unlock(&s->all->lock);
}

void status_taken(struct shard_status *s)
{
	set_held(s, true);
}

void status_released(struct shard_status *s)
{
	set_held(s, false);
}

void status_connected(struct shard_status *s, bool postgresql, bool redis)
{
	metric_set(s->postgresql, postgresql);
	metric_set(s->redis, redis);
}

void status_progress(struct shard_status *s)
{
	pthread_mutex_lock(&s->all->lock);
	s->progress_us = clock_mono_us();
	s->error[0] = '\0';
	pthread_mutex_unlock(&s->all->lock);
}

void status_caught_up(struct shard_status *s)
{
	s->caught_up = wall_seconds();
	metric_set(s->lag, 0);
	status_progress(s);
}

static void set_lag(struct shard_status *s)
{
	double lag = wall_seconds() - s->caught_up;

	metric_set(s->lag, lag > 0 ? lag : 0);
}

void status_appended(struct shard_status *s, size_t rows, double seconds, double oldest)
{
	metric_add(s->counters[APPENDED], (double)rows);
	metric_observe(s->all->append_seconds, seconds);
	/* Rows come in the order of their ticks: what is left is hardly older than these. */
	s->caught_up = oldest;
	set_lag(s);
	status_progress(s);
}

void status_failed(struct shard_status *s, const struct err *err)
{
	pthread_mutex_lock(&s->all->lock);
	snprintf(s->error, sizeof(s->error), "%s", err->message);
	pthread_mutex_unlock(&s->all->lock);
	set_lag(s);
}

bool status_paused(struct shard_status *s, const char *why)
{
	int64_t now_us = clock_mono_us();
	bool log = false;

	if (why)
		set_lag(s);
	metric_set(s->paused, why != NULL);
	pthread_mutex_lock(&s->all->lock);
	if (why)
		log = strcmp(s->pause, why) != 0 || now_us - s->pause_logged_us >= LOG_AGAIN_US;
	if (log)
		s->pause_logged_us = now_us;
	snprintf(s->pause, sizeof(s->pause), "%s", why ? why : "");
	pthread_mutex_unlock(&s->all->lock);
	return log;
}

void status_tick(struct shard_status *s)
{
	metric_add(s->counters[TICKS], 1);
}

void status_rewind(struct shard_status *s)
{
	metric_add(s->counters[REWINDS], 1);
}

void status_repair(struct shard_status *s)
{
	metric_add(s->counters[REPAIRS], 1);
}

void status_foreign(struct shard_status *s, uint64_t entries)
{
	metric_add(s->counters[FOREIGN], (double)entries);
}

void status_trimmed(struct shard_status *s, int64_t entries)
{
	metric_add(s->counters[TRIMMED], (double)entries);
}

void status_length(struct shard_status *s, int64_t entries)
{
	metric_set(s->length, (double)entries);
}
