#include "tests/cli/story.h"

#include "tests/schema/notes.h"
#include "tests/support/die.h"
#include "tests/support/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void story_clean(struct world *w)
{
	world_redis_run(w, "FLUSHALL");
	world_sql(w, "TRUNCATE intake.notification, intake.purchase, intake.outbox,"
		     " intake.stream_group, effects.inbox, effects.cursor, effects.shard_lease");
	world_sql(w, "DELETE FROM intake.tick WHERE tick > 1");
	world_sql(w, "UPDATE intake.shard_lease SET holder = NULL, expires_at = NULL");
}

void story_one_shard(struct world *w)
{
	world_sql(w,
	    "CREATE OR REPLACE FUNCTION intake.shard_of_subject(subject text, shards integer)"
	    " RETURNS smallint LANGUAGE sql IMMUTABLE AS 'SELECT 0::smallint'");
}

int64_t story_receive(struct world *w, const char *store, const char *id, const char *purchase)
{
	struct note n = {.store = store,
	    .id = id,
	    .kind = "renewed",
	    .purchase = purchase,
	    .rank = 3,
	    .at_s = 10,
	    .state = "active",
	    .product = "gold",
	    .traceparent = STORY_TRACEPARENT};
	PGconn *conn = world_pg(w);

	notes_receive(conn, &n, 1, NULL);
	PQfinish(conn);
	return world_int(w, "SELECT max(id) FROM intake.outbox");
}

void story_receive_all(struct world *w, const char *prefix, int n)
{
	for (int i = 0; i < n; i++) {
		char *id = text_format("%s%d", prefix, i), *purchase = text_format("sub_%d", i);

		story_receive(w, "stripe", id, purchase);
		free(purchase);
		free(id);
	}
}

int64_t story_tick(struct world *w, int shard)
{
	return world_int(w,
	    "INSERT INTO intake.tick (shard, previous_tick, tick, snapshot)"
	    " SELECT %d, max(tick), greatest(max(tick) + 1,"
	    " (extract(epoch FROM clock_timestamp()) * 1000)::bigint), pg_current_snapshot()"
	    " FROM intake.tick WHERE shard = %d RETURNING tick",
	    shard, shard);
}

void story_publish(struct world *w, int shard, int64_t tick, int64_t outbox_id)
{
	char *source =
	    world_text(w, "SELECT source FROM intake.outbox WHERE id = %" PRId64, outbox_id);
	char *id =
	    world_text(w, "SELECT message_id FROM intake.outbox WHERE id = %" PRId64, outbox_id);

	world_redis_run(w,
	    "XADD umavez:purchases:{%d} %lld-%lld id %s source %s type t subject s"
	    " time 2026-01-01T00:00:00Z data {} shard %d relay relay-1"
	    " published_at 2026-01-01T00:00:20.500Z",
	    shard, (long long)tick, (long long)outbox_id, id, source, shard);
	free(source);
	free(id);
}

void story_foreign(struct world *w, int shard)
{
	world_redis_run(w, "XADD umavez:purchases:{%d} * not ours", shard);
}

void story_cursor(struct world *w, const char *consumer, int shard)
{
	world_sql(
	    w, "INSERT INTO effects.cursor (consumer, shard) VALUES ('%s', %d)", consumer, shard);
}

void story_apply(struct world *w, const char *consumer, int shard, int64_t tick, int64_t outbox_id)
{
	world_sql(w,
	    "SELECT effects.apply_batch(c.consumer, 'consumer-1', c.shard, c.stream_id,"
	    " '%" PRId64 "-%" PRId64 "', 'effects.apply_purchase(json)',"
	    " ARRAY[place], ARRAY[place], ARRAY[o.source], ARRAY[o.message_id], ARRAY[o.subject],"
	    " ARRAY[o.traceparent], ARRAY['2026-01-01 00:00:20.5Z'::timestamptz],"
	    " '2026-01-01 00:00:21Z', ARRAY[json_build_object('data', o.data)::text])"
	    " FROM effects.cursor c, intake.outbox o,"
	    " concat('%" PRId64 "-%" PRId64 "') AS place"
	    " WHERE c.consumer = '%s' AND c.shard = %d AND o.id = %" PRId64,
	    tick, outbox_id, tick, outbox_id, consumer, shard, outbox_id);
}

struct proc *story_relay(struct world *w)
{
	static const char *const args[] = {
	    "--trim-interval", "100ms", "--poll-interval", "50ms", NULL};

	return world_relay(w, args, NULL);
}

bool story_await_registered(struct world *w, const char *group, int64_t shards)
{
	return world_await_int(w, shards, STORY_WAIT_MS,
	    "SELECT count(*) FROM intake.stream_group WHERE name = '%s'", group);
}

void story_relay_lease(struct world *w, int shard, const char *holder)
{
	world_sql(w,
	    "UPDATE intake.shard_lease SET holder = '%s', expires_at = now() + interval '1 hour'"
	    " WHERE shard = %d",
	    holder, shard);
}

void story_consumer_lease(struct world *w, const char *consumer, int shard, const char *holder)
{
	world_sql(w,
	    "INSERT INTO effects.shard_lease (consumer, shard, holder, expires_at)"
	    " VALUES ('%s', %d, '%s', now() + interval '1 hour')",
	    consumer, shard, holder);
}

json_t *story_umavez(struct world *w, const char *const *args)
{
	char *out = NULL, *err = NULL;
	json_error_t why;
	json_t *json;
	int status = world_run_all(w, "umavez", args, NULL, &out, &err);

	if (status != 0)
		die("umavez %s: exit status %d: %s", args[0], status, err);
	json = json_loads(out, 0, &why);
	if (!json)
		die("umavez %s: not JSON: %s: %s", args[0], why.text, out);
	free(out);
	free(err);
	return json;
}

void story_check_says(
    struct world *w, const char *const *args, int status, const char *out_has, const char *err_has)
{
	char *out = NULL, *err = NULL;

	CHECK_INT(world_run_all(w, "umavez", args, NULL, &out, &err), status);
	if (!strstr(out, out_has))
		CHECK_STR(out, out_has);
	if (!strstr(err, err_has))
		CHECK_STR(err, err_has);
	free(out);
	free(err);
}

const char *story_get(const json_t *json, const char *path)
{
	static char *text;
	char *copy = text_format("%s", path), *rest = NULL;

	for (char *part = strtok_r(copy, "/", &rest); part && json;
	     part = strtok_r(NULL, "/", &rest))
		json = json_is_array(json) ? json_array_get(json, strtoul(part, NULL, 10))
					   : json_object_get(json, part);
	free(text);
	if (!json)
		text = text_format("(missing)");
	else if (json_is_string(json))
		text = text_format("%s", json_string_value(json));
	else
		text = json_dumps(json, JSON_ENCODE_ANY | JSON_COMPACT | JSON_REAL_PRECISION(12));
	free(copy);
	return text;
}
