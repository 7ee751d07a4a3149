/*
 * shard_private.h - what the files behind shard.h share.
 */
#ifndef UMAVEZ_CONSUMER_SHARD_PRIVATE_H
#define UMAVEZ_CONSUMER_SHARD_PRIVATE_H

#include "common/clock.h"
#include "common/pace.h"
#include "consumer/shard.h"

#include <stdbool.h>

struct shard {
	const struct shard_options *options;
	struct lease *lease;
	unsigned n;
	struct feed *feed; /* with inbox: NULL between connections */
	struct inbox *inbox;
	struct rng rng;

	/* Caches of what Redis and the database say, dropped with the connections. */
	struct stream_id cursor;
	int64_t place; /* of the cursor, as lag_place() gives it */
	int64_t
	    looked_us; /* when shard_settle() last found nothing to do; 0: look before reading */

	bool bookmark_behind; /* the cursor has moved since it was set */
	int64_t bookmark_us;  /* when it was set */

	struct failure failure;
	unsigned errors;          /* connections given up in a row */
	struct stream_id failing; /* the message that failed last */
	struct pace error_pace, failing_pace, foreign_pace, await_pace, alone_pace;
	uint64_t foreign; /* entries passed over since the last word about them */
};

/*
 * Compare bookmark, cursor and stream, and do what position_next() says, one action a call.
 * *ret_ready: the cursor is known and may be read from.
 */
int shard_settle(struct shard *s, bool *ret_ready, struct err *err) warn_unused;
bool shard_settled(const struct shard *s);
void shard_unsettle(struct shard *s);

/* Read once and apply what came. After an error of a batch: wait as failure_next() says. */
int shard_step(struct shard *s, struct err *err) warn_unused;

/* Reads and writes work: what failed before is over. */
void shard_get_on(struct shard *s);

/* Tell Redis how far the cursor is, if it does not know. */
int shard_bookmark(struct shard *s, struct err *err) warn_unused;

#endif
