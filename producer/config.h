/*
 * config.h - what the producer can be told.
 */
#ifndef UMAVEZ_PRODUCER_CONFIG_H
#define UMAVEZ_PRODUCER_CONFIG_H

#include "common/option.h"

#include <stdbool.h>
#include <stdint.h>

struct config {
	char *database_url;
	char *listen, *admin_listen;
	char *instance;  /* NULL: service_instance() */
	int64_t threads; /* 0: one a core */
	int64_t database_connections, batch, queue;
	int64_t max_body; /* bytes */
	int64_t request_timeout_ms, drain_timeout_ms;
	int64_t body_retention_ms, retention_interval_ms;
	bool trust_traceparent;
	struct option_list stripe_secrets, stripe_test_secrets;
	int64_t stripe_tolerance_ms;
	struct option_list apple_bundle_ids, apple_app_ids, apple_root_files;
	bool apple_ocsp;
	char *google_audience, *google_push_account, *google_jwks_url, *google_jwks_file;
	struct option_list google_packages;
	int log_level, log_format;
};

extern const struct option config_options[];

/* What the rows of the table cannot say by themselves. ERR_USAGE names the option. */
int config_check(const struct config *config, struct err *err) warn_unused;

bool config_has_app_store(const struct config *config);
bool config_has_google_play(const struct config *config);
bool config_has_stripe(const struct config *config);

#endif
