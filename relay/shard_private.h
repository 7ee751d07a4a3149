/*
 * shard_private.h - what the parts of a shard's loop share: shard.c goes round, place.c finds where
 * to go on, chore.c does what is due from time to time.
 */
#ifndef UMAVEZ_RELAY_SHARD_PRIVATE_H
#define UMAVEZ_RELAY_SHARD_PRIVATE_H

#include "common/clock.h"
#include "common/err.h"
#include "common/log.h"
#include "relay/chain.h"
#include "relay/db.h"
#include "relay/publisher.h"
#include "relay/replay.h"
#include "relay/shard.h"
#include "relay/status.h"
#include "relay/stream.h"
#include "relay/trim.h"

#include <stdbool.h>
#include <stdint.h>

struct shard {
	const struct config *config;
	struct shard_status *status;
	struct reach *reach;
	struct lease *lease;
	unsigned number;
	struct rng rng;

	/* Kept over sessions; the first also over workers. */
	struct stream_id known; /* where the stream was last known to end */
	int64_t silence_ms;     /* how long PostgreSQL may say nothing */
	int64_t trim_due_us, floor_due_us;
	struct trim *trim;
	struct replay *replay;

	/* One session. */
	struct db *db;
	struct stream *stream;
	struct publisher *publisher;
	bool placed;  /* the position is known; the next four belong to it */
	bool drained; /* nothing in the chain of ticks is left to publish */
	bool due;     /* rows may have come since the last look */
	int64_t last_tick, least_tick;
	int64_t poll_due_us;
	int64_t cut_us; /* when the last tick with rows was cut */
	bool healthy;   /* something was achieved: the next failure is the first one */
};

static inline struct log_field lf_shard(const struct shard *s)
{
	return lf_int("shard", s->number);
}

/* Somebody must act: say so, and wait until the next poll. */
void shard_pause(struct shard *s, const char *why);

/* Find the position. s->placed stays false when it is to be looked for again. */
int place_shard(struct shard *s, struct err *err) warn_unused;

/* Poll the stream, answer consumers, trim, lift the floor: each when it is due. */
int chore_run(struct shard *s, struct err *err) warn_unused;
/* Trim now. */
int chore_trim(struct shard *s, struct err *err) warn_unused;

#endif
