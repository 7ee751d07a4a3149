/*
 * config.h - the consumer's options.
 */
#ifndef UMAVEZ_CONSUMER_CONFIG_H
#define UMAVEZ_CONSUMER_CONFIG_H

#include "common/err.h"
#include "common/option.h"

#include <stdbool.h>
#include <stdint.h>

struct config {
	char *database_url;
	char *redis_url;
	char *consumer;
	char *handler;
	char *instance; /* NULL: service_instance() */
	char *name_space;
	char *admin_listen;
	int64_t batch;
	int64_t block_ms;
	int64_t lease_ms;
	int64_t retry_min_ms;
	int64_t retry_max_ms;
	int64_t max_attempts;
	int64_t inbox_retention_ms;
	int64_t retention_interval_ms;
	bool lease_off;
	int log_level;
	int log_format;
};

extern const struct option config_options[];

/* What a table of single rows cannot say. ERR_USAGE. */
int config_check(const struct config *c, struct err *err) warn_unused;

#endif
