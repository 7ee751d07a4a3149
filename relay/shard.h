/*
 * shard.h - the loop that publishes one shard.
 *
 *   connect ──▶ find the position ──▶ publish ──▶ cut a tick ──▶ wait ─┐
 *      ▲               ▲                 ▲                             │
 *      │               │ moved, raced    └─────────────────────────────┘
 *      └──── any error: tear down, back off
 */
#ifndef UMAVEZ_RELAY_SHARD_H
#define UMAVEZ_RELAY_SHARD_H

#include "common/lease.h"
#include "common/reach.h"
#include "common/stream_id.h"
#include "relay/config.h"
#include "relay/status.h"

struct shard_context {
	const struct config *config;
	struct status *status;
	struct reach *reach;
	/* By shard: where its stream was last known to end.  From one worker of the shard to the
	 * next, of which there is one at a time: what Redis lost in between is noticed. */
	struct stream_id *ends;
};

/* A lease_worker_fn: ctx is the struct shard_context. */
void shard_run(struct lease *lease, void *ctx);

#endif
