/*
 * umavez status: each number on its way up and down, as the operator's role.
 */
#include "tests/cli/story.h"
#include "tests/schema/notes.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world *world;

/* The numbers of shard 0: unticked, unpublished, stream_length. */
static void check_numbers(const char *want)
{
	const char *const args[] = {"status", "--json", NULL};
	json_t *json = story_umavez(world, args);
	char found[100];
	size_t used = 0;
	static const char *const paths[] = {
	    "shards/0/unticked", "shards/0/unpublished", "shards/0/stream_length"};

	for (size_t i = 0; i < 3; i++)
		used += (size_t)snprintf(found + used, sizeof(found) - used, "%s%s", i ? " " : "",
		    story_get(json, paths[i]));
	CHECK_STR(found, want);
	json_decref(json);
}

static void check_value(const char *path, const char *want)
{
	const char *const args[] = {"status", "--json", NULL};
	json_t *json = story_umavez(world, args);

	CHECK_STR(story_get(json, path), want);
	json_decref(json);
}

static void check_backlogs(void)
{
	int64_t rows[3], tick;

	story_clean(world);
	check_numbers("0 0 0");
	for (int i = 0; i < 3; i++) {
		char name[2] = {(char)('a' + i), '\0'};
		rows[i] = story_receive(world, "app_store", name, name);
	}
	check_numbers("3 0 0");
	tick = story_tick(world, 0);
	check_numbers("0 3 0");
	story_publish(world, 0, tick, rows[0]);
	check_numbers("0 2 1");
	story_publish(world, 0, tick, rows[1]);
	story_publish(world, 0, tick, rows[2]);
	check_numbers("0 0 3");
	story_receive(world, "app_store", "d", "d");
	check_numbers("1 0 3");
	story_tick(world, 0);
	check_numbers("0 1 3");
}

/* Rows of a transaction that a tick saw in progress are unticked once it commits, and not before.
 */
static void check_long_transaction(void)
{
	struct note n = {.store = "app_store",
	    .id = "long",
	    .kind = "started",
	    .purchase = "long",
	    .rank = 2,
	    .state = "active"};
	PGconn *conn = world_pg(world);

	story_clean(world);
	PQclear(PQexec(conn, "BEGIN"));
	notes_receive(conn, &n, 1, NULL);
	story_receive(world, "app_store", "a", "a");
	check_numbers("1 0 0");
	story_tick(world, 0);
	check_numbers("0 1 0");
	PQclear(PQexec(conn, "COMMIT"));
	check_numbers("1 1 0");
	story_tick(world, 0);
	check_numbers("0 2 0");
	PQfinish(conn);
}

static void check_lag(void)
{
	int64_t rows[4], tick;
	json_t *json;
	const char *const args[] = {"status", "--json", NULL};

	story_clean(world);
	check_value("shards/0/lag_entries", "null");
	for (int i = 0; i < 4; i++) {
		char name[2] = {(char)('a' + i), '\0'};
		rows[i] = story_receive(world, "app_store", name, name);
	}
	tick = story_tick(world, 0);
	for (int i = 0; i < 3; i++)
		story_publish(world, 0, tick, rows[i]);
	story_cursor(world, "entitlements", 0);
	check_value("shards/0/consumers/entitlements/lag_entries", "3");
	story_apply(world, "entitlements", 0, tick, rows[0]);
	check_value("shards/0/consumers/entitlements/lag_entries", "2");
	check_value("shards/0/lag_entries", "2");
	json = story_umavez(world, args);
	CHECK(json_real_value(json_object_get(
		  json_array_get(json_object_get(json, "shards"), 0), "lag_seconds")) > 0);
	json_decref(json);
	story_apply(world, "entitlements", 0, tick, rows[2]);
	check_value("shards/0/consumers/entitlements/lag_entries", "0");
	check_value("shards/0/consumers/entitlements/lag_seconds", "0.0");
	/* Nobody waits for what is no message. */
	story_foreign(world, 0);
	check_value("shards/0/consumers/entitlements/lag_entries", "0");
	check_value("shards/0/consumers/entitlements/lag_seconds", "0.0");
	/* The slowest one counts for the shard. */
	story_cursor(world, "mailer", 0);
	check_value("shards/0/lag_entries", "3");
}

static void check_holders(void)
{
	story_clean(world);
	check_value("shards/0/relay", "null");
	story_relay_lease(world, 0, "relay-1");
	story_cursor(world, "entitlements", 0);
	check_value("shards/0/relay", "relay-1");
	check_value("shards/0/consumers/entitlements/holder", "null");
	check_value("shards/0/consumers/entitlements/cursor", "0-0");
	story_consumer_lease(world, "entitlements", 0, "consumer-1");
	check_value("shards/0/consumers/entitlements/holder", "consumer-1");
	world_sql(world, "UPDATE intake.shard_lease SET expires_at = now() - interval '1 s'");
	check_value("shards/0/relay", "null");
}

/* Foreign entries are no position of ours; an emptied stream begins at what was acknowledged. */
static void check_foreign_and_flushed(void)
{
	int64_t first, second, tick;

	story_clean(world);
	first = story_receive(world, "app_store", "a", "a");
	second = story_receive(world, "app_store", "b", "b");
	tick = story_tick(world, 0);
	story_publish(world, 0, tick, first);
	story_foreign(world, 0);
	check_numbers("0 1 2");
	/* A message of ours in a tick that it does not stand in: a phantom. */
	story_publish(world, 0, tick + 100000, second);
	check_numbers("0 1 3");
	for (int i = 0; i < 12; i++)
		story_publish(world, 0, tick + 100001 + i, second);
	check_numbers("0 null 15");
	world_redis_run(world, "FLUSHALL");
	check_numbers("0 2 0");
	world_sql(world,
	    "INSERT INTO intake.stream_group (shard, name, acknowledged_tick, acknowledged_id)"
	    " VALUES (0, 'entitlements', %" PRId64 ", %" PRId64 ")",
	    tick, first);
	check_numbers("0 1 0");
	story_publish(world, 0, tick, second);
	check_numbers("0 0 1");
}

static void check_replay(void)
{
	int64_t rows[2], tick, replay;

	story_clean(world);
	rows[0] = story_receive(world, "app_store", "a", "a");
	rows[1] = story_receive(world, "app_store", "b", "b");
	tick = story_tick(world, 0);
	story_publish(world, 0, tick, rows[0]);
	story_publish(world, 0, tick, rows[1]);
	replay = world_int(world,
	    "INSERT INTO intake.tick (shard, previous_tick, tick, snapshot, from_tick, from_id, "
	    "replay)"
	    " VALUES (0, %" PRId64 ", %" PRId64 " + 1, pg_current_snapshot(), %" PRId64 ", %" PRId64
	    ", true) RETURNING tick",
	    tick, tick, tick, rows[0]);
	check_numbers("0 1 2");
	story_publish(world, 0, replay, rows[1]);
	check_numbers("0 0 3");
}

static void check_quarantined_and_parked(void)
{
	struct note odd = {.store = "stripe", .id = "sha256:ab", .kind = "unrecognized"};
	PGconn *conn = world_pg(world);

	story_clean(world);
	check_value("quarantined", "0");
	notes_receive(conn, &odd, 1, NULL);
	check_value("quarantined", "1");
	PQfinish(conn);
	check_value("failed", "0");
	world_sql(world,
	    "INSERT INTO effects.parked (consumer, source, message_id, subject, shard, stream_id,"
	    " delivered_at, event, state) SELECT 'c', 's', n, 's', 0, '1-1', now(), '{}', state"
	    " FROM unnest(ARRAY['failed', 'held', 'held', 'retrying', 'retry', 'discard'])"
	    " WITH ORDINALITY AS p(state, n)");
	check_value("failed", "1");
	check_value("held", "2");
	check_value("retrying", "3");
	world_sql(world, "TRUNCATE effects.parked");
}

static void check_shape(void)
{
	const char *const args[] = {"status", "--json", NULL};
	json_t *json, *shard;

	story_clean(world);
	json = story_umavez(world, args);
	CHECK_INT((int64_t)json_object_size(json), 5);
	CHECK_INT((int64_t)json_array_size(json_object_get(json, "shards")), 2);
	shard = json_array_get(json_object_get(json, "shards"), 1);
	CHECK_STR(story_get(shard, "shard"), "1");
	CHECK_INT((int64_t)json_object_size(shard), 8);
	CHECK(json_is_object(json_object_get(shard, "consumers")));
	json_decref(json);
}

static void check_without_redis(void)
{
	const char *const args[] = {
	    "status", "--json", "--redis-url", "unix:///nowhere/redis.sock", NULL};
	char *out = NULL, *err = NULL;

	story_clean(world);
	story_receive(world, "app_store", "a", "a");
	CHECK_INT(world_run_all(world, "umavez", args, NULL, &out, &err), 0);
	CHECK(strstr(out, "\"unticked\":1,\"unpublished\":null,\"stream_length\":null") != NULL);
	CHECK(strstr(err, "umavez status: without Redis: ") != NULL);
	free(out);
	free(err);
}

static void check_human(void)
{
	const char *const args[] = {"status", NULL};
	char *out = NULL;

	story_clean(world);
	story_relay_lease(world, 0, "relay-1");
	story_receive(world, "app_store", "a", "a");
	story_cursor(world, "entitlements", 0);
	CHECK_INT(world_run(world, &out, "umavez", args), 0);
	CHECK(strstr(out, "SHARD  UNTICKED  UNPUBLISHED  STREAM  RELAY\n"
			  "    0         1            0       0  relay-1\n"
			  "    1         0            0       0  nobody\n") == out);
	CHECK(strstr(out, "\n    0  entitlements    0   0.0 s  0-0     nobody\n") != NULL);
	CHECK(strchr(out, '\033') == NULL);
	free(out);
}

static const struct check checks[] = {
    {"unticked, unpublished, stream_length", check_backlogs},
    {"a transaction that a tick saw in progress", check_long_transaction},
    {"lag of consumers", check_lag},
    {"holders", check_holders},
    {"foreign entries, and an emptied stream", check_foreign_and_flushed},
    {"a replay is to be published", check_replay},
    {"quarantined and parked", check_quarantined_and_parked},
    {"the JSON shape", check_shape},
    {"without Redis", check_without_redis},
    {"for people", check_human},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(2);
	story_one_shard(world);
	status = check_main("cli status", checks, argc, argv);
	world_close(world);
	return status;
}
