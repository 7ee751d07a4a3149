#include "common/admin.h"
#include "common/clock.h"
#include "common/lease.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/metric.h"
#include "common/pace.h"
#include "common/reach.h"
#include "common/service.h"
#include "relay/config.h"
#include "relay/db.h"
#include "relay/retention.h"
#include "relay/shard.h"
#include "relay/status.h"

#include <stdlib.h>

#define RETRY_MS 1000
#define LOG_PACE_MS 60000

/* A shard that does nothing for this long is stuck, whatever it waits for. */
#define STALL_MS 15000

static const char usage[] = "[OPTION]...\n\n"
			    "Publishes what intake.outbox holds to Redis Streams.";

/* It may come up after us. */
static int await_database(const struct config *c, struct status *status, unsigned *ret_shards)
{
	struct pace pace = {0};

	while (!service_stopping()) {
		struct err err = ERR_INIT;

		if (db_shards(c->database_url, ret_shards, &err) == 0)
			return 0;
		if (err.kind != ERR_RETRY) {
			service_fail(&err);
			return -1;
		}
		if (service_stopping())
			break;
		if (pace_due(&pace, clock_mono_us(), LOG_PACE_MS))
			log_warn("waiting for the database", lf_err(&err));
		status_waiting(status, err.message);
		service_wait(RETRY_MS);
	}
	return -1;
}

static void on_kept(void *ctx, const char *why)
{
	const struct shard_context *context = ctx;

	status_waiting(context->status, why);
}

static int run_leases(
    struct config *c, struct status *status, struct metrics *metrics, struct err *err)
{
	struct shard_context context = {.config = c, .status = status};
	struct retention *retention = NULL;
	struct leases *leases = NULL;
	unsigned shards;
	int rc = -1;

	if (await_database(c, status, &shards) < 0)
		return 0;
	status_start(status, shards);
	context.reach = reach_new(c->redis_url, "SCRIPT LOAD return", c->lease_ms);
	context.ends = mem_zalloc(shards, sizeof(*context.ends));

	struct lease_options options = {.database_url = c->database_url,
	    .schema = "intake",
	    .holder = c->instance,
	    .lease_ms = c->lease_ms,
	    .shards = shards,
	    .all = c->lease_off,
	    .worker = shard_run,
	    .kept = on_kept,
	    .ctx = &context,
	    .reach = context.reach};
	if (retention_start(c, status, metrics, &retention, err) < 0 ||
	    leases_open(&options, &leases, err) < 0)
		goto done;
	log_info("started", lf_str("instance", c->instance), lf_int("shards", shards));
	leases_run(leases);
	rc = 0;
done:
	leases_close(leases);
	retention_stop(retention);
	reach_free(context.reach);
	free(context.ends);
	return rc;
}

static int run(struct config *c, struct err *err)
{
	struct metrics *metrics = metrics_new();
	struct status *status = status_new(metrics, STALL_MS);
	struct admin *admin = NULL;
	int rc = -1;

	if (admin_open(c->admin_listen, metrics, status_ready, status, &admin, err) < 0)
		goto done;
	rc = run_leases(c, status, metrics, err);
done:
	admin_close(admin);
	status_free(status);
	metrics_free(metrics);
	return rc;
}

int main(int argc, char **argv)
{
	struct config config = {.database_url = NULL};
	struct err err = ERR_INIT;
	int status;

	if (service_start("umavez-relay", usage, config_options, &config, argc, argv, &status)) {
		option_dump(config_options, &config);
		if (!config.instance)
			config.instance = service_instance();
		if (run(&config, &err) < 0)
			service_fail(&err);
		status = service_stopped();
		option_done(config_options, &config);
	}
	return status;
}
