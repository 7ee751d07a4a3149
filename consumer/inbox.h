/*
 * inbox.h - the consumer's statements in the effects database, for one shard.
 *
 * A batch is one transaction: inbox rows, the handler's effects and the cursor commit together or
 * not at all.  The inbox's primary key is what makes an effect happen once (P9); the cursor's
 * comparison lets only one of two owners of a shard go on, in stream order (P11).
 */
#ifndef UMAVEZ_CONSUMER_INBOX_H
#define UMAVEZ_CONSUMER_INBOX_H

#include "common/err.h"
#include "common/stream_id.h"
#include "consumer/failure.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct batch;
struct inbox;

struct inbox_options {
	const char *database_url;
	const char *consumer;
	const char *instance;
	const char *handler; /* settings.handler */
	int64_t lease_ms;
};

/* options are borrowed until inbox_close(). */
int inbox_open(const struct inbox_options *options, unsigned shard, struct inbox **ret_inbox,
    struct err *err) warn_unused;
void inbox_close(struct inbox *b); /* NULL is fine */

/* The stored cursor; made at 0-0 where there is none. */
int inbox_cursor(struct inbox *b, struct stream_id *ret_cursor, struct err *err) warn_unused;

/* Compare and set, in a transaction of its own. *ret_moved false: it was not at `from`. */
int inbox_move_cursor(struct inbox *b, struct stream_id from, struct stream_id to, bool *ret_moved,
    struct err *err) warn_unused;

struct inbox_outcome {
	bool moved;     /* false: the cursor was not at `from`; nothing was written */
	size_t applied; /* the rest of the batch is held, or had been applied or parked before */
	size_t held;    /* parked now behind an earlier message of their subject */
};

/* Count a start of the entry at `at`, never further than `most` and one, in a transaction of its
 * own. *ret_moved false: the cursor was not at `from`. */
int inbox_start(struct inbox *b, struct stream_id from, struct stream_id at, unsigned most,
    unsigned *ret_starts, bool *ret_moved, struct err *err) warn_unused;

/*
 * Apply everything after `from` and move the cursor to batch->last.  After a failure the
 * transaction is rolled back, or its outcome is unknown (COMMIT was sent): the stored cursor tells.
 * inbox_failure() says whose fault it was; if inbox_broken(), close and open again.
 */
int inbox_apply(struct inbox *b, struct stream_id from, const struct batch *batch,
    struct inbox_outcome *ret_outcome, struct err *err) warn_unused;
enum failure_kind inbox_failure(const struct inbox *b, const struct err *err);
bool inbox_broken(const struct inbox *b);

#endif
