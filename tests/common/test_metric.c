#include "common/metric.h"
#include "tests/support/check.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const store_labels[] = {"store", "outcome", NULL};

static void expect(struct metrics *m, const char *text)
{
	size_t len;
	char *got = metrics_render(m, &len);

	CHECK_STR(got, text);
	CHECK_INT(len, strlen(text));
	free(got);
}

static void counter(void)
{
	struct metrics *m = metrics_new();
	struct metric_family *f = metric_family(m, METRIC_COUNTER, "umavez_notifications_total",
	    "By store and outcome.", store_labels, NULL);
	const char *const apple[] = {"app_store", "accepted"};
	const char *const stripe[] = {"stripe", "accepted"};

	metric_add(metric_series(f, apple), 1);
	metric_add(metric_series(f, apple), 2);
	metric_add(metric_series(f, stripe), 0.5);
	CHECK(metric_series(f, apple) == metric_series(f, apple));
	expect(m, "# HELP umavez_notifications_total By store and outcome.\n"
		  "# TYPE umavez_notifications_total counter\n"
		  "umavez_notifications_total{store=\"app_store\",outcome=\"accepted\"} 3\n"
		  "umavez_notifications_total{store=\"stripe\",outcome=\"accepted\"} 0.5\n");
	metrics_free(m);
}

static void gauge(void)
{
	struct metrics *m = metrics_new();
	struct metric *g = metric_plain(m, METRIC_GAUGE, "umavez_held", "Shards held.", NULL);

	metric_set(g, 4);
	metric_add(g, -1.5);
	CHECK(metric_value(g) == 2.5);
	metric_set(g, 12345678901.0);
	CHECK(metric_plain(m, METRIC_GAUGE, "umavez_held", "Shards held.", NULL) == g);
	expect(m,
	    "# HELP umavez_held Shards held.\n# TYPE umavez_held gauge\numavez_held 12345678901\n");
	metrics_free(m);
}

static void histogram(void)
{
	static const double buckets[] = {0.1, 1, 0};
	struct metrics *m = metrics_new();
	struct metric *h =
	    metric_plain(m, METRIC_HISTOGRAM, "umavez_receive_seconds", "Time.", buckets);

	metric_observe(h, 0.05);
	metric_observe(h, 0.1);
	metric_observe(h, 0.5);
	metric_observe(h, 5);
	CHECK(metric_value(h) == 4);
	expect(m, "# HELP umavez_receive_seconds Time.\n"
		  "# TYPE umavez_receive_seconds histogram\n"
		  "umavez_receive_seconds_bucket{le=\"0.1\"} 2\n"
		  "umavez_receive_seconds_bucket{le=\"1\"} 3\n"
		  "umavez_receive_seconds_bucket{le=\"+Inf\"} 4\n"
		  "umavez_receive_seconds_sum 5.65\n"
		  "umavez_receive_seconds_count 4\n");
	metrics_free(m);
}

static void escapes(void)
{
	static const char *const labels[] = {"v", NULL};
	static const char *const values[] = {"a\"b\\c\nd"};
	struct metrics *m = metrics_new();

	metric_set(metric_series(
		       metric_family(m, METRIC_GAUGE, "g", "say \"x\" \\ and\nmore", labels, NULL),
		       values),
	    1);
	expect(
	    m, "# HELP g say \"x\" \\\\ and\\nmore\n# TYPE g gauge\ng{v=\"a\\\"b\\\\c\\nd\"} 1\n");
	metrics_free(m);
}

static void b60_bounded_series(void)
{
	struct metrics *m = metrics_new();
	struct metric_family *f =
	    metric_family(m, METRIC_COUNTER, "c_total", "C.", store_labels, NULL);
	char value[20];
	const char *const values[] = {"x", value};
	const char *const other[] = {"other", "other"};
	size_t len, lines = 0;

	for (int i = 0; i < 10000; i++) {
		snprintf(value, sizeof(value), "/%d", i);
		metric_add(metric_series(f, values), 1);
	}
	CHECK(metric_value(metric_series(f, other)) == 10000 - METRIC_MAX_SERIES);
	snprintf(value, sizeof(value), "/7");
	CHECK(metric_value(metric_series(f, values)) == 1);
	char *text = metrics_render(m, &len);
	for (const char *c = text; *c; c++)
		lines += *c == '\n';
	CHECK_INT(lines, METRIC_MAX_SERIES + 1 + 2);
	free(text);
	metrics_free(m);
}

enum { THREADS = 4, ROUNDS = 5000 };

static void *count(void *arg)
{
	struct metrics *m = arg;
	struct metric_family *f =
	    metric_family(m, METRIC_COUNTER, "c_total", "C.", store_labels, NULL);
	struct metric *h = metric_plain(m, METRIC_HISTOGRAM, "h", "H.", metric_latency_buckets);
	const char *const values[] = {"stripe", "accepted"};
	size_t len;

	for (int i = 0; i < ROUNDS; i++) {
		metric_add(metric_series(f, values), 1);
		metric_observe(h, 0.25);
		if (i % 1000 == 0)
			free(metrics_render(m, &len));
	}
	return NULL;
}

static void many_threads(void)
{
	struct metrics *m = metrics_new();
	const char *const values[] = {"stripe", "accepted"};
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, count, m), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	struct metric_family *f =
	    metric_family(m, METRIC_COUNTER, "c_total", "C.", store_labels, NULL);
	CHECK(metric_value(metric_series(f, values)) == THREADS * ROUNDS);
	struct metric *h = metric_plain(m, METRIC_HISTOGRAM, "h", "H.", metric_latency_buckets);
	CHECK(metric_value(h) == THREADS * ROUNDS);
	metrics_free(m);
}

static void buckets_ascend(void)
{
	for (int i = 1; metric_latency_buckets[i] != 0; i++)
		CHECK(metric_latency_buckets[i] > metric_latency_buckets[i - 1]);
	for (int i = 1; metric_size_buckets[i] != 0; i++)
		CHECK(metric_size_buckets[i] > metric_size_buckets[i - 1]);
}

static const struct check checks[] = {
    {"counter", counter},
    {"gauge", gauge},
    {"histogram", histogram},
    {"escapes", escapes},
    {"B60: bounded series", b60_bounded_series},
    {"many threads", many_threads},
    {"buckets ascend", buckets_ascend},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common metric", checks, argc, argv);
}
