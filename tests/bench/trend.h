/*
 * trend.h - whether what a process uses grows: samples over time, and the line through them.
 *
 * One sample says little, since memory comes and goes with the load; a leak of any size makes the
 * line rise, and rise further the longer it is looked at.
 */
#ifndef UMAVEZ_BENCH_TREND_H
#define UMAVEZ_BENCH_TREND_H

#include <stdbool.h>
#include <stddef.h>

/* Zeroed memory is an empty one. */
struct trend {
	size_t n, room;
	struct sample {
		double at, value;
	} * samples;
};

void trend_add(struct trend *t, double at, double value); /* in order of time */
void trend_done(struct trend *t);

struct trend_summary {
	double first, last, max;
	double rise; /* of the line through the samples, from the first of them to the last */
};

/* Of the samples from `from` on; false: there are less than two moments. */
bool trend_summarize(const struct trend *t, double from, struct trend_summary *ret);

/* It rises by no more than this, or than this share of what there was at first. */
bool trend_is_flat(const struct trend_summary *s, double slack, double share);

#endif
