/*
 * lease_worker.h - one shard's lease in this process, and the thread that works under it.
 *
 * Internal to lease.c, whose one thread calls everything here; lease_lost() and lease_wait()
 * (lease.h) are the worker's side.
 *
 *            claimed                 asked, expired
 *   FREE ─────────────▶ HELD ──────────────────────▶ LEAVING ──worker returned──▶ FREE
 *                       │  ▲
 *       worker returned │  │ backed off
 *                       ▼  │
 *                      RESTING ──asked, expired──▶ FREE
 */
#ifndef UMAVEZ_LEASE_WORKER_H
#define UMAVEZ_LEASE_WORKER_H

#include "common/clock.h"
#include "common/lease.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum lease_state { LEASE_FREE, LEASE_HELD, LEASE_RESTING, LEASE_LEAVING, LEASE_STATES };

struct lease {
	unsigned shard;
	int64_t term;
	enum lease_state state; /* the keeper's alone, as is what follows it */
	unsigned restarts;      /* in a row */
	int64_t started_us, restart_us;
	pthread_t thread;

	lease_worker_fn *work;
	void *ctx;
	int keeper_fd; /* an eventfd: raised when the worker has returned */
	atomic_bool returned;

	pthread_mutex_t
	    lock; /* for changed; the values are atomic, so that lease_lost() is cheap */
	pthread_cond_t changed;
	atomic_bool leave;
	_Atomic int64_t valid_until_us; /* on clock_mono_us() */
};

void lease_init(
    struct lease *lease, unsigned shard, lease_worker_fn *work, void *ctx, int keeper_fd);
void lease_done(struct lease *lease); /* must be FREE */

/* FREE -> HELD: start the worker. */
void lease_take(struct lease *lease, int64_t term, int64_t valid_until_us);
void lease_extend(struct lease *lease, int64_t valid_until_us);

/* HELD -> LEAVING, RESTING -> FREE; nothing otherwise. Never waits. */
void lease_ask(struct lease *lease);

/*
 * Join a worker that has returned: LEAVING -> FREE, or, if its lease holds, HELD -> RESTING until
 * it is started again.  Nothing while it runs.
 */
void lease_reap(struct lease *lease, struct rng *rng);

/* RESTING -> HELD when its time has come. */
void lease_restart(struct lease *lease);

#endif
