/*
 * shard.h - one shard's worker: read, apply, bookmark, in a straight loop.
 *
 * Connect both sides, compare the cursor with the stream, work until an error, tear down, back off
 * with jitter, repeat.  All that must survive is in the database: a worker can die anywhere.
 */
#ifndef UMAVEZ_CONSUMER_SHARD_H
#define UMAVEZ_CONSUMER_SHARD_H

#include "consumer/failure.h"
#include "consumer/feed.h"
#include "consumer/inbox.h"

#include <stdint.h>

struct counters;
struct lease;
struct progress;
struct reach;

struct shard_options {
	struct feed_options feed;
	struct inbox_options inbox;
	struct failure_policy failure;
	int64_t batch;    /* messages in one transaction, at most */
	int64_t block_ms; /* how long a read waits for the first entry */
	const struct counters *counters;
	struct progress *progress;
	struct reach *reach;
};

/* A lease_worker_fn: ctx is a struct shard_options, borrowed. */
void shard_run(struct lease *lease, void *ctx);

#endif
