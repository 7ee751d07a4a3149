/*
 * account.h - the account of several loads, one after the other, in one world.
 */
#ifndef UMAVEZ_BENCH_ACCOUNT_H
#define UMAVEZ_BENCH_ACCOUNT_H

#include "tests/support/load.h"
#include "tests/support/world.h"

/* Zeroed memory is an empty one. */
struct account {
	struct load_totals totals;
};

/* A load that has been answered. */
void account_add(struct account *a, struct world *w, const struct load *l);

/* When all has been applied: print it, and give how many of its lines and of the invariants do not
 * hold.  Consumers run with WITNESS_HANDLER. */
int account_judge(const struct account *a, struct world *w);

#endif
