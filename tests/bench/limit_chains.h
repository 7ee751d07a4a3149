/*
 * limit_chains.h - how many chains of certificates this machine verifies a second.
 */
#ifndef UMAVEZ_BENCH_LIMIT_CHAINS_H
#define UMAVEZ_BENCH_LIMIT_CHAINS_H

#include "tests/support/world.h"

/* Of an App Store notification. */
#define CHAINS_A_NOTIFICATION 3

/* Read n signed parts and verify each one's chain anew, on every core. Seconds that it took. */
double limit_chains(struct world *w, int64_t n);

#endif
