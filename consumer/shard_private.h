/*
 * shard_private.h - what the files behind shard.h share.
 */
#ifndef UMAVEZ_CONSUMER_SHARD_PRIVATE_H
#define UMAVEZ_CONSUMER_SHARD_PRIVATE_H

#include "common/clock.h"
#include "common/pace.h"
#include "consumer/shard.h"

#include <stdbool.h>

struct batch;
struct event;
struct parked;

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
	/* All entries from the cursor up to `end`, when last read: n, and no messages. */
	struct {
		size_t n;
		struct stream_id end;
	} ahead;
	/* When shard_settle() last found nothing to do; 0: look before reading. */
	int64_t looked_us;

	bool bookmark_behind; /* the cursor has moved since it was set */
	int64_t bookmark_us;  /* when it was set */

	struct failure failure;
	/* What the last session said that ended while one message was handled, and which. */
	struct {
		struct stream_id at; /* 0-0: none has */
		struct err why;
	} ended;
	int64_t parked_us; /* when to look at what is parked */
	int64_t failed;    /* dead letters, when last counted */
	int64_t count_us;  /* when to count them again */
	unsigned errors;   /* connections given up in a row */
	struct pace error_pace, limit_pace, await_pace, failure_pace;
	struct stream_id counted; /* up to here, entries that are no messages are in the metric */
	struct tally foreign;     /* entries passed over */
};

/*
 * Compare bookmark, cursor and stream, and do what position_next() says, one action a call.
 * *ret_ready: the cursor is known and may be read from.
 */
int shard_settle(struct shard *s, bool *ret_ready, struct err *err) warn_unused;
bool shard_settled(const struct shard *s);
void shard_unsettle(struct shard *s);

/* What comes next, to be passed as a whole. *ret_batch is NULL when there is nothing yet. */
int shard_read(
    struct shard *s, int64_t block_ms, struct batch **ret_batch, struct err *err) warn_unused;

/* Read once and apply what came. After an error of a batch: wait as failure_next() says. */
int shard_step(struct shard *s, struct err *err) warn_unused;

/* Turn to the parked messages that are due, for a moment. */
int shard_retry(struct shard *s, struct err *err) warn_unused;
void shard_retry_soon(struct shard *s); /* something was parked */
int64_t shard_retry_due_ms(const struct shard *s);
void shard_retry_leave(struct shard *s); /* the next owner tells of the shard's dead letters */

/* What the log says of failures; why is the handler's error. */
void shard_tell_parked(const struct shard *s, const struct event *event,
    const struct parking *parking, const struct err *why);
void shard_tell_retried(const struct shard *s, const struct parked *p,
    const struct parking *parking, const struct err *why);
void shard_tell_plan(
    struct shard *s, const struct batch *batch, struct failure_plan plan, const struct err *why);

/* A session ended while this message was handled; and, when it is given up, what to say of it. */
void shard_note_end(struct shard *s, struct stream_id at, const struct err *why);
void shard_why_ended(
    const struct shard *s, struct stream_id at, const char *during, struct err *ret_why);

/* Reads and writes work: what failed before is over. */
void shard_get_on(struct shard *s);

/* Tell Redis how far the cursor is, if it does not know. */
int shard_bookmark(struct shard *s, struct err *err) warn_unused;

#endif
