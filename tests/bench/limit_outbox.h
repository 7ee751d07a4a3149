/*
 * limit_outbox.h - what PostgreSQL itself allows the relay: the rows of all ticks, streamed one by
 * one.
 */
#ifndef UMAVEZ_BENCH_LIMIT_OUTBOX_H
#define UMAVEZ_BENCH_LIMIT_OUTBOX_H

#include "tests/bench/ground.h"

#include <stdint.h>

/* By the statement that ships, a session a shard. Seconds that it took. */
double limit_outbox(struct ground *g, int64_t *ret_rows);

#endif
