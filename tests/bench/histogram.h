/*
 * histogram.h - latencies in microseconds, counted in buckets of less than one percent of their
 * value.
 *
 * Each power of two is cut into 128 equal buckets, as HdrHistogram does it, so that a histogram of
 * any range takes the same memory.
 */
#ifndef UMAVEZ_BENCH_HISTOGRAM_H
#define UMAVEZ_BENCH_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_BITS 7
#define HISTOGRAM_BUCKETS ((1 << HISTOGRAM_BITS) * 36)

struct histogram {
	int64_t n, max;
	uint32_t buckets[HISTOGRAM_BUCKETS];
};

/* Zeroed memory is an empty one. Less than 0 counts as 0. */
void histogram_add(struct histogram *h, int64_t us);
void histogram_merge(struct histogram *into, const struct histogram *h);

/* What `share` (0 to 1) of the values do not exceed, in us; 0 when empty. */
int64_t histogram_quantile(const struct histogram *h, double share);

#endif
