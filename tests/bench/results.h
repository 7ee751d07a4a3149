/*
 * results.h - what all rounds gave, and the medians of that.
 */
#ifndef UMAVEZ_BENCH_RESULTS_H
#define UMAVEZ_BENCH_RESULTS_H

#include "tests/bench/contestant.h"

struct result {
	const struct chapter *chapter;
	const struct contestant *contestant;
	char *obstacle; /* why it could not run; NULL: it did */
	int n;
	struct outcome *rounds;
};

struct results {
	int n;
	struct result *all;
};

struct results *results_new(void);
void results_free(struct results *r);

/* Another contestant; valid until the next one is added. */
struct result *results_add(
    struct results *r, const struct chapter *chapter, const struct contestant *c);

/* Another round of it, with nothing measured yet. */
struct outcome *result_round(struct result *r);

/* NAN: it was not measured. */
double result_median(const struct result *r, enum figure figure);
double results_median(const struct results *r, const char *contestant, enum figure figure);

/* How many rounds had a broken ledger. */
int results_failed(const struct results *r);

#endif
