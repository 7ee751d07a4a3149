/*
 * probe.h - messages committed while somebody relays them, one transaction each.
 *
 * insert is a statement with three parameters: $1 bigint, the message's number; $2 integer, bytes;
 * $3 integer, shards.
 */
#ifndef UMAVEZ_BENCH_PROBE_H
#define UMAVEZ_BENCH_PROBE_H

#include "tests/bench/peers/peer.h"

/*
 * Commits p->rate messages a second for p->seconds, by a plan that waits for nobody, and reads the
 * streams until all are there or none has come for ten seconds.  Sets us, and the percentiles of
 * the time from the return of the COMMIT to the reception; what was received before it returned
 * counts as 0.
 */
void probe_latency(const struct peer *p, const char *insert, struct peer_result *r);

/* Commits p->messages by 32 clients, without a pause, and sets us; then count, a statement that
 * gives the number of messages stored and of different ones, sets lost and doubled. */
void probe_enqueue(
    const struct peer *p, const char *insert, const char *count, struct peer_result *r);

#endif
