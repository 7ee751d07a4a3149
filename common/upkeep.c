#include "common/upkeep.h"

#include "common/clock.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/pace.h"
#include "common/pg.h"
#include "common/service.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* A piece of work takes milliseconds, and never waits long for a lock. */
#define STATEMENT_MS 10000
#define LOCK_MS 100
#define LOG_PACE_MS 60000

struct upkeep {
	struct upkeep_options options;
	pthread_t thread;
	struct pace error_pace;
};

static int run_round(struct upkeep *u, struct err *err)
{
	const struct pg_session session = {.application_name = u->options.application_name,
	    .statement_timeout = STATEMENT_MS,
	    .lock_timeout = LOCK_MS,
	    .idle_in_transaction_timeout = STATEMENT_MS,
	    .stop_fd = service_stop_fd()};
	PGconn *conn = NULL;
	int rc = -1;

	if (pg_connect(u->options.database_url, &session, &conn, err) < 0) {
		/* Then no session of this process can be had: one of us says so. */
		if (err->kind == ERR_FATAL)
			service_fail(err);
		goto done;
	}
	if (pg_check_schema(conn, u->options.schema, err) < 0)
		goto done;
	rc = u->options.round(u->options.ctx, conn, err);
done:
	PQfinish(conn);
	return rc;
}

static void *run(void *arg)
{
	struct upkeep *u = arg;

	do {
		struct err err = ERR_INIT;

		if (run_round(u, &err) < 0 && !service_stopping() &&
		    pace_due(&u->error_pace, clock_mono_us(), LOG_PACE_MS))
			log_warn("upkeep failed, will try again", lf_str("what", u->options.what),
			    lf_err(&err));
	} while (!service_wait(u->options.interval_ms));
	return NULL;
}

int upkeep_start(const struct upkeep_options *options, struct upkeep **ret_upkeep, struct err *err)
{
	struct upkeep *u = mem_zalloc(1, sizeof(*u));
	int error;

	u->options = *options;
	error = pthread_create(&u->thread, NULL, run, u);
	if (error != 0) {
		free(u);
		return err_set(err, ERR_FATAL, "%s: no thread: %s", options->what, strerror(error));
	}
	*ret_upkeep = u;
	return 0;
}

void upkeep_stop(struct upkeep *u)
{
	if (!u)
		return;
	service_stop();
	pthread_join(u->thread, NULL);
	free(u);
}

int upkeep_pieces(int (*piece)(void *ctx, int64_t at_most, int64_t *ret_done, struct err *err),
    void *ctx, int64_t at_most, int64_t *total, struct err *err)
{
	int64_t done = at_most;

	while (done >= at_most && !service_stopping()) {
		int64_t start_us = clock_mono_us();

		if (piece(ctx, at_most, &done, err) < 0)
			return -1;
		*total += done;
		if (done >= at_most)
			service_wait((clock_mono_us() - start_us) / 1000 + 1);
	}
	return 0;
}

int upkeep_partitions(PGconn *conn, struct err *err)
{
	PGresult *res = NULL;

	if (pg_run(conn, "SELECT intake.make_partitions() AS made", 0, NULL, &res, err) < 0)
		return -1;
	if (pg_int(res, 0, "made") > 0)
		log_info("partitions made", lf_int("count", pg_int(res, 0, "made")));
	PQclear(res);
	return 0;
}
