/*
 * program.h - contestants that are programs of their own.
 *
 *   PEER check     status 77, and one line why, if what it needs is not there
 *   PEER setup     make tables, fill what is to be drained; not timed
 *   PEER measure   do the work, check the ledger, print one JSON line: contestant, messages,
 * seconds, lost, doubled, and latency_us with p50, p99 and max.  Status 0: the ledger held.
 *
 * The environment: BENCH_DATABASE_URL (an empty database of its own, as superuser), BENCH_REDIS_URL
 * (a Redis database of its own), BENCH_MESSAGES, BENCH_BYTES, BENCH_SHARDS, and BENCH_MODE,
 * BENCH_RATE and BENCH_SECONDS (tests/bench/peers/README.md); BENCH_PROGRAMS, where this build has
 * those written in C.
 */
#ifndef UMAVEZ_BENCH_PROGRAM_H
#define UMAVEZ_BENCH_PROGRAM_H

#include "tests/bench/contestant.h"

/* NULL: it can run; else why not, malloc'd. */
char *program_obstacle(struct ground *g, const struct contestant *c);

void program_setup(const struct heat *h);
void program_measure(const struct heat *h, struct outcome *ret);

#endif
