/*
 * trace.h - the life of one message: what is known of it, and what that means.
 *
 *   trace_find   which messages an ID names
 *   trace_read   the facts of one, from intake, effects and Redis
 *   trace_tell   the steps, the outcome and where it is stuck: a pure function of the facts
 */
#ifndef UMAVEZ_CLI_TRACE_H
#define UMAVEZ_CLI_TRACE_H

#include "cli/print.h"
#include "cli/reconcile.h"
#include "cli/stream.h"
#include "common/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sources;

#define TRACE_UNKNOWN INT64_MIN /* a time that nobody told */

struct trace_name {
	char *source, *message_id;
	int64_t outbox_id; /* 0: not known yet */
	/* Known only from the stream: */
	unsigned shard;
	struct stream_id position; /* 0-0: it is in the database */
};
void trace_names_free(struct trace_name *names, size_t n);

/*
 * What id may be, in this order: a stream ID, a trace id, a notification id, a purchase id, or the
 * id of an emitted event.  shard < 0: any.  *ret_n is 0 when nothing has that name.
 */
int trace_find(struct sources *sources, const char *id, int64_t shard,
    struct trace_name **ret_names, size_t *ret_n, struct err *err) warn_unused;

struct trace_position {
	struct stream_id id;
	int64_t ticked_ms;
	bool published;
	int64_t published_ms;
	char *relay; /* who published it; NULL: not known */
};

struct trace_consumer {
	char *name;
	char *holder; /* of the shard now; NULL: nobody */
	bool has_cursor;
	struct stream_id cursor;
	int64_t lag_entries; /* BACKLOG_UNKNOWN: without Redis */
	enum fate fate; /* of what is neither applied nor parked; FATE_WAITING: or not judged */
	bool applied;
	struct stream_id stream_id; /* applied from this entry; and the rest with it: */
	int64_t published_ms, delivered_ms, applied_ms;
	char *instance, *xid;
	char *discarded; /* applied without effects, and why; NULL: it took effect */
	char *parked;    /* its state in effects.parked; NULL: it is not there; with it: */
	char *error;
	char *remark; /* an operator's reason for a mark; NULL: none */
	int64_t starts, parked_ms, next_ms;
	char *ahead, *ahead_state, *ahead_error; /* of a held one: what it waits for */
};

struct trace {
	char *source, *message_id, *trace_id;
	char *kind, *native_type, *remark; /* of a notification */
	char *type, *xid;
	char *first_position; /* its row publishes again what stood here first; NULL: it is the
				 first */
	int64_t outbox_id;    /* with has_row */
	json_t *purchase;     /* NULL: none */
	bool is_notification, is_quarantined, has_row;
	bool is_emitted; /* by an application: no store's name is its source */
	int64_t received_ms, committed_ms, last_tick_ms, now_ms;
	unsigned shard; /* with has_row or a position */
	char *relay;    /* who holds the shard now; NULL: nobody */

	size_t n_positions; /* ascending */
	struct trace_position *positions;

	bool stream_known;
	struct stream_view stream;
	char *stream_problem; /* unless known */

	size_t n_consumers;
	struct trace_consumer *consumers;
};

/* consumer NULL: every one that has a cursor. */
int trace_read(struct sources *sources, const struct trace_name *name, const char *consumer,
    struct trace *ret_trace, struct err *err) warn_unused;
void trace_done(struct trace *t);

enum trace_step_kind {
	STEP_RECEIVED,
	STEP_COMMITTED,
	STEP_TICKED,
	STEP_PUBLISHED,
	STEP_REPUBLISHED, /* by a row of its own: umavez republish */
	STEP_DELIVERED,
	STEP_APPLIED,
	STEP_RETRYING,
	STEP_HELD,
	STEP_FAILED,
	STEP_DISCARDED,
};

struct trace_step {
	enum trace_step_kind kind;
	int64_t at_ms;    /* or TRACE_UNKNOWN */
	int64_t after_ms; /* since the step that led to it; TRACE_UNKNOWN also where that is not
			     shown */
	/* Borrowed from the trace; NULL, or 0-0: does not apply. */
	const char *by, *consumer, *xid;
	struct stream_id stream_id;
	bool trimmed;       /* published, and the entry that named the relay is gone */
	const char *reason; /* of an operator: why it is discarded */
	/* Of one that is parked: */
	const char *error;
	int64_t starts; /* 0: none, or not parked */
	int64_t next_ms;
};

enum trace_outcome {
	OUTCOME_APPLIED,
	OUTCOME_PENDING,
	OUTCOME_RETRYING,
	OUTCOME_HELD,
	OUTCOME_FAILED,
	OUTCOME_QUARANTINED,
	OUTCOME_UNPUBLISHED,
	OUTCOME_MISSED, /* trimmed before the consumer began: it will not apply it */
	OUTCOME_LOST,   /* the cursor is past it, and it is neither applied nor parked */
	OUTCOME_DISCARDED,
	OUTCOME_FORGOTTEN, /* retention has removed what would tell */
};

struct trace_verdict {
	size_t n_steps;
	struct trace_step *steps;
	enum trace_outcome outcome;
	enum trace_outcome *standings; /* of each consumer */
	char *stuck;                   /* what it waits for, one sentence; NULL: applied */
};

void trace_tell(const struct trace *t, struct trace_verdict *ret_verdict);
void trace_verdict_done(struct trace_verdict *v);

const char *trace_step_name(enum trace_step_kind kind);
const char *trace_outcome_name(enum trace_outcome outcome);

void trace_print_json(FILE *out, const struct trace *t, const struct trace_verdict *v);
void trace_print(const struct printer *p, const struct trace *t, const struct trace_verdict *v);

#endif
