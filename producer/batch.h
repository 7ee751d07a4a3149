/*
 * batch.h - which notifications are committed together, and what to do when that fails.
 *
 * Pure.  Choosing: in order of arrival, but never two of one notification or two of one purchase in
 * one batch, nor one of either that another batch has under way; those wait.  So a batch never
 * waits for a lock that its own process holds, and notifications of a purchase are folded in as
 * they came.
 *
 * The plan: a batch is sent whole, and in parts when the database does not take it whole.
 */
#ifndef UMAVEZ_BATCH_H
#define UMAVEZ_BATCH_H

#include "common/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

struct batch_claim {
	struct batch_claim *next; /* in its bucket */
	const char *store, *id;
	uint64_t hash;
	bool purchase; /* the id of a purchase, not of a notification */
};

/* One notification that waits or is under way; embedded in what knows the rest of it. */
struct batch_item {
	const char *store, *notification_id;
	const char *store_purchase_id; /* NULL: none */
	size_t bytes;                  /* of the body */
	struct batch_claim claims[2];  /* the rest is batch.c's */
	TAILQ_ENTRY(batch_item) link;
};
TAILQ_HEAD(batch_queue, batch_item);

/* What the batches under way have taken. */
struct batch_claims;
struct batch_claims *batch_claims_new(size_t max_items);
void batch_claims_free(struct batch_claims *c); /* NULL is fine */

/* Call before the item is queued, with the first four members set; the strings stay until it is
 * released or taken from the queue. */
void batch_item_init(struct batch_item *item);

/* Bodies in one batch, but for a single one that is longer. */
#define BATCH_MAX_BYTES ((size_t)16 << 20)

/* Move at most max items from the queue to ret_items; how many. Release each when its fate is
 * known. */
size_t batch_choose(struct batch_queue *queue, struct batch_claims *claims, size_t max,
    struct batch_item **ret_items);
void batch_release(struct batch_claims *claims, struct batch_item *item);

/* Items begin to end - 1 of a batch, in one call of intake.receive. */
struct batch_range {
	size_t begin, end;
	bool again; /* the last attempt of this range */
};

struct batch_plan {
	struct batch_range *stack; /* room for one range an item; the next one is on top */
	size_t n;
};
void batch_plan_init(struct batch_plan *plan, size_t max_items);
void batch_plan_done(struct batch_plan *plan);

/* What came of sending a range. */
enum batch_event {
	BATCH_COMMITTED,
	BATCH_REFUSED, /* for its data: halve it until the culprit stands alone */
	BATCH_BUSY,    /* a lock or a deadlock: once more as it is, then one by one */
	BATCH_LOST,    /* the outcome is unknown, and the connection is of no more use */
};
enum batch_event batch_event_of(const struct err *err);

void batch_plan_begin(struct batch_plan *plan, size_t n_items);
bool batch_plan_next(struct batch_plan *plan, struct batch_range *ret_range); /* false: done */

/* True: the fate of the range's items is what the event says. False: it will be sent again, in
 * other parts. */
bool batch_plan_settle(struct batch_plan *plan, struct batch_range range, enum batch_event event);

#endif
