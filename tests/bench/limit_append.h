/*
 * limit_append.h - what Redis itself allows: our append script, driven from C alone.
 */
#ifndef UMAVEZ_BENCH_LIMIT_APPEND_H
#define UMAVEZ_BENCH_LIMIT_APPEND_H

#include "tests/bench/ground.h"

/* n rows of `bytes` of data in turn to all shards, in the relay's batches; one batch in flight.
 * Seconds that it took. */
double limit_append(struct ground *g, int64_t n, int bytes);

/* redis-benchmark: n times XADD of `bytes`, 16 at a time, no script. Entries a second. */
double limit_xadd(struct ground *g, int64_t n, int bytes);

#endif
