#include "relay/retention.h"

#include "common/clock.h"
#include "common/event.h"
#include "common/failpoint.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/metric.h"
#include "common/pace.h"
#include "common/pg.h"
#include "common/redis.h"
#include "common/service.h"
#include "common/upkeep.h"
#include "relay_text.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REDIS_MS 5000
#define LOG_PACE_MS 3600000

/* Rows of a DEFAULT partition that one statement removes, of each shard. */
#define SWEEP_ROWS 1000

struct retention {
	const struct config *config;
	struct status *status;
	struct upkeep *upkeep;
	char held[400]; /* what was last said about it */
	struct pace held_pace, default_pace;
	struct metric *oldest, *partitions, *ahead, *default_rows, *held_back, *dropped;
};

static void make_metrics(struct retention *r, struct metrics *m)
{
	r->oldest = metric_plain(m, METRIC_GAUGE, "umavez_outbox_oldest_seconds",
	    "Age of the oldest partition of the outbox, from its first moment", NULL);
	r->partitions = metric_plain(
	    m, METRIC_GAUGE, "umavez_partitions", "Partitions of outbox and tick", NULL);
	r->ahead = metric_plain(m, METRIC_GAUGE, "umavez_partitions_ahead_days",
	    "Days after today that have their partitions", NULL);
	r->default_rows = metric_plain(m, METRIC_GAUGE, "umavez_default_partition_rows",
	    "Rows without a partition of their day; counted up to 20000", NULL);
	r->held_back = metric_plain(m, METRIC_GAUGE, "umavez_retention_held",
	    "1: a partition is past --retention and may not be dropped, see the log", NULL);
	r->dropped = metric_plain(
	    m, METRIC_COUNTER, "umavez_partitions_dropped_total", "Partitions dropped", NULL);
}

/* At once when it is news, then once an hour. */
static void tell_held(struct retention *r, const char *partition, const char *reason)
{
	char held[sizeof(r->held)] = "";

	if (partition)
		snprintf(held, sizeof(held), "%s: %s", partition, reason);
	metric_set(r->held_back, partition != NULL);
	if (strcmp(held, r->held) != 0)
		r->held_pace = (struct pace){0};
	memcpy(r->held, held, sizeof(held));
	if (partition && pace_due(&r->held_pace, clock_mono_us(), LOG_PACE_MS))
		log_warn("a partition past its retention is kept", lf_str("partition", partition),
		    lf_str("reason", reason));
}

/* *ret_more: one was dropped, and another one may be waiting. */
static int drop_one(struct retention *r, PGconn *conn, bool *ret_more, struct err *err)
{
	char keep[PG_NUMBER_SIZE];
	const char *params[] = {pg_number(keep, r->config->retention_ms)};
	PGresult *res = NULL;
	const char *dropped;

	/* Durable: nothing new.  A restart finds the partition, or finds it gone: the drop is one
	 * transaction, and the floor is worked out from what is left. */
	if (FAILPOINT_ERR("relay.before_drop", err) < 0 ||
	    pg_run(conn, relay_sql_drop_expired_sql, 1, params, &res, err) < 0)
		return -1;
	dropped = pg_text(res, 0, "dropped");
	*ret_more = dropped != NULL;
	if (dropped) {
		metric_add(r->dropped, 1);
		log_info("partition dropped", lf_str("partition", dropped));
	} else {
		tell_held(r, pg_text(res, 0, "held"), pg_text(res, 0, "reason"));
	}
	PQclear(res);
	return 0;
}

struct sweep {
	struct retention *retention;
	PGconn *conn;
};

static int sweep_piece(void *ctx, int64_t at_most, int64_t *ret_done, struct err *err)
{
	const struct sweep *s = ctx;
	char keep[PG_NUMBER_SIZE], rows[PG_NUMBER_SIZE];
	const char *params[] = {
	    pg_number(keep, s->retention->config->retention_ms), pg_number(rows, at_most)};
	PGresult *res = NULL;

	if (pg_run(s->conn, relay_sql_sweep_default_sql, 2, params, &res, err) < 0)
		return -1;
	*ret_done = pg_int(res, 0, "removed");
	PQclear(res);
	return 0;
}

static int sweep(struct retention *r, PGconn *conn, struct err *err)
{
	struct sweep s = {r, conn};
	int64_t removed = 0;

	if (upkeep_pieces(sweep_piece, &s, SWEEP_ROWS, &removed, err) < 0)
		return -1;
	if (removed > 0)
		log_info("removed from the DEFAULT partitions", lf_int("rows", removed));
	return 0;
}

static int announce_floors(
    struct retention *r, const PGresult *floors, struct redis *redis, struct err *err)
{
	for (int i = 0; i < PQntuples(floors); i++) {
		char key[128];

		event_key(key, sizeof(key), r->config->name_space, "floor",
		    (unsigned)pg_int(floors, i, "shard"));
		if (redis_turn_to(redis, key, err) < 0 ||
		    redis_command(
			redis, NULL, err, "SET %s %s-0", key, pg_text(floors, i, "tick")) < 0)
			return -1;
	}
	return 0;
}

/* Each round anew: Redis may have lost them. */
static int lift_floors(struct retention *r, PGconn *conn, struct err *err)
{
	PGresult *floors = NULL;
	struct redis *redis = NULL;
	int rc = -1;

	if (pg_run(conn, relay_sql_lift_retained_sql, 0, NULL, &floors, err) < 0 ||
	    redis_open(r->config->redis_url, REDIS_MS, &redis, err) < 0)
		goto done;
	rc = announce_floors(r, floors, redis, err);
done:
	redis_close(redis);
	PQclear(floors);
	return rc < 0 ? err_wrap(err, "floor") : 0;
}

static void tell_default(struct retention *r, int64_t rows)
{
	char notice[200] = "";

	if (rows > 0)
		snprintf(notice, sizeof(notice),
		    "%" PRId64 "%s rows are in the DEFAULT partition: their days had none", rows,
		    rows >= 10000 ? " or more" : "");
	status_notice(r->status, notice);
	if (rows > 0 && pace_due(&r->default_pace, clock_mono_us(), LOG_PACE_MS))
		log_warn("rows without a partition of their day", lf_int("rows", rows));
}

static int look(struct retention *r, PGconn *conn, struct err *err)
{
	PGresult *res = NULL;

	if (pg_run(conn, relay_sql_retention_health_sql, 0, NULL, &res, err) < 0)
		return -1;
	metric_set(r->oldest, (double)pg_int(res, 0, "oldest_seconds"));
	metric_set(r->partitions, (double)pg_int(res, 0, "partitions"));
	metric_set(r->ahead, (double)pg_int(res, 0, "days_ahead"));
	metric_set(r->default_rows, (double)pg_int(res, 0, "default_rows"));
	tell_default(r, pg_int(res, 0, "default_rows"));
	PQclear(res);
	return 0;
}

/* The floor goes before ticks, which are dropped below it, and so once more after the outbox. */
static int round_of(void *ctx, PGconn *conn, struct err *err)
{
	struct retention *r = ctx;
	bool more = true;

	if (upkeep_partitions(conn, err) < 0)
		return -1;
	while (more && !service_stopping()) {
		if (lift_floors(r, conn, err) < 0 || drop_one(r, conn, &more, err) < 0)
			return -1;
	}
	if (sweep(r, conn, err) < 0)
		return -1;
	return look(r, conn, err);
}

int retention_start(const struct config *config, struct status *status, struct metrics *metrics,
    struct retention **ret_retention, struct err *err)
{
	struct retention *r = mem_zalloc(1, sizeof(*r));
	const struct upkeep_options options = {.what = "retention",
	    .database_url = config->database_url,
	    .application_name = "umavez-relay/retention",
	    .schema = "intake",
	    .interval_ms = config->retention_interval_ms,
	    .round = round_of,
	    .ctx = r};

	r->config = config;
	r->status = status;
	make_metrics(r, metrics);
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
