/*
 * umavez reconcile: what becomes of each outbox row, and that nothing lost goes unseen.
 */
#include "tests/cli/story.h"
#include "tests/support/check.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world *world;

static void clean(void)
{
	world_sql(world, "TRUNCATE intake.notification, intake.purchase, intake.outbox, intake.gap,"
			 " intake.stream_group, effects.inbox, effects.cursor, effects.ledger,"
			 " effects.entitlement, effects.parked");
	world_sql(world,
	    "TRUNCATE intake.tick; INSERT INTO intake.tick (shard, previous_tick, tick, snapshot)"
	    " SELECT shard, 0, 1, pg_current_snapshot() FROM generate_series(0, 1) AS shard");
}

static int reconcile(json_t **ret_json, const char *more)
{
	const char *const args[] = {"reconcile", "--older-than", "0", "--json", more, NULL};
	char *out = NULL, *err = NULL;
	int status = world_run_all(world, "umavez", args, NULL, &out, &err);

	*ret_json = json_loads(out, 0, NULL);
	if (!*ret_json)
		fprintf(stderr, "%s%s", out, err);
	free(out);
	free(err);
	return status;
}

/* Names and numbers of one consumer's account that are not 0: "applied 1 lost 2". */
static void check_account(int status, const char *consumer, const char *want)
{
	json_t *json, *account, *value;
	char found[300] = "";
	const char *name;

	CHECK_INT(reconcile(&json, NULL), status);
	account = json_object_get(json_object_get(json, "consumers"), consumer);
	json_object_foreach (account, name, value) {
		size_t used = strlen(found);

		if (json_integer_value(value) != 0)
			snprintf(found + used, sizeof(found) - used, "%s%s %" JSON_INTEGER_FORMAT,
			    used ? " " : "", name, json_integer_value(value));
	}
	CHECK_STR(found, want);
	json_decref(json);
}

static void receive_all(int64_t *rows, int n)
{
	for (int i = 0; i < n; i++) {
		char name[2] = {(char)('a' + i), '\0'};

		rows[i] = story_receive(world, "app_store", name, name);
	}
}

/* In one tick, of which the cursor has passed everything and the last row was applied. */
static int64_t pass_over_all_but_last(int64_t *rows, int n)
{
	int64_t tick;

	clean();
	story_cursor(world, "entitlements", 0);
	receive_all(rows, n);
	tick = story_tick(world, 0);
	story_apply(world, "entitlements", 0, tick, rows[n - 1]);
	return tick;
}

static void check_way(void)
{
	int64_t rows[3], tick;

	clean();
	check_account(0, "entitlements", "");
	story_cursor(world, "entitlements", 0);
	story_cursor(world, "mailer", 0);
	receive_all(rows, 3);
	check_account(0, "entitlements", "waiting 3");
	tick = story_tick(world, 0);
	check_account(0, "entitlements", "waiting 3");
	story_apply(world, "entitlements", 0, tick, rows[0]);
	check_account(0, "entitlements", "applied 1 waiting 2");
	/* The cursor passes over the second. */
	story_apply(world, "entitlements", 0, tick, rows[2]);
	check_account(1, "entitlements", "applied 2 lost 1");
	/* Another consumer has an account of its own. */
	check_account(1, "mailer", "waiting 3");
	check_account(1, "entitlements", "applied 2 lost 1");
}

static void check_list(void)
{
	int64_t rows[3];
	json_t *json;

	pass_over_all_but_last(rows, 3);
	CHECK_INT(reconcile(&json, NULL), 1);
	CHECK_STR(story_get(json, "lost"), "2");
	CHECK_STR(story_get(json, "lost_messages/0/message_id"), "a");
	CHECK_STR(story_get(json, "lost_messages/1/message_id"), "b");
	CHECK_STR(story_get(json, "lost_messages/1/consumer"), "entitlements");
	CHECK_STR(story_get(json, "lost_messages/1/source"), "app_store");
	json_decref(json);
	CHECK_INT(reconcile(&json, "--list=1"), 1);
	CHECK_STR(story_get(json, "lost"), "2");
	CHECK_STR(story_get(json, "lost_messages/1"), "(missing)");
	json_decref(json);
}

/* A repair or a replay publishes again what a cursor has passed. */
static void check_replay(void)
{
	int64_t rows[3], tick;

	tick = pass_over_all_but_last(rows, 3);
	world_sql(world,
	    "INSERT INTO intake.tick (shard, previous_tick, tick, snapshot, from_tick, from_id, "
	    "replay) VALUES (0, %" PRId64 ", %" PRId64 " + 1, pg_current_snapshot(), %" PRId64
	    ", %" PRId64 ", true)",
	    tick, tick, tick, rows[0]);
	check_account(1, "entitlements", "applied 1 waiting 1 lost 1");
}

static void check_floors(void)
{
	int64_t rows[3], tick;

	tick = pass_over_all_but_last(rows, 3);
	world_sql(world, "UPDATE effects.cursor SET purge_floor = '%" PRId64 "-%" PRId64 "'", tick,
	    rows[0]);
	check_account(1, "entitlements", "applied 1 purged 1 lost 1");
	world_sql(world, "UPDATE effects.cursor SET purge_floor = NULL");
	/* Older than the consumer: trimmed before it came. */
	world_sql(world,
	    "UPDATE effects.cursor SET made_at = (SELECT created_at + interval '1 us'"
	    " FROM intake.outbox WHERE id = %" PRId64 ")",
	    rows[0]);
	check_account(1, "entitlements", "applied 1 early 1 lost 1");
	/* Ticks up to this one are dropped. */
	story_tick(world, 0);
	world_sql(world, "DELETE FROM intake.tick WHERE tick < %" PRId64, tick);
	check_account(0, "entitlements", "applied 1 unretained 2");
}

static void check_parked(void)
{
	int64_t rows[4], tick;

	tick = pass_over_all_but_last(rows, 4);
	for (int i = 0; i < 3; i++)
		world_sql(world,
		    "INSERT INTO effects.parked (consumer, source, message_id, subject, shard,"
		    " stream_id, event, delivered_at, state) SELECT 'entitlements', source, "
		    "message_id, subject,"
		    " shard, '%" PRId64
		    "-' || id, '{}', now(), '%s' FROM intake.outbox WHERE id = %" PRId64,
		    tick, (const char *const[]){"retrying", "held", "failed"}[i], rows[i]);
	check_account(0, "entitlements", "applied 1 retrying 1 held 1 failed 1");
}

static void check_gaps(void)
{
	json_t *json;

	clean();
	story_cursor(world, "entitlements", 0);
	world_sql(world,
	    "INSERT INTO intake.gap (shard, after_tick, after_id, tick) VALUES (0, 7, 3, 1000)");
	CHECK_INT(reconcile(&json, "--forget-gaps"), 1);
	CHECK_STR(story_get(json, "gaps/0/after"), "7-3");
	CHECK_STR(story_get(json, "gaps/0/oldest_tick"), "1000");
	json_decref(json);
	CHECK_INT(reconcile(&json, NULL), 0);
	json_decref(json);
}

/* An effect that was written beside the transaction of its inbox row. */
static void check_doubled(void)
{
	json_t *json;
	int64_t row, tick;

	clean();
	row = story_receive(world, "app_store", "a", "a");
	story_cursor(world, "entitlements", 0);
	tick = story_tick(world, 0);
	story_apply(world, "entitlements", 0, tick, row);
	world_sql(world,
	    "INSERT INTO effects.ledger (store, transaction_id, kind, source, message_id, xid)"
	    " SELECT 'app_store', 't1', 'charge', source, message_id, xid FROM effects.inbox");
	CHECK_INT(reconcile(&json, NULL), 0);
	CHECK_STR(story_get(json, "ledger_entries"), "1");
	json_decref(json);
	world_sql(world,
	    "INSERT INTO effects.ledger (store, transaction_id, kind, source, message_id)"
	    " SELECT 'app_store', 't2', 'charge', source, message_id FROM effects.inbox");
	CHECK_INT(reconcile(&json, NULL), 1);
	CHECK_STR(story_get(json, "doubled"), "1");
	json_decref(json);
}

/* More rows than a page has, and effects in a database of their own. */
static void check_pages(void)
{
	const char *url = world_admin_url(world), *path = strrchr(url, '/');
	char *other, *argument;
	PGconn *conn;
	json_t *json;

	path = strchr(strstr(url, "://") + 3, '/');
	other = text_format(
	    "%.*s/elsewhere%s", (int)(path - url), url, strchr(url, '?') ? strchr(url, '?') : "");
	const char *const migrate[] = {"migrate", "--only", "effects", "--shards", "2",
	    "--database-url", other, "--roles", NULL};
	clean();
	world_sql(world, "CREATE DATABASE elsewhere");
	CHECK_INT(world_run(world, NULL, "umavez", migrate), 0);
	world_sql(world,
	    "INSERT INTO intake.outbox (shard, source, message_id, type, subject, time, data)"
	    " SELECT 0, 'app_store', n, 't', 's', now(), '{}' FROM generate_series(1, 2500) AS n");
	conn = PQconnectdb(other);
	PQclear(PQexec(conn, "INSERT INTO effects.cursor (consumer, shard) VALUES ('far', 0);"
			     "INSERT INTO effects.inbox (consumer, source, message_id, subject,"
			     " shard, stream_id, delivered_at, instance) SELECT 'far', 'app_store',"
			     " n, 's', 0, '2-1', now(), 'i' FROM generate_series(1, 2400) AS n"));
	PQfinish(conn);
	argument = text_format("--effects-database-url=%s", other);
	CHECK_INT(reconcile(&json, argument), 0);
	CHECK_STR(story_get(json, "rows"), "2500");
	CHECK_STR(story_get(json, "consumers/far/applied"), "2400");
	CHECK_STR(story_get(json, "consumers/far/waiting"), "100");
	json_decref(json);
	free(argument);
	free(other);
}

static void check_human(void)
{
	const char *const args[] = {"reconcile", "--older-than=0", NULL};
	char *out = NULL, *err = NULL;
	int64_t rows[2];

	pass_over_all_but_last(rows, 2);
	CHECK_INT(world_run_all(world, "umavez", args, NULL, &out, &err), 1);
	CHECK(strstr(out, "2 outbox rows, 0 ledger entries\n") == out);
	CHECK(strstr(out, "\n  lost  passed over: neither applied nor parked\n") != NULL);
	CHECK(strstr(out, "on its way") == NULL);
	CHECK(strstr(out, "\nlost  entitlements  app_store/a  shard 0  ") != NULL);
	CHECK(strstr(strstr(out, "shard 0  2"), "Z\n") != NULL);
	CHECK(strstr(err, "umavez reconcile: lost 1, gaps 0, doubled 0: ") == err);
	free(out);
	free(err);
	CHECK_INT(world_int(world, "SELECT intake.republish(ARRAY[%" PRId64 "])", rows[0]), 1);
	CHECK_INT(world_run_all(world, "umavez", args, NULL, &out, NULL), 1);
	CHECK(strstr(out, "3 outbox rows, 1 of them republished, 0 ledger entries\n") == out);
	free(out);
	const char *const young[] = {"reconcile", NULL};
	CHECK_INT(world_run_all(world, "umavez", young, NULL, &out, &err), 0);
	CHECK(strstr(out, "0 outbox rows (3 younger than 1min left out: see --older-than), 0 "
			  "ledger entries\n") == out);
	free(out);
	free(err);
	const char *const nobody[] = {"reconcile", "--consumer", "nobody", NULL};
	CHECK_INT(world_run_all(world, "umavez", nobody, NULL, NULL, &err), 1);
	CHECK(strstr(err, "no consumer nobody has a cursor") != NULL);
	free(err);
}

static const struct check checks[] = {
    {"waiting, applied, lost", check_way},
    {"the lost are listed", check_list},
    {"what a replay will publish is on its way", check_replay},
    {"below the floors nothing is called lost", check_floors},
    {"parked", check_parked},
    {"gaps", check_gaps},
    {"doubled", check_doubled},
    {"pages, and two databases", check_pages},
    {"for people", check_human},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(2);
	story_one_shard(world);
	status = check_main("cli reconcile", checks, argc, argv);
	world_close(world);
	return status;
}
