/*
 * umavez migrate: once, again, many at once, and what it refuses.
 */
#include "schema/schema.h"
#include "tests/schema/notes.h"
#include "tests/support/check.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world *world;

static void clean(void)
{
	world_sql(world,
	    "SET client_min_messages = warning;"
	    "DROP SCHEMA IF EXISTS intake CASCADE; DROP SCHEMA IF EXISTS effects CASCADE");
}

/* The exit status; *ret_out and *ret_err, malloc'd, may be NULL. */
static int migrate(const char *const *more, char **ret_out, char **ret_err)
{
	const char *args[16] = {"migrate", "--database-url", world_admin_url(world)};
	int n = 3;

	for (; more && *more; more++)
		args[n++] = *more;
	return world_run_all(world, "umavez", args, NULL, ret_out, ret_err);
}

static void check_refused(const char *const *more, int status, const char *why)
{
	char *err = NULL;

	CHECK_INT(migrate(more, NULL, &err), status);
	if (!strstr(err, why))
		CHECK_STR(err, why);
	free(err);
}

static char *add_lines(char *text, const char *word, const char *schema)
{
	for (const struct schema_file *f = schema_files; f->schema; f++) {
		if (strcmp(f->schema, schema) != 0)
			continue;
		char *longer = text_format("%s%s  %s\n", text, word, f->name);
		free(text);
		text = longer;
	}
	return text;
}

/* "applied  001_intake_tables.sql" and so on: one line a file, intake first. */
static char *lines(const char *word)
{
	return add_lines(add_lines(text_format("%s", ""), word, "intake"), word, "effects");
}

static void check_output(const char *const *more, const char *word)
{
	char *want = lines(word), *out = NULL;

	CHECK_INT(migrate(more, &out, NULL), 0);
	CHECK_STR(out, want);
	free(out);
	free(want);
}

static void check_again(void)
{
	clean();
	check_output(NULL, "applied");
	check_output(NULL, "present");
	CHECK_INT(world_int(world, "SELECT shards FROM intake.setting"), 4);
	CHECK_INT(world_int(world, "SELECT shards FROM effects.setting"), 4);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.shard_lease"), 4);
	CHECK_INT(world_int(world,
		      "SELECT count(*) FROM intake.tick WHERE previous_tick = 0 AND tick = 1"),
	    4);
	CHECK_INT(world_int(world, "SELECT (SELECT count(*) FROM intake.migration)"
				   " + (SELECT count(*) FROM effects.migration)"),
	    world_int(world, "SELECT greatest((SELECT max(version) FROM intake.migration),"
			     " (SELECT max(version) FROM effects.migration))"));
}

static void *migrate_at_once(void *arg)
{
	const char *const more[] = {"--roles", NULL};

	*(int *)arg = migrate(more, NULL, NULL);
	return NULL;
}

static void check_eight_at_once(void)
{
	pthread_t threads[8];
	int statuses[8];

	clean();
	for (int i = 0; i < 8; i++)
		pthread_create(&threads[i], NULL, migrate_at_once, &statuses[i]);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 8; i++)
		CHECK_INT(statuses[i], 0);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.tick"), 4);
	check_output(NULL, "present");
}

static void check_changed_file(void)
{
	clean();
	CHECK_INT(migrate(NULL, NULL, NULL), 0);
	world_sql(world, "UPDATE intake.migration SET checksum = 'f00' WHERE version = 2");
	check_refused(NULL, 3, "002_intake_receive.sql was changed after it had been applied");
}

static void check_newer_database(void)
{
	clean();
	CHECK_INT(migrate(NULL, NULL, NULL), 0);
	world_sql(
	    world, "INSERT INTO effects.migration VALUES (999, '999_effects_future.sql', 'x')");
	check_refused(NULL, 3, "effects is newer than this umavez: it has 999_effects_future.sql");
}

static void check_gap(void)
{
	clean();
	CHECK_INT(migrate(NULL, NULL, NULL), 0);
	world_sql(world, "DELETE FROM intake.migration WHERE version = 2");
	check_refused(NULL, 3, "003_intake_ticks.sql was applied without 002_intake_receive.sql");
}

/* What was done before an interruption stays, and the rest follows. */
static void check_resumes(void)
{
	clean();
	CHECK_INT(migrate(NULL, NULL, NULL), 0);
	world_sql(world,
	    "DELETE FROM effects.migration WHERE version = 9; DROP INDEX effects.inbox_age;"
	    "DROP FUNCTION effects.purge_inbox, effects.position_key, effects.key_position,"
	    " effects.park_purged, effects.raise_positions, effects.forget_obstacle,"
	    " effects.forget_consumer;"
	    "DELETE FROM intake.setting; DELETE FROM intake.tick; DELETE FROM intake.shard_lease");
	CHECK_INT(
	    migrate((const char *const[]){"--shards", "2", "--only", "intake", NULL}, NULL, NULL),
	    0);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.tick"), 2);
	CHECK_INT(migrate((const char *const[]){"--only", "effects", NULL}, NULL, NULL), 0);
	CHECK_INT(world_int(world, "SELECT count(*) FROM effects.migration WHERE version = 9"), 1);
}

static void check_shards(void)
{
	clean();
	check_refused((const char *const[]){"--shards", "0", NULL}, 2, "--shards");
	check_refused((const char *const[]){"--shards", "1025", NULL}, 2, "--shards");
	CHECK_INT(migrate((const char *const[]){"--shards", "3", NULL}, NULL, NULL), 0);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.tick"), 3);
	CHECK_INT(world_int(world, "SELECT shards FROM effects.setting"), 3);
	CHECK_INT(migrate((const char *const[]){"--shards", "3", NULL}, NULL, NULL), 0);
	CHECK_INT(migrate(NULL, NULL, NULL), 0);
	check_refused((const char *const[]){"--shards", "4", NULL}, 2,
	    "intake has 3 shards, which cannot be changed to 4");
	/* Without a number the effects beside an intake take its number. */
	world_sql(world, "DROP SCHEMA effects CASCADE");
	CHECK_INT(migrate((const char *const[]){"--only", "effects", NULL}, NULL, NULL), 0);
	CHECK_INT(world_int(world, "SELECT shards FROM effects.setting"), 3);
}

/* Two databases: each gets its schema and nothing of the other. */
static void check_two_databases(void)
{
	PGconn *conn = world_pg(world);
	PGresult *res;
	char *other = text_format("postgresql://%s@/other?host=%s", PQuser(conn), PQhost(conn));

	PQfinish(conn);
	clean();
	world_sql(world, "CREATE DATABASE other");
	CHECK_INT(migrate((const char *const[]){"--effects-database-url", other, "--shards", "5",
			      "--roles", NULL},
		      NULL, NULL),
	    0);
	CHECK_INT(world_int(world,
		      "SELECT count(*) FROM pg_namespace WHERE nspname IN ('intake', 'effects')"),
	    1);
	conn = PQconnectdb(other);
	res = PQexec(conn,
	    "SELECT shards, has_table_privilege('umavez_consumer', 'effects.inbox', 'INSERT')"
	    " FROM effects.setting");
	CHECK_STR(PQgetvalue(res, 0, 0), "5");
	CHECK_STR(PQgetvalue(res, 0, 1), "t");
	PQclear(res);
	PQfinish(conn);
	CHECK_INT(migrate((const char *const[]){"--only", "effects", "--effects-database-url",
			      other, "--shards", "5", NULL},
		      NULL, NULL),
	    0);
	check_refused((const char *const[]){"--only", "effects", "--effects-database-url", other,
			  "--shards", "6", NULL},
	    2, "effects has 5 shards");
	free(other);
}

/* An owner that is no superuser. */
static void check_plain_owner(void)
{
	PGconn *conn = world_pg(world);
	char *url = text_format("postgresql://keeper@/%s?host=%s", PQdb(conn), PQhost(conn));

	PQfinish(conn);
	clean();
	world_sql(world, "CREATE ROLE keeper LOGIN CREATEROLE");
	check_refused((const char *const[]){"--database-url", url, NULL}, 2,
	    "permission denied for database postgres: run it as the role that owns the schemas");
	world_sql(world, "GRANT CREATE ON DATABASE postgres TO keeper");
	CHECK_INT(
	    migrate((const char *const[]){"--database-url", url, "--roles", NULL}, NULL, NULL), 0);
	CHECK_TEXT(world, "SELECT proowner::regrole::text FROM pg_proc WHERE proname = 'receive'",
	    "keeper");
	clean();
	world_sql(world, "DROP OWNED BY keeper; DROP ROLE keeper");
	free(url);
}

/* Told what to do; and the roles may be made by somebody else. */
static void check_owner_without_createrole(void)
{
	PGconn *conn = world_pg(world);
	char *url = text_format("postgresql://keeper@/%s?host=%s", PQdb(conn), PQhost(conn));
	const char *const args[] = {"--database-url", url, "--roles", NULL};
	char *err = NULL;

	PQfinish(conn);
	clean();
	CHECK_INT(migrate((const char *const[]){"--roles", NULL}, NULL, NULL), 0);
	clean();
	world_sql(world, "CREATE ROLE keeper LOGIN; GRANT CREATE ON DATABASE postgres TO keeper");
	world_sql(world, "ALTER ROLE umavez_emitter RENAME TO put_aside");
	CHECK_INT(migrate(args, NULL, &err), 2);
	CHECK(strstr(err, "the role keeper may not create roles: as a superuser do ALTER ROLE "
			  "keeper CREATEROLE, or CREATE ROLE for each of umavez_emitter; then run "
			  "this again") != NULL);
	world_sql(world, "ALTER ROLE put_aside RENAME TO umavez_emitter");
	CHECK_INT(migrate(args, NULL, NULL), 0);
	free(err);
	clean();
	world_sql(world, "DROP OWNED BY keeper; DROP ROLE keeper");
	free(url);
}

static void check_usage(void)
{
	const char *const none[] = {"migrate", NULL};
	const char *const nowhere[] = {
	    "migrate", "--database-url", "postgresql:///?host=/nowhere", NULL};
	char *err = NULL;

	CHECK_INT(world_run_all(NULL, "umavez", none, NULL, NULL, &err), 2);
	CHECK_STR(err, "umavez migrate: --database-url (or DATABASE_URL) is required\n");
	free(err);
	CHECK_INT(world_run_all(NULL, "umavez", nowhere, NULL, NULL, &err), 1);
	free(err);
	check_refused((const char *const[]){"--only", "both", NULL}, 2, "--only");
	check_refused((const char *const[]){"extra", NULL}, 2, "extra");
}

static const struct check checks[] = {
    {"applies every file, once", check_again},
    {"eight at once", check_eight_at_once},
    {"a file that changed is refused", check_changed_file},
    {"a newer database is refused", check_newer_database},
    {"a file that is missing in between is refused", check_gap},
    {"goes on where it was interrupted", check_resumes},
    {"the number of shards is for life", check_shards},
    {"two databases", check_two_databases},
    {"an owner that is no superuser", check_plain_owner},
    {"an owner that may not create roles", check_owner_without_createrole},
    {"usage errors", check_usage},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(0);
	status = check_main("cli migrate", checks, argc, argv);
	world_close(world);
	return status;
}
