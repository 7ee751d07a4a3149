/*
 * publisher.h - rows from the outbox to the stream: one append in flight, the next one being read.
 */
#ifndef UMAVEZ_RELAY_PUBLISHER_H
#define UMAVEZ_RELAY_PUBLISHER_H

#include "common/err.h"
#include "common/lease.h"
#include "common/stream_id.h"
#include "relay/batch.h"
#include "relay/config.h"
#include "relay/db.h"
#include "relay/status.h"
#include "relay/stream.h"

#include <stdbool.h>
#include <stdint.h>

struct publisher;

/* Everything is borrowed. */
struct publisher *publisher_new(
    const struct config *config, struct db *db, struct stream *stream, struct shard_status *status);
void publisher_free(struct publisher *p); /* NULL is fine */

struct publish_from {
	struct stream_id position; /* publish what comes after this */
	struct stream_id expected; /* where the stream ends */
	struct stream_id own;      /* its newest entry of ours, or 0-0 */
	int64_t length;            /* of the stream */
	bool setback;              /* set groups back with the first append */
};
/* last_tick: where the chain of ticks ends; the same for the next two. */
void publisher_start(struct publisher *p, const struct publish_from *from, int64_t last_tick);

/* The chain has become longer than that. */
void publisher_upto(struct publisher *p, int64_t last_tick);
/* By this tick, whose rows, if there are any, may be in the batch. */
void publisher_extend(struct publisher *p, int64_t tick, bool has_rows);
/* Empty, between two runs: for the rows of a tick that is about to be cut. */
struct batch *publisher_batch(struct publisher *p);

enum publish_end {
	PUBLISH_DONE,      /* the chain of ticks ends here */
	PUBLISH_MOVED,     /* the stream did not end where it should: find the position */
	PUBLISH_FULL,      /* the stream is as long as it may get */
	PUBLISH_TOO_LARGE, /* the next row is too large for an event: publisher_obstacle() */
	PUBLISH_STOPPED,   /* the time was up, or the lease is lost */
};

/* Publish until one of the above; an error leaves both connections to be closed. */
int publisher_run(struct publisher *p, const struct lease *lease, int64_t until_us,
    enum publish_end *ret_end, struct err *err) warn_unused;

/* After PUBLISH_TOO_LARGE: which row, and what to do. */
const char *publisher_obstacle(const struct publisher *p);

/* As publisher_start() set it and appends have moved it. */
const struct publish_from *publisher_at(const struct publisher *p);
void publisher_set_length(struct publisher *p, int64_t length);

/*
 * A consumer waits for this tick to begin; 0: none does.  Its group holds the stream back until
 * then, so that a stream that is full must grow up to there, or it would stay full for ever.
 */
void publisher_promise(struct publisher *p, int64_t tick);

/*
 * Every group has acknowledged this entry of ours.  While it is the newest, the stream is not full,
 * however long it is: consumers pass what others have added with the next message.
 */
void publisher_acknowledged(struct publisher *p, struct stream_id own);
bool publisher_is_full(const struct publisher *p);

#endif
