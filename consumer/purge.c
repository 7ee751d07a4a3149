#include "consumer/purge.h"

#include "common/event.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/metric.h"
#include "common/pg.h"
#include "common/redis.h"
#include "common/service.h"
#include "common/stream_id.h"
#include "common/upkeep.h"
#include "consumer_text.h"

#include <stdio.h>
#include <stdlib.h>

#define REDIS_MS 5000

/* Rows that one transaction looks at: it holds the cursor's lock for some milliseconds. */
#define ROWS 500

/* Rows that one round looks at, of each shard: those that must stay are looked at every time. */
#define ROUND_ROWS 100000

struct purge {
	const struct config *config;
	unsigned shards;
	struct metric *purged;
	struct upkeep *upkeep;
};

/* One shard in one round. */
struct walk {
	struct purge *purge;
	PGconn *conn;
	unsigned shard;
	char floor[STREAM_ID_SIZE];
	char after[64]; /* a timestamp: rows up to there have been looked at */
	int64_t looked, gone;
};

static int purge_piece(void *ctx, int64_t at_most, int64_t *ret_done, struct err *err)
{
	struct walk *w = ctx;
	char shard[PG_NUMBER_SIZE], keep[PG_NUMBER_SIZE], rows[PG_NUMBER_SIZE];
	const char *params[] = {w->purge->config->consumer, pg_number(shard, w->shard), w->floor,
	    pg_number(keep, w->purge->config->inbox_retention_ms), w->after,
	    pg_number(rows, at_most)};
	PGresult *res = NULL;
	const char *up_to;

	if (pg_run(w->conn, consumer_sql_purge_sql, 6, params, &res, err) < 0)
		return -1;
	up_to = pg_text(res, 0, "looked_up_to");
	w->gone += pg_int(res, 0, "purged");
	metric_add(w->purge->purged, (double)pg_int(res, 0, "purged"));
	w->looked += at_most;
	*ret_done = up_to && w->looked < ROUND_ROWS ? at_most : 0;
	if (up_to)
		snprintf(w->after, sizeof(w->after), "%s", up_to);
	PQclear(res);
	return 0;
}

/* *ret_there false: the relay has announced none. */
static int read_floor(struct redis *redis, struct walk *w, bool *ret_there, struct err *err)
{
	struct stream_id floor;
	redisReply *reply = NULL;
	char key[128];

	event_key(key, sizeof(key), w->purge->config->name_space, "floor", w->shard);
	if (redis_turn_to(redis, key, err) < 0 ||
	    redis_command(redis, &reply, err, "GET %s", key) < 0)
		return -1;
	*ret_there = reply->type == REDIS_REPLY_STRING && stream_id_parse(reply->str, &floor);
	if (*ret_there)
		stream_id_format(floor, w->floor);
	freeReplyObject(reply);
	return 0;
}

static int purge_shard(
    struct purge *p, PGconn *conn, struct redis *redis, unsigned shard, struct err *err)
{
	struct walk w = {.purge = p, .conn = conn, .shard = shard, .after = "-infinity"};
	int64_t total = 0;
	bool there;

	if (read_floor(redis, &w, &there, err) < 0)
		return -1;
	if (!there)
		return 0;
	if (upkeep_pieces(purge_piece, &w, ROWS, &total, err) < 0)
		return err_wrap(err, "shard %u", shard);
	if (w.gone > 0)
		log_info("inbox purged", lf_int("shard", shard), lf_int("rows", w.gone),
		    lf_str("floor", w.floor));
	return 0;
}

static int round_of(void *ctx, PGconn *conn, struct err *err)
{
	struct purge *p = ctx;
	struct redis *redis = NULL;
	int rc = -1;

	if (redis_open(p->config->redis_url, REDIS_MS, &redis, err) < 0)
		goto done;
	for (unsigned shard = 0; shard < p->shards && !service_stopping(); shard++) {
		if (purge_shard(p, conn, redis, shard, err) < 0)
			goto done;
	}
	rc = 0;
done:
	redis_close(redis);
	return rc;
}

int purge_start(const struct config *config, unsigned shards, struct metrics *metrics,
    struct purge **ret_purge, struct err *err)
{
	struct purge *p = mem_zalloc(1, sizeof(*p));
	const struct upkeep_options options = {.what = "inbox retention",
	    .database_url = config->database_url,
	    .application_name = "umavez-consumer/purge",
	    .schema = "effects",
	    .interval_ms = config->retention_interval_ms,
	    .round = round_of,
	    .ctx = p};

	p->config = config;
	p->shards = shards;
	p->purged = metric_plain(metrics, METRIC_COUNTER, "umavez_inbox_purged_total",
	    "Inbox rows that went after --inbox-retention", NULL);
	if (upkeep_start(&options, &p->upkeep, err) < 0) {
		free(p);
		return -1;
	}
	*ret_purge = p;
	return 0;
}

void purge_stop(struct purge *p)
{
	if (!p)
		return;
	upkeep_stop(p->upkeep);
	free(p);
}
