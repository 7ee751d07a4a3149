/*
 * failure.h - what to do after messages could not be applied: a pure function of their past.
 *
 *              transient, or handler's error in a batch of many
 *   whole ───────────────────────────────────────────────▶ alone
 *     ▲  batches   (transient: from the third in a row)      │  one message a transaction
 *     └─────────── the last message of that batch is done ───┘
 *
 * Alone, a message's attempts are counted in the database before each of them: one that kills this
 * process, or its session, leaves no other trace.  So the first batch after a takeover goes alone
 * too: the previous owner may have died of it.
 *
 * A message alone that fails is parked, and its shard goes on.  Transient errors park it as well
 * from the third in a row on: if the database takes the transaction that parks it, then it is not
 * the database's trouble.
 */
#ifndef UMAVEZ_CONSUMER_FAILURE_H
#define UMAVEZ_CONSUMER_FAILURE_H

#include "common/clock.h"
#include "common/stream_id.h"

#include <stdbool.h>
#include <stdint.h>

enum failure_kind {
	FAILURE_AWAY,      /* no session, and the handler had not run: nobody's fault */
	FAILURE_TRANSIENT, /* deadlock, serialisation, timeout, no space: not its fault at first */
	FAILURE_LOST,      /* the session was lost while the handler ran: perhaps its fault */
	FAILURE_HANDLER,   /* the handler's error, or one raised at COMMIT by what it wrote */
};

/* Zeroed: nothing has failed. Kept by the caller, changed here only. */
struct failure {
	bool first;             /* nothing has been read since the takeover */
	struct stream_id until; /* one message at a time while the cursor is before this */
	unsigned attempts;      /* failures in a row at one place: of a batch, or of a message */
	unsigned starts;        /* of the message that is alone now; 0: this one is not counted */
};

struct failure_policy {
	int64_t retry_min_ms, retry_max_ms;
	unsigned max_attempts;
};

/* As effects.parked.state says them. */
enum parked_state { PARKED_RETRYING, PARKED_HELD, PARKED_FAILED, PARKED_RETRY, PARKED_DISCARD };
const char *parked_state_name(enum parked_state state);
bool parked_state_parse(const char *name, enum parked_state *ret_state);

/* What becomes of a message that was started this often and failed each time. */
struct parking {
	enum parked_state state; /* RETRYING or FAILED */
	unsigned starts;
	int64_t wait_ms; /* until it is due again */
};
struct parking failure_parking(
    unsigned starts, const struct failure_policy *policy, struct rng *rng);

enum failure_action {
	FAILURE_AGAIN,      /* the same again after wait_ms */
	FAILURE_ONE_BY_ONE, /* from now on one message a transaction, at once */
	FAILURE_PARK,       /* this message, as parking says */
};

struct failure_plan {
	enum failure_action action;
	int64_t wait_ms;
	unsigned attempt; /* how often this place has failed, from 1 */
	struct parking parking;
};

/* The shard is ours now. */
void failure_took_over(struct failure *f);

/* A batch of n messages that ends at `last` was read.  True: read it again, one by one. */
bool failure_divides(struct failure *f, uint64_t n, struct stream_id last);

/* Whether messages are to be read one at a time. */
bool failure_alone(const struct failure *f);

/* Whether a batch of n must be counted as a start before it is applied; and then how often the
 * database has counted it, this time included.  False: once too often, give it up. */
bool failure_counts(const struct failure *f, uint64_t n);
bool failure_started(struct failure *f, unsigned starts, const struct failure_policy *policy);

/* A batch of n messages that ends at `last` was not applied. */
struct failure_plan failure_next(struct failure *f, enum failure_kind kind, uint64_t n,
    struct stream_id last, const struct failure_policy *policy, struct rng *rng);

/* A batch was applied or parked: the cursor is here now. */
void failure_over(struct failure *f, struct stream_id cursor);

/* Somebody else has moved the cursor, or it was set back: nothing of the past matters. */
void failure_elsewhere(struct failure *f);

enum due_action {
	DUE_START,   /* count a start, apply it */
	DUE_GIVE_UP, /* the last start was one too many, and killed whoever made it */
	DUE_DISCARD,
};

/* What to do with a parked message whose time has come. */
enum due_action failure_due(
    enum parked_state state, unsigned starts, const struct failure_policy *policy);

#endif
