/*
 * position.h - "where am I?": from what the stream ends with, what the chain of ticks says and what
 * groups have acknowledged, to what the relay does next.  Pure: no I/O, no clock.
 *
 * A position is a stream ID, <tick>-<outbox id>.  The relay trusts entries, not numbers: `own` is
 * the newest entry that stands for a row of the outbox, `last` only the stream's last ID.
 */
#ifndef UMAVEZ_RELAY_POSITION_H
#define UMAVEZ_RELAY_POSITION_H

#include "common/stream_id.h"

#include <stdbool.h>
#include <stdint.h>

enum stream_kind {
	STREAM_MISSING,
	STREAM_PRESENT,
	STREAM_WRONG_TYPE, /* the key holds something else */
};

struct position_input {
	enum stream_kind kind;
	struct stream_id last; /* 0-0: never had an entry */
	struct stream_id own;  /* 0-0: none */
	uint64_t above; /* entries above own: foreign ones, or commits that this database lost */
	struct stream_id stray; /* the newest of those that was ours until a repair; 0-0: none */

	/* Rows at or before this position are no longer retained; 0-0: all are. */
	struct stream_id oldest;
	/* Up to here retention let them go, once every group had acknowledged them; 0-0: none. */
	struct stream_id released;
	/* The first row after position_start(); 0-0: none yet. */
	struct stream_id unpublished;

	bool has_acknowledged;
	struct stream_id acknowledged; /* the lowest of all groups ever seen */

	/* Where this process last knew the stream to end, or 0-0.  A cache: it only tells that
	 * entries were lost, never where to go on. */
	struct stream_id known;

	int64_t margin_ms;
	int64_t now_ms; /* the database's clock */
};

enum position_action {
	POSITION_GO_ON,
	POSITION_REPAIR, /* cut a repair tick above last, of every row after start; or after where a
			    repair began that made start void */
	POSITION_PAUSE,  /* somebody must reset the stream */
};

enum position_reason { PAUSE_NONE, PAUSE_WRONG_TYPE, PAUSE_FAR_FUTURE };

struct position {
	enum position_action action;
	enum position_reason reason;
	struct stream_id start; /* publish what comes after this */
	bool rewind;            /* Redis lost entries that were there before */
	bool gap;               /* rows after the stream's end are no longer retained */
	bool aside;             /* copy the entries above own away */
	bool setback; /* the next append sets back groups that are beyond the stream's end */
};

/* A last ID further ahead of the database's clock than this is no clock's difference. */
#define POSITION_FUTURE_MS (INT64_C(24) * 60 * 60 * 1000)

/* After which position unpublished rows begin; looks at all but `unpublished`. */
struct stream_id position_start(const struct position_input *in);

struct position position_decide(const struct position_input *in);

/* For the log: what it is, and which command ends it. */
const char *position_reason_text(enum position_reason reason);

#endif
