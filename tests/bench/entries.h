/*
 * entries.h - the ledger of the streams: is each outbox row there, once?
 *
 * witness_streams() copies whole streams to be judged in SQL; for hundreds of thousands of entries
 * this looks at their IDs alone, which name the rows.
 */
#ifndef UMAVEZ_BENCH_ENTRIES_H
#define UMAVEZ_BENCH_ENTRIES_H

#include "tests/bench/ground.h"

#include <stdint.h>

struct entries_ledger {
	int64_t lost;    /* rows that are in no stream */
	int64_t doubled; /* entries beyond one for a row, of no row, or out of order */
};

void entries_check(struct ground *g, struct entries_ledger *ret);

#endif
