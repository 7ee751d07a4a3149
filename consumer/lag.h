/*
 * lag.h - how many entries of a stream are still to be applied.
 *
 * Redis 7 counts every entry ever added. Once the place of the cursor in that count is known (at
 * either end of the stream it is) the lag is a difference, and XGROUP SETID ... ENTRIESREAD lets
 * XINFO GROUPS show it too: https://redis.io/docs/latest/commands/xinfo-groups/ Until then, and on
 * older servers, the length of the stream is the upper bound that we can tell.
 */
#ifndef UMAVEZ_CONSUMER_LAG_H
#define UMAVEZ_CONSUMER_LAG_H

#include "common/stream_id.h"

#include <stdint.h>

#define LAG_UNKNOWN (-1)

struct stream_size {
	int64_t length;
	int64_t added;          /* ever; LAG_UNKNOWN: an older server */
	struct stream_id first; /* of the oldest entry; 0-0: none */
	struct stream_id end;   /* the last generated ID */
};

/* How many of the entries ever added lie at or before cursor; known is what it was, if known. */
int64_t lag_place(const struct stream_size *size, struct stream_id cursor, int64_t known);

/* Entries after cursor, which has that place. */
int64_t lag_entries(const struct stream_size *size, struct stream_id cursor, int64_t place);

#endif
