/*
 * umavez-producer - takes the stores' notifications and commits each of them once.
 */
#include "common/admin.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/metric.h"
#include "common/service.h"
#include "producer/config.h"
#include "producer/retention.h"
#include "producer/server.h"
#include "producer/stores.h"

#include <stdlib.h>
#include <unistd.h>

static const char usage[] = "[OPTION]...\n\n"
			    "Takes the stores' webhooks and commits them, each notification once.";

/* Serve until stopped; how many were left without an answer. */
static int serve(struct server *server, const struct config *config, struct metrics *metrics,
    unsigned *ret_unanswered, struct err *err)
{
	struct err join_err = ERR_INIT;
	struct admin *admin = NULL;
	int rc = admin_open(config->admin_listen, metrics, server_ready, server, &admin, err);

	if (rc < 0)
		service_stop();
	else
		log_info("listening", lf_int("port", server_port(server)),
		    lf_int("admin_port", admin_port(admin)));
	while (!service_wait(INT64_C(3600000)))
		;
	log_info("draining");
	if (server_join(server, ret_unanswered, &join_err) < 0) {
		/* A thread still uses what would be freed. Nothing here has to be put in order. */
		log_error("cannot drain", lf_err(&join_err));
		_exit(1);
	}
	admin_close(admin);
	return rc;
}

static int run(const struct config *config, const struct stores *stores, struct metrics *metrics,
    struct err *err)
{
	char *instance = config->instance ? mem_strdup(config->instance) : service_instance();
	struct retention *retention = NULL;
	struct server *server = NULL;
	unsigned unanswered = 0;
	char routes[ROUTES_TEXT_SIZE];
	int rc = -1;

	if (retention_start(config, metrics, &retention, err) < 0)
		goto done;
	if (server_open(config, instance, stores_routes(stores), metrics, &server, err) < 0)
		goto done;
	routes_text(stores_routes(stores), routes);
	log_info("started", lf_str("instance", instance), lf_str("routes", routes));
	if (serve(server, config, metrics, &unanswered, err) < 0)
		goto done;
	if (unanswered > 0) {
		err_set(err, ERR_FATAL, "the time for draining is over: %u unanswered", unanswered);
		goto done;
	}
	rc = 0;
done:
	retention_stop(retention);
	server_close(server);
	free(instance);
	return rc;
}

int main(int argc, char **argv)
{
	struct config config = {0};
	struct metrics *metrics = NULL;
	struct stores *stores = NULL;
	struct err err = ERR_INIT;
	int status;

	if (!service_start("umavez-producer", usage, config_options, &config, argc, argv, &status))
		return status;
	metrics = metrics_new();
	if (config_check(&config, &err) < 0 || stores_open(&config, metrics, &stores, &err) < 0) {
		status = service_refuse(&err);
		goto done;
	}
	option_dump(config_options, &config);
	if (run(&config, stores, metrics, &err) < 0)
		service_fail(&err);
	status = service_stopped();
done:
	stores_close(stores);
	metrics_free(metrics);
	option_done(config_options, &config);
	return status;
}
