/*
 * lease.h - shards shared evenly between live processes.
 *
 * A lease avoids wasted work and holds nothing else: correctness rests on the constraints behind
 * the work (ARCHITECTURE.md, P8 and P11).  One thread keeps presence and leases by the database's
 * clock, at a third of the lease time and when something of somebody else ends, and starts and
 * stops one worker thread a shard:
 *
 *   free ──claim──▶ held ──expired, surplus or stopping──▶ leaving ──worker returned──▶ free
 *
 * Presence rows tell how many processes share the shards; each holds at most its even share, so a
 * newcomer gets its part within one lease time.
 */
#ifndef UMAVEZ_LEASE_H
#define UMAVEZ_LEASE_H

#include "common/err.h"

#include <stdbool.h>
#include <stdint.h>

struct lease;  /* one shard in this process, as its worker sees it */
struct leases; /* the keeper */
struct reach;

/* Runs in a thread of its own until lease_lost(); then returns. */
typedef void lease_worker_fn(struct lease *lease, void *ctx);

struct lease_options {
	const char *database_url;
	const char *schema;   /* "intake" or "effects": whose shard_lease and instance tables */
	const char *consumer; /* NULL for intake */
	const char *holder;   /* service_instance() */
	int64_t lease_ms;
	unsigned shards;
	bool all; /* test switch: every shard is held, no lease is taken (umavez proves that it
		     needs none) */
	lease_worker_fn *worker;
	/* Told by the keeper: why no leases can be kept, and NULL once they can again. NULL is
	 * fine. */
	void (*kept)(void *ctx, const char *why);
	void *ctx; /* of both */
	/* Asked at each third of the lease: a process that Redis does not answer holds nothing, and
	 * leaves it all to others.  Borrowed until leases_close().  NULL: Redis does not matter. */
	struct reach *reach;
};

/* Strings are borrowed until leases_close(). */
int leases_open(
    const struct lease_options *options, struct leases **ret_leases, struct err *err) warn_unused;

/* Keep them until service_stopping(); then stop the workers, join them and give the shards back. */
void leases_run(struct leases *l);
void leases_close(struct leases *l);

unsigned lease_shard(const struct lease *lease);

/* True once the lease has expired by our own clock, was taken, or should be given back. Cheap. */
bool lease_lost(const struct lease *lease);

/* Wait at most ms, or until lease_lost(). True when lost. */
bool lease_wait(struct lease *lease, int64_t ms);

#endif
