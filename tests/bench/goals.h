/*
 * goals.h - what the figures should be: ratios within one run, and a few bounds.
 */
#ifndef UMAVEZ_BENCH_GOALS_H
#define UMAVEZ_BENCH_GOALS_H

#include "tests/bench/results.h"

struct goal {
	const char *what;
	const char *contestant;
	enum figure figure;
	const char *against; /* NULL: the figure itself is bounded */
	enum figure against_figure;
	bool at_most; /* else at least */
	double bound;
};

extern const struct goal goals[];
extern const size_t n_goals;

enum verdict { GOAL_MET, GOAL_NOT_MET, GOAL_UNKNOWN };

/* *ret_value is the figure or the ratio; NAN: not measured. */
enum verdict goal_judge(const struct goal *goal, const struct results *results, double *ret_value);

/* A smoke run judges the ratios to the textbook contestants, and to one transaction a notification.
 * Whether this contestant is in one of them; how many are below half of their goal, or were not
 * measured, each told on stderr. */
bool goals_smoke_needs(const char *contestant);
int goals_far_missed(const struct results *results);

#endif
