/*
 * config.h - what `umavez simulate` was asked for.
 */
#ifndef UMAVEZ_SIMULATE_CONFIG_H
#define UMAVEZ_SIMULATE_CONFIG_H

#include "common/option.h"

struct config {
	int64_t notifications;
	double duplicates, reorder;
	struct option_list stores; /* none: all */
	unsigned store_mask;       /* the same as bits, 1 << LOAD_STRIPE; 0: all */
	int64_t shards;
	struct option_list crash, kill; /* as given; plan.h reads them */
	int64_t kill_random;
	int64_t seed; /* 0: none was given */
	char *handler;
	struct option_list schema_files;
	char *effect_query;
	int64_t timeout_ms;
	bool trace, keep, json, quiet;
};

/* What umavez migrate makes. */
#define CONFIG_DEFAULT_HANDLER "effects.apply_purchase"

extern const struct option config_options[];
extern const char config_usage[];

/* What a row of the table cannot check, and store_mask. */
int config_check(struct config *c, struct err *err) warn_unused;

#endif
