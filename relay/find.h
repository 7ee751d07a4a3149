/*
 * find.h - gather what position.h decides on, from Redis and PostgreSQL, and decide.
 */
#ifndef UMAVEZ_RELAY_FIND_H
#define UMAVEZ_RELAY_FIND_H

#include "common/err.h"
#include "relay/chain.h"
#include "relay/db.h"
#include "relay/position.h"
#include "relay/stream.h"

#include <stdint.h>

struct finding {
	struct position_input input;
	struct position position;
	struct stream_state stream;
	struct chain chain;
	int64_t least_tick; /* above the stream's last ID and every group's position */
};

/* known: where this process last knew the stream to end, or 0-0. */
int find_position(struct db *db, struct stream *stream, struct stream_id known, int64_t margin_ms,
    struct finding *ret_finding, struct err *err) warn_unused;

#endif
