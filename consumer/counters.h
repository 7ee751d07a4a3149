/*
 * counters.h - the consumer's metrics, by name.
 */
#ifndef UMAVEZ_CONSUMER_COUNTERS_H
#define UMAVEZ_CONSUMER_COUNTERS_H

#include <stddef.h>

struct metric;
struct metrics;

struct counters {
	/* umavez_messages_total */
	struct metric *applied, *duplicate, *malformed, *parked, *held, *failed;
	struct metric *retry_applied, *retry_failed, *retry_discarded; /* umavez_retries_total */
	struct metric *dead_letters; /* failed, of the shards held here */
	struct metric *end_to_end;   /* received by the producer to committed here, seconds */
	struct metric *apply;        /* one batch's transaction, seconds */
	struct metric *batch_size;
	struct metric *resets;  /* the stream had lost its end */
	struct metric *replays; /* the database had lost commits */
	struct metric *leases_held;
	struct metric **lag_entries, **lag_seconds; /* by shard; NULL before counters_shards() */
};

/* Everything but the array of shards belongs to m. */
void counters_init(struct counters *c, struct metrics *m, const char *consumer);
void counters_shards(struct counters *c, struct metrics *m, unsigned shards);
void counters_done(struct counters *c);

#endif
