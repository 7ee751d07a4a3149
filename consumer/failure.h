/*
 * failure.h - what to do after a batch could not be applied: a pure function of its past.
 *
 *              transient, or handler's error in a batch of many
 *   whole ───────────────────────────────────────────────▶ alone
 *     ▲  batches        (transient: from the third in a row)   │  one message a transaction
 *     └──────────── the last message of that batch is done ────┘
 *
 * While alone, a handler's error is that message's: it alone is tried again, with backoff, and its
 * shard waits for it.
 */
#ifndef UMAVEZ_CONSUMER_FAILURE_H
#define UMAVEZ_CONSUMER_FAILURE_H

#include "common/clock.h"
#include "common/stream_id.h"

#include <stdbool.h>
#include <stdint.h>

enum failure_kind {
	FAILURE_TRANSIENT, /* deadlock, serialisation, lock timeout, server away: nobody's fault */
	FAILURE_LOST,      /* the connection was lost while the handler ran: perhaps its fault */
	FAILURE_HANDLER,   /* the handler's error, or one raised at COMMIT by what it wrote */
};

/* Zeroed: nothing has failed. Kept by the caller, changed here only. */
struct failure {
	struct stream_id until; /* one message at a time while the cursor is before this */
	unsigned attempts;      /* failures in a row at one place: of a batch, or of a message */
};

struct failure_policy {
	int64_t retry_min_ms, retry_max_ms;
};

enum failure_action {
	FAILURE_BATCH_AGAIN,   /* the same again, whole, after wait_ms */
	FAILURE_ONE_BY_ONE,    /* from now on one message a transaction, at once */
	FAILURE_MESSAGE_AGAIN, /* this message alone again, after wait_ms */
};

struct failure_plan {
	enum failure_action action;
	int64_t wait_ms;
	unsigned attempt; /* how often this place has failed, from 1 */
};

/* A batch of n messages that ends at `last` was not applied. */
struct failure_plan failure_next(struct failure *f, enum failure_kind kind, uint64_t n,
    struct stream_id last, const struct failure_policy *policy, struct rng *rng);

/* A batch was applied, or somebody else applied it: the cursor is here now. */
void failure_over(struct failure *f, struct stream_id cursor);

/* Whether messages are to be applied one at a time. */
bool failure_alone(const struct failure *f);

#endif
