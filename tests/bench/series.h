/*
 * series.h - messages a second, over time.
 */
#ifndef UMAVEZ_BENCH_SERIES_H
#define UMAVEZ_BENCH_SERIES_H

#include <stdint.h>

#define SERIES_STEP_MS 100
#define SERIES_MAX 600 /* what comes later is left out */

/* Zeroed memory is an empty one. */
struct series {
	int n;
	double per_second[SERIES_MAX]; /* of each step */
};

/* So many were done at this time since the begin. */
void series_add(struct series *s, int64_t elapsed_us, int64_t messages);

#endif
