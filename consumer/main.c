/* umavez-consumer: Redis Streams to inbox and effects. */
#include "common/admin.h"
#include "common/clock.h"
#include "common/lease.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/metric.h"
#include "common/reach.h"
#include "common/service.h"
#include "consumer/config.h"
#include "consumer/counters.h"
#include "consumer/progress.h"
#include "consumer/purge.h"
#include "consumer/settings.h"
#include "consumer/shard.h"

#include <stdlib.h>

#define SETTINGS_RETRY_MIN_MS 100
#define SETTINGS_RETRY_MAX_MS 5000

/* Beyond --block: one command's timeout and one batch of a slow handler. */
#define SILENCE_MS 70000

static const char usage[] =
    "[OPTION]...\n\n"
    "Applies what the Redis Streams hold, each message once, with a SQL function.";

struct consumer {
	struct config config;
	char *instance;
	struct metrics *metrics;
	struct counters counters;
	struct progress *progress;
	struct admin *admin;
	struct settings settings;
	struct shard_options shard;
};

static bool ready(void *ctx, char *reason, size_t reason_size)
{
	const struct consumer *c = ctx;

	return progress_ready(c->progress, reason, reason_size);
}

/* A database that is away when the process starts is waited for, like later on. */
static int await_settings(struct consumer *c, struct err *err)
{
	struct rng rng;

	rng_seed_random(&rng);
	for (unsigned attempt = 0; !service_stopping(); attempt++) {
		struct err cause = ERR_INIT;

		if (settings_read(
			c->config.database_url, c->config.handler, &c->settings, &cause) == 0)
			return 0;
		if (cause.kind != ERR_RETRY) {
			*err = cause;
			return -1;
		}
		progress_why(c->progress, cause.message);
		if (attempt == 0)
			log_warn("the effects database is away", lf_err(&cause));
		service_wait(
		    backoff_ms(attempt, SETTINGS_RETRY_MIN_MS, SETTINGS_RETRY_MAX_MS, &rng));
	}
	return 0;
}

static struct shard_options shard_options(const struct consumer *c)
{
	const struct config *config = &c->config;

	return (struct shard_options){
	    .feed = {config->redis_url, config->name_space, config->consumer},
	    .inbox = {config->database_url, config->consumer, c->instance, c->settings.handler,
		config->lease_ms},
	    .failure = {config->retry_min_ms, config->retry_max_ms, (unsigned)config->max_attempts},
	    .batch = config->batch,
	    .block_ms = config->block_ms,
	    .counters = &c->counters,
	    .progress = c->progress,
	};
}

static void on_kept(void *ctx, const char *why)
{
	const struct shard_options *shard = ctx;

	progress_why(shard->progress, why);
}

static int run_shards(struct consumer *c, struct err *err)
{
	struct reach *reach = reach_new(c->config.redis_url, "MULTI", c->config.lease_ms);
	const struct lease_options options = {
	    .database_url = c->config.database_url,
	    .schema = "effects",
	    .consumer = c->config.consumer,
	    .holder = c->instance,
	    .lease_ms = c->config.lease_ms,
	    .shards = c->settings.shards,
	    .all = c->config.lease_off,
	    .worker = shard_run,
	    .kept = on_kept,
	    .ctx = &c->shard,
	    .reach = reach,
	};
	struct leases *leases = NULL;
	struct purge *purge = NULL;
	int rc = -1;

	c->shard = shard_options(c);
	c->shard.reach = reach;
	counters_shards(&c->counters, c->metrics, c->settings.shards);
	progress_shards(c->progress, c->settings.shards);
	if (leases_open(&options, &leases, err) < 0 ||
	    purge_start(&c->config, c->settings.shards, c->metrics, &purge, err) < 0)
		goto done;
	log_info("started", lf_str("consumer", c->config.consumer), lf_str("instance", c->instance),
	    lf_int("shards", c->settings.shards), lf_str("handler", c->settings.handler));
	leases_run(leases);
	rc = 0;
done:
	purge_stop(purge);
	leases_close(leases);
	reach_free(reach);
	return rc;
}

static int run(struct consumer *c, struct err *err)
{
	c->instance = c->config.instance ? mem_strdup(c->config.instance) : service_instance();
	c->metrics = metrics_new();
	counters_init(&c->counters, c->metrics, c->config.consumer);
	c->progress = progress_new(c->config.block_ms + SILENCE_MS);
	if (admin_open(c->config.admin_listen, c->metrics, ready, c, &c->admin, err) < 0)
		return -1;
	if (await_settings(c, err) < 0)
		return -1;
	return service_stopping() ? 0 : run_shards(c, err);
}

static void done(struct consumer *c)
{
	admin_close(c->admin);
	settings_done(&c->settings);
	counters_done(&c->counters);
	progress_free(c->progress);
	metrics_free(c->metrics);
	free(c->instance);
	option_done(config_options, &c->config);
}

int main(int argc, char **argv)
{
	struct consumer c = {.instance = NULL};
	struct err err = ERR_INIT;
	int status;

	if (!service_start(
		"umavez-consumer", usage, config_options, &c.config, argc, argv, &status))
		return status;
	if (config_check(&c.config, &err) < 0) {
		option_done(config_options, &c.config);
		return service_refuse(&err);
	}
	option_dump(config_options, &c.config);
	if (run(&c, &err) < 0)
		service_fail(&err);
	done(&c);
	return service_stopped();
}
