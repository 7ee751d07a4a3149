/*
 * past.h - time travel for tests of retention: partitions, rows and ticks of days that are over.
 */
#ifndef UMAVEZ_TESTS_SCHEMA_PAST_H
#define UMAVEZ_TESTS_SCHEMA_PAST_H

#include "tests/support/world.h"

/* Partitions of outbox that past_make() makes and that ended seven days ago, or more. */
#define PAST_OLD 4

/* Empty outbox and tick, of any number of shards, with partitions of 30, 20 and 9 to 0 days ago,
 * and every partition of tick since. No group is registered. */
void past_make(struct world *w);

/* One row of a shard, written so many days ago, as far as created_at tells; its message id. */
void past_row(struct world *w, int shard, int days_ago, const char *message_id);

/* The next tick of a shard, of what is visible now, named by a time so many days ago. */
void past_tick(struct world *w, int shard, int days_ago);

/* Group "g" of a shard has acknowledged everything up to its last tick. */
void past_acknowledge(struct world *w, int shard);

#endif
