/*
 * feed.h - one shard's Redis stream, as this consumer reads it.
 *
 * Plain XREAD from the cursor: nothing is ever pending in Redis, so nothing has to be claimed. The
 * consumer's group serves as bookmark only: it shows the lag to every tool and keeps the relay from
 * trimming what is not applied yet.
 *
 * Redis commands used, all that its user needs: XREAD, XINFO, XGROUP CREATE and SETID on the
 * stream; HMGET, HSET, HDEL on <namespace>:replay:{shard}; MULTI, EXEC; in a cluster also EXISTS on
 * the stream, and ASKING.
 */
#ifndef UMAVEZ_CONSUMER_FEED_H
#define UMAVEZ_CONSUMER_FEED_H

#include "common/err.h"
#include "consumer/lag.h"
#include "consumer/position.h"

#include <stdbool.h>
#include <stdint.h>

struct batch;
struct feed;

struct feed_options {
	const char *redis_url;
	const char *name_space;
	const char *consumer;
};

/* options are borrowed until feed_close().  After ERR_RETRY from any verb: close, open again. */
int feed_open(const struct feed_options *options, unsigned shard, struct feed **ret_feed,
    struct err *err) warn_unused;
void feed_close(struct feed *f); /* NULL is fine */

/* Redis does not answer, and will not on this connection. */
bool feed_broken(const struct feed *f);

/* Facts for position_next(): has_group, bookmark and replay before the cursor is read from the
 * database, then the stream's (which completes the same standing). */
int feed_look_at_group(struct feed *f, struct standing *ret_standing, struct err *err) warn_unused;
int feed_look_at_stream(struct feed *f, struct standing *ret_standing, struct stream_size *ret_size,
    struct err *err) warn_unused;

/* Entries after `from`, up to the most-th message, waiting at most block_ms (at least 1) for the
 * first one.  beside: how many more entries to read, since as many are no messages.  *ret_batch is
 * NULL when there is none, else the caller's: batch_free(). */
int feed_read(struct feed *f, struct stream_id from, int64_t most, int64_t beside, int64_t block_ms,
    struct batch **ret_batch, struct err *err) warn_unused;

/* From the beginning, never from `$`; one that exists already is success. */
int feed_make_group(struct feed *f, struct err *err) warn_unused;

/* place as lag_place() gives it.  *ret_there false: stream or group is gone, nothing was set. */
int feed_set_bookmark(struct feed *f, struct stream_id at, int64_t place, bool *ret_there,
    struct err *err) warn_unused;

/* Set the bookmark back to cursor and ask for a replay of what follows it, both or neither: a
 * bookmark set back without the question would hide that commits were lost. */
int feed_ask(struct feed *f, struct stream_id cursor, struct err *err) warn_unused;

/* Remove question and answer and set the bookmark to cursor, both or neither: with the one gone and
 * the other still where it was set back to, commits lost once more would leave no sign. */
int feed_forget(struct feed *f, struct stream_id cursor, struct err *err) warn_unused;

#endif
