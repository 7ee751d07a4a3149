/*
 * umavez doctor: everything is right at first; then each thing is broken, seen, and put right
 * again.
 */
#include "tests/cli/story.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world *world;

/* Of a check whose text contains `what`: "fail constraint", or NULL. malloc'd. */
static char *find(const json_t *json, const char *what)
{
	const json_t *finding;
	size_t i;

	json_array_foreach (json_object_get(json, "checks"), i, finding) {
		if (strstr(json_string_value(json_object_get(finding, "what")), what))
			return text_format("%s %s",
			    json_string_value(json_object_get(finding, "level")),
			    json_string_value(json_object_get(finding, "check")));
	}
	return NULL;
}

static int doctor(const char *const *more, json_t **ret_json)
{
	const char *args[8] = {"doctor", "--json"};
	char *out = NULL, *err = NULL;
	int status, n = 2;

	for (; more && *more; more++)
		args[n++] = *more;
	status = world_run_all(world, "umavez", args, NULL, &out, &err);
	*ret_json = json_loads(out, 0, NULL);
	CHECK(*ret_json != NULL);
	free(out);
	free(err);
	return status;
}

/* What is found with this text, and that the status follows. */
static void check_finds(const char *const *more, const char *what, const char *want)
{
	json_t *json;
	int status = doctor(more, &json);
	char *found = find(json, what);

	if (!found || strncmp(found, want, strlen(want)) != 0) {
		json_dumpf(json, stderr, JSON_INDENT(1));
		CHECK_STR(found, want);
	}
	CHECK_INT(status, json_integer_value(json_object_get(json, "fail")) > 0);
	if (strncmp(want, "fail", 4) == 0)
		CHECK_INT(status, 1);
	free(found);
	json_decref(json);
}

static void check_nothing_fails(void)
{
	json_t *json;
	int status = doctor(NULL, &json);

	if (status != 0)
		json_dumpf(json, stderr, JSON_INDENT(1));
	CHECK_INT(status, 0);
	CHECK_STR(story_get(json, "fail"), "0");
	CHECK(json_integer_value(json_object_get(json, "ok")) > 20);
	json_decref(json);
}

struct fault {
	const char *harm, *heal; /* SQL */
	const char *want, *what; /* "fail constraint", and what it says */
};

static void check_faults(const struct fault *f)
{
	for (; f->harm; f++) {
		world_sql(world, "SET client_min_messages = warning; %s", f->harm);
		check_finds(NULL, f->what, f->want);
		world_sql(world, "%s", f->heal);
	}
	check_nothing_fails();
}

static void check_constraints(void)
{
	static const struct fault faults[] = {
	    {"ALTER TABLE intake.notification DROP CONSTRAINT notification_pkey",
		"ALTER TABLE intake.notification ADD PRIMARY KEY (store, notification_id)",
		"fail constraint notification_pkey",
		"P1: intake.notification has no constraint of that name"},
	    {"ALTER TABLE intake.purchase DROP CONSTRAINT purchase_pkey;"
	     "ALTER TABLE intake.purchase ADD PRIMARY KEY (store_purchase_id)",
		"ALTER TABLE intake.purchase DROP CONSTRAINT purchase_pkey;"
		"ALTER TABLE intake.purchase ADD PRIMARY KEY (store, store_purchase_id)",
		"fail constraint purchase_pkey",
		"P2: intake.purchase has PRIMARY KEY (store_purchase_id)"},
	    {"ALTER TABLE intake.tick DROP CONSTRAINT tick_pkey",
		"ALTER TABLE intake.tick ADD PRIMARY KEY (shard, previous_tick)",
		"fail constraint tick_pkey", "P8: "},
	    {"ALTER TABLE effects.inbox DROP CONSTRAINT inbox_pkey;"
	     "ALTER TABLE effects.inbox ADD PRIMARY KEY (consumer, source, message_id) DEFERRABLE",
		"ALTER TABLE effects.inbox DROP CONSTRAINT inbox_pkey;"
		"ALTER TABLE effects.inbox ADD PRIMARY KEY (consumer, source, message_id)",
		"fail constraint inbox_pkey", "P9: effects.inbox has PRIMARY KEY"},
	    {"ALTER TABLE effects.ledger DROP CONSTRAINT ledger_store_transaction_id_kind_key",
		"ALTER TABLE effects.ledger ADD UNIQUE (store, transaction_id, kind)",
		"fail constraint ledger_store_transaction_id_kind_key",
		"P9: effects.ledger has no"},
	    {"UPDATE pg_index SET indisvalid = false"
	     " WHERE indexrelid = 'intake.notification_pkey'::regclass",
		"UPDATE pg_index SET indisvalid = true"
		" WHERE indexrelid = 'intake.notification_pkey'::regclass",
		"fail constraint notification_pkey", "P1: intake.notification: it is not valid"},
	    {NULL, NULL, NULL, NULL},
	};

	check_faults(faults);
}

static void check_functions(void)
{
	static const struct fault faults[] = {
	    {"ALTER FUNCTION intake.receive SECURITY INVOKER",
		"ALTER FUNCTION intake.receive SECURITY DEFINER", "fail function receive",
		"intake.receive is not SECURITY DEFINER"},
	    {"ALTER FUNCTION intake.emit RESET search_path",
		"ALTER FUNCTION intake.emit SET search_path = pg_catalog, pg_temp",
		"fail function emit", "intake.emit has no fixed search_path"},
	    {"ALTER FUNCTION intake.emit OWNER TO umavez_relay",
		"ALTER FUNCTION intake.emit OWNER TO postgres", "fail function emit",
		"intake.emit belongs to umavez_relay"},
	    {"GRANT EXECUTE ON FUNCTION intake.republish TO PUBLIC",
		"REVOKE EXECUTE ON FUNCTION intake.republish FROM PUBLIC",
		"fail function republish", "intake.republish may be called by anybody"},
	    {"GRANT EXECUTE ON FUNCTION intake.drop_expired TO PUBLIC",
		"REVOKE EXECUTE ON FUNCTION intake.drop_expired FROM PUBLIC",
		"fail function drop_expired", "intake.drop_expired may be called by anybody"},
	    {"ALTER FUNCTION effects.mark SECURITY INVOKER",
		"ALTER FUNCTION effects.mark SECURITY DEFINER", "fail function mark",
		"effects.mark is not SECURITY DEFINER"},
	    {"ALTER FUNCTION effects.purge_inbox RESET search_path",
		"ALTER FUNCTION effects.purge_inbox SET search_path = pg_catalog, pg_temp",
		"fail function purge_inbox", "effects.purge_inbox has no fixed search_path"},
	    {"ALTER FUNCTION intake.republish RENAME TO gone",
		"ALTER FUNCTION intake.gone RENAME TO republish", "fail function republish",
		"intake.republish is missing"},
	    {"ALTER TABLE intake.outbox ALTER id SET CACHE 10",
		"ALTER TABLE intake.outbox ALTER id SET CACHE 1", "fail sequence", "a cache of 10"},
	    {NULL, NULL, NULL, NULL},
	};

	check_faults(faults);
}

static void check_rights(void)
{
	static const struct fault faults[] = {
	    {"GRANT INSERT ON intake.outbox TO umavez_producer",
		"REVOKE INSERT ON intake.outbox FROM umavez_producer", "fail rights",
		"umavez_producer has INSERT on intake.outbox"},
	    {"GRANT SELECT ON effects.inbox TO umavez_relay",
		"REVOKE SELECT ON effects.inbox FROM umavez_relay", "fail rights",
		"umavez_relay has SELECT on effects.inbox"},
	    {"GRANT UPDATE (shards) ON intake.setting TO umavez_relay",
		"REVOKE UPDATE (shards) ON intake.setting FROM umavez_relay", "fail rights",
		"umavez_relay has UPDATE (shards) on intake.setting"},
	    {"GRANT DELETE ON effects.ledger TO PUBLIC",
		"REVOKE DELETE ON effects.ledger FROM PUBLIC", "fail rights",
		"PUBLIC has DELETE on effects.ledger"},
	    {"CREATE ROLE reporter; GRANT UPDATE ON intake.purchase TO reporter;"
	     "GRANT SELECT ON intake.notification TO reporter",
		"DROP OWNED BY reporter; DROP ROLE reporter", "warn rights",
		"reporter has UPDATE on intake.purchase"},
	    {"ALTER ROLE umavez_consumer CREATEROLE", "ALTER ROLE umavez_consumer NOCREATEROLE",
		"fail role umavez_consumer", "umavez_consumer is CREATEROLE"},
	    {NULL, NULL, NULL, NULL},
	};

	check_faults(faults);
}

static void check_deployment(void)
{
	static const struct fault faults[] = {
	    {"UPDATE intake.setting SET system_identifier = 7",
		"UPDATE intake.setting SET system_identifier ="
		" (SELECT system_identifier FROM pg_control_system())",
		"fail cluster", "the outbox was written in 7"},
	    {"INSERT INTO intake.gap (shard, after_tick, after_id, tick) VALUES (0, 7, 3, 9)",
		"DELETE FROM intake.gap", "fail gaps", "1 time a stream went on"},
	    {"UPDATE effects.setting SET shards = 3", "UPDATE effects.setting SET shards = 2",
		"fail shards", "intake has 2 shards, effects 3"},
	    {"UPDATE intake.migration SET version = 99 WHERE version = 7",
		"UPDATE intake.migration SET version = 7 WHERE version = 99", "fail schema", "99"},
	    {"INSERT INTO intake.notification (store, notification_id, kind, rank, occurred_at,"
	     " received_at) VALUES ('stripe', 'odd', 'unrecognized', 0, now(), now())",
		"DELETE FROM intake.notification", "warn quarantine", "1 notification was not"},
	    {"INSERT INTO effects.parked (consumer, source, message_id, subject, shard, stream_id,"
	     " delivered_at, event, state) SELECT 'c', 's', n, 's', 0, '1-1', now(), '{}', state"
	     " FROM unnest(ARRAY['failed', 'retrying']) WITH ORDINALITY AS p(state, n)",
		"DELETE FROM effects.parked", "warn dead letters", "1 message has failed"},
	    {NULL, NULL, NULL, NULL},
	};

	check_faults(faults);
}

static void check_settings(void)
{
	static const char reload[] = "SELECT pg_reload_conf(), pg_sleep(0.1)";
	static const char *const names[] = {"fsync", "full_page_writes"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *what = text_format("%s = off", names[i]);

		world_sql(world, "ALTER SYSTEM SET %s = off", names[i]);
		world_sql(world, "%s", reload);
		check_finds(NULL, what, "fail");
		world_sql(world, "ALTER SYSTEM SET %s = on", names[i]);
		free(what);
	}
	world_sql(world, "ALTER ROLE ALL SET synchronous_commit = off");
	check_finds(NULL, "synchronous_commit = off", "warn synchronous_commit");
	world_sql(world, "ALTER ROLE ALL RESET synchronous_commit");
	world_sql(world, "%s", reload);
	check_nothing_fails();
}

/* A table by day, and one by milliseconds. */
static void check_partitions(void)
{
	world_sql(world, "CREATE TABLE intake.by_day (t timestamptz) PARTITION BY RANGE (t);"
			 "CREATE TABLE intake.by_day_rest PARTITION OF intake.by_day DEFAULT;"
			 "CREATE TABLE intake.by_ms (t bigint) PARTITION BY RANGE (t);"
			 "GRANT SELECT ON ALL TABLES IN SCHEMA intake TO umavez_operator");
	check_finds(NULL, "intake.by_day has partitions until never", "fail partitions");
	world_sql(world,
	    "DO $$ BEGIN EXECUTE format('CREATE TABLE intake.day PARTITION OF intake.by_day"
	    " FOR VALUES FROM (%%L) TO (%%L)', now(), now() + interval '3 days');"
	    "EXECUTE format('CREATE TABLE intake.ms PARTITION OF intake.by_ms FOR VALUES"
	    " FROM (0) TO (%%s)', ((extract(epoch FROM now()) + 86400 * 10) * 1000)::bigint);"
	    " END $$");
	check_finds(NULL, "intake.by_day has partitions until 2", "warn partitions");
	check_finds(NULL, "intake.by_ms has partitions until 2", "ok partitions");
	world_sql(world, "INSERT INTO intake.by_day VALUES ('2000-01-01')");
	check_finds(NULL, "the default partition intake.by_day_rest has rows", "fail partitions");
	world_sql(world, "DROP TABLE intake.by_day, intake.by_ms");
	check_nothing_fails();
}

static void redis(const char *command)
{
	redisContext *c = world_redis(world);
	redisReply *reply = redisCommand(c, command);

	CHECK(reply != NULL && reply->type != REDIS_REPLY_ERROR);
	freeReplyObject(reply);
	redisFree(c);
}

static void check_redis(void)
{
	static const char *const nowhere[] = {"--redis-url", "unix:///nowhere/redis.sock", NULL};

	check_finds(NULL, "maxmemory-policy noeviction", "ok eviction");
	redis("CONFIG SET maxmemory-policy allkeys-lru");
	check_finds(NULL, "maxmemory-policy allkeys-lru", "fail eviction");
	redis("CONFIG SET maxmemory-policy noeviction");
	redis("CONFIG SET maxmemory 100");
	check_finds(NULL, "bytes are used", "warn memory");
	redis("CONFIG SET maxmemory 0");
	check_finds(NULL, "appendonly no", "warn persistence");
	redis("CONFIG SET appendonly yes");
	check_finds(NULL, "appendonly yes", "ok persistence");
	redis("CONFIG SET appendonly no");
	check_finds(nowhere, "No such file or directory", "fail redis");
	redis("SET umavez:purchases:{1} x");
	check_finds(NULL, "umavez:purchases:{1} is a string", "fail streams");
	redis("DEL umavez:purchases:{1}");
	redis("XADD umavez:purchases:{0} 9999999999999-1 a b");
	check_finds(NULL, "lies far in the future", "fail streams");
	redis("DEL umavez:purchases:{0}");
	check_nothing_fails();
}

static void check_groups(void)
{
	int64_t row = story_receive(world, "stripe", "n1", "sub_1"), tick;
	int shard = (int)world_int(world, "SELECT shard FROM intake.outbox");

	tick = story_tick(world, shard);
	world_sql(
	    world, "INSERT INTO intake.stream_group (shard, name) VALUES (%d, 'mailer')", shard);
	check_finds(NULL, "group mailer is missing in shard", "warn groups");
	/* Young, or read lately: of an old backlog something was acknowledged a moment ago. */
	check_finds(NULL, "none of 1 registered groups lags", "ok groups");
	world_sql(world, "UPDATE intake.stream_group SET at = at - interval '6 min'");
	check_finds(NULL, "none of 1 registered groups lags", "ok groups");
	world_sql(world, "UPDATE intake.outbox SET created_at = created_at - interval '6 min';"
			 "UPDATE intake.stream_group SET at = clock_timestamp()");
	check_finds(NULL, "none of 1 registered groups lags", "ok groups");
	world_sql(world, "UPDATE intake.stream_group SET at = at - interval '6 min'");
	check_finds(
	    NULL, " has not acknowledged 1 message after 0-0 for over 5 min", "warn groups");
	world_sql(world,
	    "UPDATE intake.stream_group SET acknowledged_tick = %lld, acknowledged_id = %lld",
	    (long long)tick, (long long)row);
	check_finds(NULL, "none of 1 registered groups lags", "ok groups");
	world_sql(world, "DELETE FROM intake.stream_group");
}

/* Relays and consumers that are away are told at once, and by their right names. */
static void check_work(void)
{
	static const char *const human[] = {"doctor", NULL};
	int shard;

	check_finds(NULL, "no relay holds shards 0, 1, where 0 messages wait", "warn relays");
	check_finds(NULL, "no consumer has begun yet", "warn consumers");
	story_receive(world, "stripe", "n2", "sub_1");
	shard = (int)world_int(world, "SELECT shard FROM intake.outbox ORDER BY id DESC LIMIT 1");
	check_finds(NULL, "no relay holds shards 0, 1, where 1 message waits", "fail relays");
	story_relay_lease(world, 1 - shard, "relay-1");
	check_finds(NULL, "no relay holds shard ", "fail relays");
	story_relay_lease(world, shard, "relay-1");
	check_finds(NULL, "a relay holds every shard", "ok relays");
	story_tick(world, shard);
	story_cursor(world, "shop", shard);
	check_finds(NULL, "consumer shop: nobody holds shards 0, 1, where ", "fail consumers");
	world_sql(world,
	    "INSERT INTO intake.stream_group (shard, name) VALUES (%d, 'shop'), (%d, 'mailer')",
	    shard, shard);
	check_finds(NULL, "after 0-0, and nobody reads: nothing from there", "warn groups");
	story_check_says(world, human, 1, "consumer forget shop, if it will never come back", "");
	story_check_says(world, human, 1, "group drop mailer --destroy, if nobody ever will", "");
	story_consumer_lease(world, "shop", shard, "consumer-1");
	check_finds(NULL, "none of 2 registered groups lags", "ok groups");
	check_finds(NULL, "consumer shop: nobody holds shard ", "warn consumers");
	story_consumer_lease(world, "shop", 1 - shard, "consumer-1");
	check_finds(NULL, "consumer shop: every shard is held", "ok consumers");
	world_sql(world, "DELETE FROM intake.stream_group");
}

/* The server's clock, as the session sees it. */
static void check_clocks(void)
{
	world_sql(world,
	    "CREATE SCHEMA fake; GRANT USAGE ON SCHEMA fake TO PUBLIC;"
	    "CREATE FUNCTION fake.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS"
	    " $$SELECT pg_catalog.clock_timestamp() - interval '1 hour'$$;"
	    "ALTER ROLE w_operator SET search_path = fake, pg_catalog");
	check_finds(NULL, "intake differs from this host by -3", "fail clock");
	world_sql(world,
	    "CREATE OR REPLACE FUNCTION fake.clock_timestamp() RETURNS timestamptz"
	    " LANGUAGE sql AS $$SELECT pg_catalog.clock_timestamp() + interval '5 s'$$");
	check_finds(NULL, "intake differs from this host by ", "warn clock");
	world_sql(world, "ALTER ROLE w_operator RESET search_path; DROP SCHEMA fake CASCADE");
	check_finds(NULL, "Redis differs from this host by 0 ms", "ok clock");
}

static void check_connection(void)
{
	static const char *const nowhere[] = {
	    "--effects-database-url", "postgresql:///?host=/nowhere", NULL};

	check_finds(nowhere, "/nowhere", "fail effects");
	world_sql(world, "REVOKE SELECT ON effects.migration FROM umavez_operator");
	check_finds(NULL, "permission denied", "fail schema");
	world_sql(world, "GRANT SELECT ON effects.migration TO umavez_operator");
}

static void check_human(void)
{
	const char *const args[] = {"doctor", NULL};
	char *out = NULL, *err = NULL;

	redis("CONFIG SET maxmemory-policy allkeys-lru");
	CHECK_INT(world_run_all(world, "umavez", args, NULL, &out, &err), 1);
	CHECK_STR(err, "umavez doctor: 1 check fails\n");
	redis("CONFIG SET maxmemory-policy noeviction");
	CHECK(strstr(out, "PostgreSQL of intake: database ") == out);
	CHECK(strstr(out, ", as role w_operator\n") != NULL);
	CHECK(strstr(out, "\n\nschema effects\n") != NULL);
	/* Both schemas are on one server, which is looked at once. */
	CHECK(strstr(strstr(out, " fsync "), "\nok    fsync") == NULL);
	CHECK(strstr(out, "\nok    constraint notification_pkey") != NULL);
	CHECK(strstr(out, "\nfail  eviction ") != NULL);
	CHECK(strstr(out, " CONFIG SET maxmemory-policy noeviction: any other") != NULL);
	CHECK(strchr(out, '\033') == NULL);
	free(out);
	free(err);
}

static const struct check checks[] = {
    {"a new deployment is healthy", check_nothing_fails},
    {"constraints", check_constraints},
    {"functions", check_functions},
    {"rights", check_rights},
    {"deployment", check_deployment},
    {"settings", check_settings},
    {"partitions", check_partitions},
    {"redis", check_redis},
    {"groups", check_groups},
    {"relays and consumers", check_work},
    {"clocks", check_clocks},
    {"connections", check_connection},
    {"for people", check_human},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(2);
	world_sql(world, "ALTER SYSTEM SET fsync = on");
	world_sql(world, "ALTER SYSTEM SET full_page_writes = on");
	world_sql(world, "SELECT pg_reload_conf()");
	status = check_main("cli doctor", checks, argc, argv);
	world_close(world);
	return status;
}
