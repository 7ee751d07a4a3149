/*
 * parked.h - messages that could not be applied: the consumer's statements about effects.parked.
 *
 * The rules are in schema/006_effects_park.sql: every move into or out of the table holds the row
 * lock of the shard's cursor, and whoever has counted a start owns the row as long as the count is
 * the same.  *ret_moved false says that somebody else has moved it, and that nothing was written.
 */
#ifndef UMAVEZ_CONSUMER_PARKED_H
#define UMAVEZ_CONSUMER_PARKED_H

#include "common/err.h"
#include "common/stream_id.h"
#include "consumer/failure.h"

#include <stdbool.h>
#include <stdint.h>

struct batch;
struct inbox;

/* The parked message whose turn is next. Free with parked_done(). */
struct parked {
	char *source, *message_id, *subject; /* NULL: there is none */
	struct stream_id stream_id;
	enum parked_state state;
	unsigned starts;
	int64_t wait_ms; /* until it is due; 0: it is */
};
int parked_next(struct inbox *b, struct parked *ret_parked, struct err *err) warn_unused;
void parked_done(struct parked *p);

/* Park the only message of this batch and move the cursor to its end, in one transaction. */
int parked_add(struct inbox *b, struct stream_id from, const struct batch *batch,
    const struct parking *parking, const struct err *why, bool *ret_moved,
    struct err *err) warn_unused;

/* Count a start; it is due again after wait_ms, should nothing more be heard of it. */
int parked_start(struct inbox *b, struct parked *p, int64_t wait_ms, bool *ret_moved,
    struct err *err) warn_unused;

/* Apply it, or pass over a discarded one: inbox row, effects, its row's end and the next one's turn
 * in one transaction.  After a failure inbox_failure() and inbox_broken() tell as for a batch. */
int parked_release(
    struct inbox *b, const struct parked *p, bool *ret_moved, struct err *err) warn_unused;

/* It failed. */
int parked_fail(struct inbox *b, const struct parked *p, const struct parking *parking,
    const struct err *why, bool *ret_moved, struct err *err) warn_unused;

/* How many of the shard are failed. */
int parked_failed(struct inbox *b, int64_t *ret_n, struct err *err) warn_unused;

#endif
