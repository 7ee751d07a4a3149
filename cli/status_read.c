#include "cli/sources.h"
#include "cli/status.h"
#include "cli_text.h"
#include "common/memory.h"
#include "common/pg.h"

#include <stdlib.h>
#include <string.h>

/* How far back to look for an entry of ours below foreign ones. */
enum { LOOK_BACK = 10 };

void status_done(struct status *s)
{
	for (size_t i = 0; i < s->n_shards; i++) {
		struct shard_status *shard = &s->shards[i];

		for (size_t k = 0; k < shard->n_consumers; k++) {
			free(shard->consumers[k].name);
			free(shard->consumers[k].holder);
		}
		free(shard->consumers);
		free(shard->relay);
	}
	free(s->shards);
	*s = (struct status){0};
}

static int read_shards(PGconn *intake, struct status *s, struct err *err)
{
	PGresult *res = NULL;

	if (pg_run(intake, cli_sql_shards_sql, 0, NULL, &res, err) < 0)
		return -1;
	s->n_shards = (size_t)PQntuples(res);
	s->shards = mem_zalloc(s->n_shards, sizeof(*s->shards));
	for (size_t i = 0; i < s->n_shards; i++) {
		struct shard_status *shard = &s->shards[i];

		shard->shard = (unsigned)pg_uint(res, (int)i, "shard");
		shard->relay = mem_strdup(pg_text(res, (int)i, "relay"));
		shard->unpublished = shard->stream_length = BACKLOG_UNKNOWN;
	}
	if (s->n_shards > 0) {
		s->now_ms = pg_int(res, 0, "now_ms");
		s->quarantined = pg_int(res, 0, "quarantined");
	}
	PQclear(res);
	return 0;
}

static void add_consumer(struct shard_status *shard, const PGresult *res, int row)
{
	struct consumer_status c = {
	    .name = mem_strdup(pg_text(res, row, "consumer")),
	    .holder = mem_strdup(pg_text(res, row, "holder")),
	    .lag_entries = BACKLOG_UNKNOWN,
	    .lag_ms = BACKLOG_UNKNOWN,
	};

	/* What is no ID is before everything: 0-0. */
	stream_id_parse(pg_text(res, row, "stream_id"), &c.cursor);
	shard->consumers =
	    mem_realloc(shard->consumers, (shard->n_consumers + 1) * sizeof(*shard->consumers));
	shard->consumers[shard->n_consumers++] = c;
}

static int read_cursors(PGconn *effects, struct status *s, struct err *err)
{
	PGresult *res = NULL;

	if (pg_run(effects, cli_sql_cursors_sql, 0, NULL, &res, err) < 0)
		return -1;
	for (int row = 0; row < PQntuples(res); row++) {
		uint64_t shard = pg_uint(res, row, "shard");

		if (shard < s->n_shards)
			add_consumer(&s->shards[shard], res, row);
	}
	PQclear(res);
	return 0;
}

static int read_parked(PGconn *effects, struct status *s, struct err *err)
{
	PGresult *res = NULL;

	if (pg_run(effects, cli_sql_parked_sql, 0, NULL, &res, err) < 0)
		return -1;
	s->failed = pg_int(res, 0, "failed");
	s->retrying = pg_int(res, 0, "retrying");
	s->held = pg_int(res, 0, "held");
	PQclear(res);
	return 0;
}

/* The stream's newest entries; *n of them. */
struct newest {
	struct stream_entry *entries;
	size_t n;
};

static void newest_done(struct newest *newest)
{
	for (size_t i = 0; i < newest->n; i++)
		stream_entry_done(&newest->entries[i]);
	free(newest->entries);
	*newest = (struct newest){0};
}

/* Everything that Redis knows of a shard. */
static int read_stream(struct sources *sources, struct shard_status *shard, int64_t now_ms,
    struct newest *ret_newest, struct err *err)
{
	struct stream_view view;
	struct stream_id next;
	char key[SOURCES_KEY_SIZE];

	if (sources_stream(sources, shard->shard, key, err) < 0 ||
	    stream_look(sources->redis, key, &view, err) < 0 ||
	    stream_newest(
		sources->redis, key, LOOK_BACK, &ret_newest->entries, &ret_newest->n, err) < 0)
		return err_wrap(err, "%s", key);
	for (size_t i = 0; i < shard->n_consumers; i++) {
		struct consumer_status *c = &shard->consumers[i];

		if (stream_next(sources->redis, key, c->cursor, &next, err) < 0)
			return err_wrap(err, "%s", key);
		/* A tick is named by its time. */
		bool late = next.ms > 0 && now_ms > 0 && next.ms < (uint64_t)now_ms;
		c->lag_ms = late ? now_ms - (int64_t)next.ms : 0;
	}
	shard->stream_length = view.length;
	return 0;
}

/* Where publishing stands: at the newest entry of ours, or, if there is none at all, where a relay
 * would begin. *ret_known false: only foreign entries could be seen. */
static int published_up_to(PGconn *intake, const struct shard_status *shard,
    const struct newest *newest, struct stream_id *ret_id, bool *ret_known, struct err *err)
{
	bool own = false;

	if (newest->n == 0) {
		*ret_known = true;
		return backlog_acknowledged(intake, shard->shard, ret_id, err);
	}
	for (size_t i = 0; i < newest->n && !own; i++) {
		if (backlog_owns(intake, shard->shard, &newest->entries[i], &own, err) < 0)
			return -1;
		*ret_id = newest->entries[i].id;
	}
	*ret_known = own;
	return 0;
}

static int64_t clamp(int64_t n, int64_t least, int64_t most)
{
	if (n > most)
		n = most;
	return n < least ? least : n;
}

/* Entries after each cursor: positions after it, less those that are not in the stream yet. */
static int count_lags(PGconn *intake, struct shard_status *shard, struct err *err)
{
	for (size_t i = 0; i < shard->n_consumers; i++) {
		struct consumer_status *c = &shard->consumers[i];
		int64_t after;

		if (backlog_after(intake, shard->shard, c->cursor, &after, err) < 0)
			return -1;
		c->lag_entries = clamp(after - shard->unpublished, 0, shard->stream_length);
		/* What stands behind the cursor is no message. */
		if (c->lag_entries == 0)
			c->lag_ms = 0;
	}
	return 0;
}

static int count_shard(
    PGconn *intake, struct shard_status *shard, const struct newest *newest, struct err *err)
{
	struct stream_id end;
	bool known;

	if (backlog_unticked(intake, shard->shard, &shard->unticked, err) < 0)
		return -1;
	if (shard->stream_length == BACKLOG_UNKNOWN)
		return 0;
	if (published_up_to(intake, shard, newest, &end, &known, err) < 0)
		return -1;
	if (!known)
		return 0;
	if (backlog_after(intake, shard->shard, end, &shard->unpublished, err) < 0)
		return -1;
	return count_lags(intake, shard, err);
}

static int read_shard(struct sources *sources, struct status *s, size_t i, struct err *err)
{
	struct newest newest = {0};
	struct err redis_err = ERR_INIT;
	int rc;

	if (sources->redis &&
	    read_stream(sources, &s->shards[i], s->now_ms, &newest, &redis_err) < 0)
		sources_lose_redis(sources, &redis_err);
	rc = count_shard(sources->intake, &s->shards[i], &newest, err);
	newest_done(&newest);
	return rc;
}

int status_read(struct sources *sources, struct status *ret_status, struct err *err)
{
	struct status s = {0};
	int rc = -1;

	if (read_shards(sources->intake, &s, err) < 0 ||
	    read_cursors(sources->effects, &s, err) < 0 ||
	    read_parked(sources->effects, &s, err) < 0)
		goto done;
	for (size_t i = 0; i < s.n_shards; i++) {
		if (read_shard(sources, &s, i, err) < 0)
			goto done;
	}
	*ret_status = s;
	s = (struct status){0};
	rc = 0;
done:
	status_done(&s);
	return rc;
}
