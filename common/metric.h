/*
 * metric.h - counters, gauges and histograms in the Prometheus text format, 0.0.4.
 *
 * A family has a fixed list of labels; a series is found or made by its values and stays.
 * Cardinality is bounded: past METRIC_MAX_SERIES a family answers with one shared series whose
 * every label is "other".  Updates are atomic and may come from any thread.
 */
#ifndef UMAVEZ_METRIC_H
#define UMAVEZ_METRIC_H

#include <stddef.h>

#define METRIC_MAX_SERIES 500

struct metrics; /* a registry: one a process */
struct metric_family;
struct metric; /* one series */

enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };

struct metrics *metrics_new(void);
void metrics_free(struct metrics *m); /* with all families and series */

/* name, help, labels (NULL-terminated, NULL: none) and buckets (ascending, 0-terminated;
 * histograms) are borrowed for ever.  The same name twice gives the same family. */
struct metric_family *metric_family(struct metrics *m, enum metric_type type, const char *name,
    const char *help, const char *const *labels, const double *buckets);

/* One value for each label, in the family's order. Never NULL. */
struct metric *metric_series(struct metric_family *f, const char *const *values);

/* A family without labels. */
struct metric *metric_plain(struct metrics *m, enum metric_type type, const char *name,
    const char *help, const double *buckets);

/* umavez_build_info{service,version}: always 1. */
void metric_build_info(struct metrics *m, const char *service);

void metric_add(struct metric *m, double amount); /* counters: amount >= 0 */
void metric_set(struct metric *m, double value);
void metric_observe(struct metric *m, double value); /* histograms */
double metric_value(const struct metric *m);         /* a histogram's count */

extern const double metric_latency_buckets[]; /* seconds: 0.5 ms to 60 s */
extern const double metric_size_buckets[];    /* 1, 2, 4 ... 1024 */

/* The exposition; malloc'd, NUL-terminated. */
char *metrics_render(struct metrics *m, size_t *ret_len);

#endif
