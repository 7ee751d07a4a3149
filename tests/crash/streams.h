/*
 * streams.h - Redis, as tests ill-treat it, and the question whether the streams have come back.
 */
#ifndef UMAVEZ_TESTS_CRASH_STREAMS_H
#define UMAVEZ_TESTS_CRASH_STREAMS_H

#include "common/stream_id.h"
#include "tests/support/witness.h"

#include <stdbool.h>
#include <stdint.h>

#define STREAM "umavez:purchases:{%u}"

/* Where a group has got to; 0-0: there is no such group. */
struct stream_id streams_bookmark(struct world *w, unsigned shard, const char *group);

/* Note the IDs that the streams hold now, beside those noted before. */
void streams_remember(struct world *w);

/* How many of the noted IDs are not there (any more). Looks at the streams anew. */
int64_t streams_forgotten(struct world *w);

/* Until every outbox row is in its stream, and every noted ID. */
bool streams_await_complete(struct world *w, int64_t timeout_ms);

#endif
