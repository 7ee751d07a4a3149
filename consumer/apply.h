/*
 * apply.h - a batch as the parameters of effects.apply_batch().
 */
#ifndef UMAVEZ_CONSUMER_APPLY_H
#define UMAVEZ_CONSUMER_APPLY_H

#include "common/pg_array.h"
#include "common/stream_id.h"

struct batch;
struct inbox_options;

enum { APPLY_COLUMNS = 8, APPLY_PARAMS = 15 };

/* values, lengths and formats are for pg_run_params(). */
struct apply_params {
	const char *values[APPLY_PARAMS];
	int lengths[APPLY_PARAMS];
	int formats[APPLY_PARAMS];
	struct pg_array columns[APPLY_COLUMNS];
	char from[STREAM_ID_SIZE], to[STREAM_ID_SIZE], read_at[40];
};

/* Everything is borrowed until apply_params_done(); *ret_p must stay where it is. */
void apply_params_init(struct apply_params *ret_p, const struct inbox_options *options,
    const char *shard, struct stream_id from, const struct batch *batch);
void apply_params_done(struct apply_params *p);

#endif
