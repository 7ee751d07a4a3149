/*
 * umavez doctor, of PostgreSQL: everything is right at first; then each thing is broken, seen, and
 * put right again.
 */
#include "tests/cli/diagnosis.h"
#include "tests/cli/story.h"
#include "tests/support/check.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <stdlib.h>

static struct world *world;

static void check_healthy(void)
{
	diagnosis_check_healthy(world);
}

struct fault {
	const char *harm, *heal; /* SQL */
	const char *want, *what; /* "fail constraint", and what it says */
};

static void check_faults(const struct fault *f)
{
	for (; f->harm; f++) {
		world_sql(world, "SET client_min_messages = warning; %s", f->harm);
		diagnosis_check_finds(world, NULL, f->what, f->want);
		world_sql(world, "%s", f->heal);
	}
	diagnosis_check_healthy(world);
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
	    {"SELECT", "SELECT", "warn owner", "effects belongs to postgres, a superuser"},
	    {"CREATE ROLE plain; ALTER SCHEMA intake OWNER TO plain",
		"ALTER SCHEMA intake OWNER TO postgres; DROP ROLE plain", "ok owner",
		"intake belongs to plain"},
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

/* The server passes new settings on to the sessions that there are after it has them itself. */
static void reload(const char *name, const char *value)
{
	world_sql(world, "SELECT pg_reload_conf()");
	CHECK(world_await_int(
	    world, 1, STORY_WAIT_MS, "SELECT (current_setting('%s') = '%s')::int", name, value));
}

static void check_settings(void)
{
	static const char *const names[] = {"fsync", "full_page_writes"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *what = text_format("%s = off", names[i]);

		world_sql(world, "ALTER SYSTEM SET %s = off", names[i]);
		reload(names[i], "off");
		diagnosis_check_finds(world, NULL, what, "fail");
		world_sql(world, "ALTER SYSTEM SET %s = on", names[i]);
		free(what);
	}
	world_sql(world, "ALTER ROLE ALL SET synchronous_commit = off");
	diagnosis_check_finds(world, NULL, "synchronous_commit = off", "warn synchronous_commit");
	world_sql(world, "ALTER ROLE ALL RESET synchronous_commit");
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		reload(names[i], "on");
	diagnosis_check_healthy(world);
}

/* A table by day, and one by milliseconds. */
static void check_partitions(void)
{
	world_sql(world, "CREATE TABLE intake.by_day (t timestamptz) PARTITION BY RANGE (t);"
			 "CREATE TABLE intake.by_day_rest PARTITION OF intake.by_day DEFAULT;"
			 "CREATE TABLE intake.by_ms (t bigint) PARTITION BY RANGE (t);"
			 "GRANT SELECT ON ALL TABLES IN SCHEMA intake TO umavez_operator");
	diagnosis_check_finds(
	    world, NULL, "intake.by_day has partitions until never", "fail partitions");
	world_sql(world,
	    "DO $$ BEGIN EXECUTE format('CREATE TABLE intake.day PARTITION OF intake.by_day"
	    " FOR VALUES FROM (%%L) TO (%%L)', now(), now() + interval '3 days');"
	    "EXECUTE format('CREATE TABLE intake.ms PARTITION OF intake.by_ms FOR VALUES"
	    " FROM (0) TO (%%s)', ((extract(epoch FROM now()) + 86400 * 10) * 1000)::bigint);"
	    " END $$");
	diagnosis_check_finds(
	    world, NULL, "intake.by_day has partitions until 2", "warn partitions");
	diagnosis_check_finds(world, NULL, "intake.by_ms has partitions until 2", "ok partitions");
	world_sql(world, "INSERT INTO intake.by_day VALUES ('2000-01-01')");
	diagnosis_check_finds(
	    world, NULL, "the default partition intake.by_day_rest has rows", "fail partitions");
	world_sql(world, "DROP TABLE intake.by_day, intake.by_ms");
	diagnosis_check_healthy(world);
}

/* The server's clock, as the session sees it. */
static void check_clocks(void)
{
	world_sql(world,
	    "CREATE SCHEMA fake; GRANT USAGE ON SCHEMA fake TO PUBLIC;"
	    "CREATE FUNCTION fake.clock_timestamp() RETURNS timestamptz LANGUAGE sql AS"
	    " $$SELECT pg_catalog.clock_timestamp() - interval '1 hour'$$;"
	    "ALTER ROLE w_operator SET search_path = fake, pg_catalog");
	diagnosis_check_finds(world, NULL, "intake differs from this host by -3", "fail clock");
	world_sql(world,
	    "CREATE OR REPLACE FUNCTION fake.clock_timestamp() RETURNS timestamptz"
	    " LANGUAGE sql AS $$SELECT pg_catalog.clock_timestamp() + interval '5 s'$$");
	diagnosis_check_finds(world, NULL, "intake differs from this host by ", "warn clock");
	world_sql(world, "ALTER ROLE w_operator RESET search_path; DROP SCHEMA fake CASCADE");
	diagnosis_check_finds(world, NULL, "Redis differs from this host by 0 ms", "ok clock");
}

static void check_connection(void)
{
	static const char *const nowhere[] = {
	    "--effects-database-url", "postgresql:///?host=/nowhere", NULL};

	diagnosis_check_finds(world, nowhere, "/nowhere", "fail effects");
	world_sql(world, "REVOKE SELECT ON effects.migration FROM umavez_operator");
	diagnosis_check_finds(world, NULL, "permission denied", "fail schema");
	STORY_SAYS(world, 1, "\"advice\":\"connect as a member of umavez_operator", "", "doctor",
	    "--json");
	world_sql(world, "GRANT SELECT ON effects.migration TO umavez_operator");
}

static const struct check checks[] = {
    {"a new deployment is healthy", check_healthy},
    {"constraints", check_constraints},
    {"functions", check_functions},
    {"rights", check_rights},
    {"deployment", check_deployment},
    {"settings", check_settings},
    {"partitions", check_partitions},
    {"clocks", check_clocks},
    {"connections", check_connection},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = diagnosis_world();
	status = check_main("cli doctor database", checks, argc, argv);
	world_close(world);
	return status;
}
