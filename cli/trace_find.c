#include "cli/sources.h"
#include "cli/trace.h"
#include "cli_text.h"
#include "common/event.h"
#include "common/memory.h"
#include "common/pg.h"

#include <stdlib.h>
#include <string.h>

struct names {
	struct trace_name *names;
	size_t n;
};

void trace_names_free(struct trace_name *names, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		free(names[i].source);
		free(names[i].message_id);
	}
	free(names);
}

static void add(struct names *found, struct trace_name name)
{
	found->names = mem_realloc(found->names, (found->n + 1) * sizeof(*found->names));
	found->names[found->n++] = name;
}

static int find_in_database(PGconn *intake, const char *sql, int n_params,
    const char *const *params, struct names *found, struct err *err)
{
	PGresult *res = NULL;

	if (pg_run(intake, sql, n_params, params, &res, err) < 0)
		return -1;
	for (int row = 0; row < PQntuples(res); row++)
		add(found, (struct trace_name){
			       .source = mem_strdup(pg_text(res, row, "source")),
			       .message_id = mem_strdup(pg_text(res, row, "message_id")),
			       .outbox_id = pg_int(res, row, "id"),
			   });
	PQclear(res);
	return 0;
}

static int find_by_position(struct sources *sources, struct stream_id id, int64_t shard,
    struct names *found, struct err *err)
{
	char tick[PG_NUMBER_SIZE], row[PG_NUMBER_SIZE], number[PG_NUMBER_SIZE];
	const char *params[] = {pg_number(tick, stream_id_bigint(id.ms)),
	    pg_number(row, stream_id_bigint(id.seq)), shard < 0 ? NULL : pg_number(number, shard)};

	if (id.ms > INT64_MAX || id.seq > INT64_MAX)
		return 0;
	return find_in_database(
	    sources->intake, cli_sql_trace_by_position_sql, 3, params, found, err);
}

static int find_in_stream(struct sources *sources, unsigned shard, struct stream_id id,
    struct names *found, struct err *err)
{
	struct stream_entry entry = {0};
	char key[SOURCES_KEY_SIZE];
	bool there;

	if (sources_stream(sources, shard, key, err) < 0 ||
	    stream_find(sources->redis, key, id, &there, &entry, err) < 0)
		return err_wrap(err, "%s", key);
	if (there && entry.is_event) {
		add(found, (struct trace_name){entry.source, entry.message_id, 0, shard, id});
		entry.source = entry.message_id = NULL; /* the list's now */
	}
	stream_entry_done(&entry);
	return 0;
}

/* An entry whose row this database does not have, or has no more. */
static int find_in_streams(struct sources *sources, struct stream_id id, int64_t shard,
    struct names *found, struct err *err)
{
	struct err redis_err = ERR_INIT;
	PGresult *res = NULL;

	if (pg_run(sources->intake, "SELECT shards FROM intake.setting", 0, NULL, &res, err) < 0)
		return -1;
	int64_t shards = pg_int(res, 0, "shards");
	PQclear(res);
	for (int64_t s = shard < 0 ? 0 : shard; s < (shard < 0 ? shards : shard + 1); s++) {
		if (sources->redis &&
		    find_in_stream(sources, (unsigned)s, id, found, &redis_err) < 0)
			sources_lose_redis(sources, &redis_err);
	}
	return 0;
}

static bool is_trace_id(const char *id)
{
	return strlen(id) == 32 && strspn(id, "0123456789abcdefABCDEF") == 32;
}

static int find_by_text(PGconn *intake, const char *id, struct names *found, struct err *err)
{
	const char *const verbs[] = {is_trace_id(id) ? cli_sql_trace_by_trace_sql : NULL,
	    cli_sql_trace_by_notification_sql, cli_sql_trace_by_purchase_sql,
	    cli_sql_trace_by_emitted_sql};

	for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]) && found->n == 0; i++) {
		if (verbs[i] && find_in_database(intake, verbs[i], 1, &id, found, err) < 0)
			return -1;
	}
	return 0;
}

int trace_find(struct sources *sources, const char *id, int64_t shard,
    struct trace_name **ret_names, size_t *ret_n, struct err *err)
{
	struct names found = {0};
	struct stream_id position;
	int rc = -1;

	if (stream_id_parse(id, &position)) {
		if (find_by_position(sources, position, shard, &found, err) < 0)
			goto done;
		if (found.n == 0 && find_in_streams(sources, position, shard, &found, err) < 0)
			goto done;
	}
	if (found.n == 0 && find_by_text(sources->intake, id, &found, err) < 0)
		goto done;
	*ret_names = found.names;
	*ret_n = found.n;
	found = (struct names){0};
	rc = 0;
done:
	trace_names_free(found.names, found.n);
	return rc;
}
