/*
 * takeover.h - one of several is killed under load: how long until the others do its work.
 */
#ifndef UMAVEZ_BENCH_TAKEOVER_H
#define UMAVEZ_BENCH_TAKEOVER_H

#include "tests/bench/account.h"
#include "tests/bench/fleet.h"

struct takeover {
	double taken_ms; /* until others held all its shards; producers have none: NAN */
	/* The longest time from an outbox row's commit to its effect's, in its shards and in the
	 * others'.  For producers: the longest pause between two commits. */
	double its_ms, others_ms;
	int64_t unanswered; /* requests that were sent again */
};

/* Kill -9 the first of them under a load at this rate, whose account is kept; start it again, and
 * wait until the shards are shared as before. */
void takeover_run(struct fleet *f, enum fleet_service service, int per_second, uint64_t seed,
    struct account *account, struct takeover *ret);

/* A lease outlives its holder by a lease time at most, and is looked for as it ends. */
bool takeover_in_time(const struct takeover *t);

#endif
