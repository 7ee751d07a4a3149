/*
 * history.h - rows of days that are over: received, published, applied.
 */
#ifndef UMAVEZ_BENCH_HISTORY_H
#define UMAVEZ_BENCH_HISTORY_H

#include "tests/bench/ground.h"

/* So many notifications, outbox rows and inbox rows of the last six days, and a purchase for five
 * of them.  The ground was just reset; chains of ticks are to be rooted behind it (ground_root()).
 */
void history_fill(struct ground *g, int64_t rows);

#endif
