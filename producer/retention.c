#include "producer/retention.h"

#include "common/log.h"
#include "common/memory.h"
#include "common/metric.h"
#include "common/pg.h"
#include "common/upkeep.h"
#include "producer_text.h"

#include <stdlib.h>

/* Bodies that one statement nulls. */
#define BODIES 1000

struct retention {
	const struct config *config;
	struct metric *forgotten;
	struct upkeep *upkeep;
	PGconn *conn; /* of the round under way */
};

static int forget_piece(void *ctx, int64_t at_most, int64_t *ret_done, struct err *err)
{
	struct retention *r = ctx;
	char keep[PG_NUMBER_SIZE], rows[PG_NUMBER_SIZE];
	const char *params[] = {
	    pg_number(keep, r->config->body_retention_ms), pg_number(rows, at_most)};
	PGresult *res = NULL;

	if (pg_run(r->conn, producer_sql_forget_bodies_sql, 2, params, &res, err) < 0)
		return -1;
	*ret_done = pg_int(res, 0, "forgotten");
	metric_add(r->forgotten, (double)*ret_done);
	PQclear(res);
	return 0;
}

static int round_of(void *ctx, PGconn *conn, struct err *err)
{
	struct retention *r = ctx;
	int64_t forgotten = 0;

	if (upkeep_partitions(conn, err) < 0)
		return -1;
	r->conn = conn;
	if (upkeep_pieces(forget_piece, r, BODIES, &forgotten, err) < 0)
		return -1;
	if (forgotten > 0)
		log_info("old bodies nulled", lf_int("notifications", forgotten));
	return 0;
}

int retention_start(const struct config *config, struct metrics *metrics,
    struct retention **ret_retention, struct err *err)
{
	struct retention *r = mem_zalloc(1, sizeof(*r));
	const struct upkeep_options options = {.what = "retention",
	    .database_url = config->database_url,
	    .application_name = "umavez-producer/retention",
	    .schema = "intake",
	    .interval_ms = config->retention_interval_ms,
	    .round = round_of,
	    .ctx = r};

	r->config = config;
	r->forgotten = metric_plain(metrics, METRIC_COUNTER, "umavez_bodies_nulled_total",
	    "Notifications whose body went after --body-retention", NULL);
	if (upkeep_start(&options, &r->upkeep, err) < 0) {
		free(r);
		return -1;
	}
	*ret_retention = r;
	return 0;
}

void retention_stop(struct retention *r)
{
	if (!r)
		return;
	upkeep_stop(r->upkeep);
	free(r);
}
