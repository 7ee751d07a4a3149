/*
 * config.h - the relay's options.
 */
#ifndef UMAVEZ_RELAY_CONFIG_H
#define UMAVEZ_RELAY_CONFIG_H

#include "common/option.h"

#include <stdbool.h>
#include <stdint.h>

/* Sizes in bytes. */
struct config {
	char *database_url;
	char *redis_url;
	char *admin_listen;
	char *instance;
	char *name_space;
	int64_t poll_interval_ms;
	int64_t tick_interval_ms;
	int64_t lease_ms;
	int64_t append_batch;
	int64_t max_event;
	int64_t stream_max_length;
	int64_t replay_margin_ms;
	int64_t trim_interval_ms;
	int64_t retention_ms;
	int64_t retention_interval_ms;
	bool lease_off;
	int log_level;
	int log_format;
};

extern const struct option config_options[];

#endif
