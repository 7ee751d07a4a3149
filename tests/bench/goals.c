#include "tests/bench/goals.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

const struct goal goals[] = {
    {"producer / pgbench, same batches", "umavez-producer", FIGURE_RATE, "limit-receive",
	FIGURE_RATE, false, 0.6},
    {"producer / one transaction a notification", "umavez-producer", FIGURE_RATE,
	"umavez-producer-single", FIGURE_RATE, false, 3},
    {"App Store / every chain verified anew", "umavez-producer-app-store", FIGURE_RATE,
	"limit-chains", FIGURE_RATE, false, 2},
    {"producer at half of its peak: p99 / commit", "umavez-producer-half", FIGURE_P99,
	"umavez-producer-half", FIGURE_COMMIT, true, 4},
    {"producer at half of its peak: p99, ms", "umavez-producer-half", FIGURE_P99, NULL, FIGURE_P99,
	true, 50},
    {"relay / append script alone", "umavez-relay", FIGURE_RATE, "limit-append", FIGURE_RATE, false,
	0.8},
    {"relay / textbook relay", "umavez-relay", FIGURE_RATE, "textbook-relay", FIGURE_RATE, false,
	3},
    {"relay / pg-transactional-outbox", "umavez-relay", FIGURE_RATE, "pg-transactional-outbox",
	FIGURE_RATE, false, 40},
    {"consumer / pgbench, same batches", "umavez-consumer", FIGURE_RATE, "limit-apply", FIGURE_RATE,
	false, 0.7},
    {"consumer / textbook consumer", "umavez-consumer", FIGURE_RATE, "textbook-consumer",
	FIGURE_RATE, false, 5},
    {"consumer / pg-transactional-outbox's inbox", "umavez-consumer", FIGURE_RATE,
	"pg-transactional-inbox", FIGURE_RATE, false, 8},
    {"commit to stream at 500/s: p50, ms", "umavez-500", FIGURE_STREAM_P50, NULL, FIGURE_P50, true,
	2},
    {"commit to stream at 500/s: p99, ms", "umavez-500", FIGURE_STREAM_P99, NULL, FIGURE_P50, true,
	8},
    {"webhook to effect at 500/s: p50, ms", "umavez-500", FIGURE_P50, NULL, FIGURE_P50, true, 5},
    {"webhook to effect at 500/s: p99, ms", "umavez-500", FIGURE_P99, NULL, FIGURE_P50, true, 25},
    {"webhook to effect at half of the peak: p99, ms", "umavez-half", FIGURE_P99, NULL, FIGURE_P50,
	true, 60},
    {"with an open transaction: p50 / without", "umavez-500-transaction", FIGURE_P50, "umavez-500",
	FIGURE_P50, true, 1.2},
    {"with an open transaction: p99 / without", "umavez-500-transaction", FIGURE_P99, "umavez-500",
	FIGURE_P99, true, 1.2},
    {"with history: p50 / without", "umavez-500-history", FIGURE_P50, "umavez-500", FIGURE_P50,
	true, 1.2},
    {"with history: p99 / without", "umavez-500-history", FIGURE_P99, "umavez-500", FIGURE_P99,
	true, 1.2},
    {"with others' backlog: p50 / without", "umavez-500-backlog", FIGURE_P50, "umavez-500",
	FIGURE_P50, true, 1.2},
    {"with others' backlog: p99 / without", "umavez-500-backlog", FIGURE_P99, "umavez-500",
	FIGURE_P99, true, 1.2},
    {"memory of the largest service, backlog: MiB", "umavez-500-backlog", FIGURE_RSS, NULL,
	FIGURE_RSS, true, 48},
    {"idle: all three, % of a core", "umavez-idle", FIGURE_CPU, NULL, FIGURE_CPU, true, 1},
    {"idle: statements a second and shard", "umavez-idle", FIGURE_STATEMENTS, NULL, FIGURE_CPU,
	true, 3},
    {"producer: start to ready, ms", "start-producer", FIGURE_READY, NULL, FIGURE_READY, true, 150},
    {"relay: start to ready, ms", "start-relay", FIGURE_READY, NULL, FIGURE_READY, true, 150},
    {"consumer: start to ready, ms", "start-consumer", FIGURE_READY, NULL, FIGURE_READY, true, 150},
};
const size_t n_goals = sizeof(goals) / sizeof(goals[0]);

enum verdict goal_judge(const struct goal *goal, const struct results *results, double *ret_value)
{
	double value = results_median(results, goal->contestant, goal->figure);

	if (goal->against != NULL)
		value /= results_median(results, goal->against, goal->against_figure);
	*ret_value = value;
	if (isnan(value))
		return GOAL_UNKNOWN;
	return (goal->at_most ? value <= goal->bound : value >= goal->bound) ? GOAL_MET
									     : GOAL_NOT_MET;
}

/* Ratios to what does the same work as one does it at first: they depend least on the machine. */
static bool is_smoke(const struct goal *goal)
{
	return goal->against != NULL && (strncmp(goal->against, "textbook-", 9) == 0 ||
					    strcmp(goal->against, "umavez-producer-single") == 0);
}

bool goals_smoke_needs(const char *contestant)
{
	for (size_t i = 0; i < n_goals; i++)
		if (is_smoke(&goals[i]) && (strcmp(goals[i].contestant, contestant) == 0 ||
					       strcmp(goals[i].against, contestant) == 0))
			return true;
	return false;
}

int goals_far_missed(const struct results *results)
{
	int missed = 0;

	for (size_t i = 0; i < n_goals; i++) {
		double value;

		if (!is_smoke(&goals[i]))
			continue;
		goal_judge(&goals[i], results, &value);
		if (value >= goals[i].bound / 2)
			continue;
		fprintf(stderr, "%s: %.2f is less than half of %g\n", goals[i].what, value,
		    goals[i].bound);
		missed++;
	}
	return missed;
}
