/*
 * migrate.c - umavez migrate: bring the database schemas to this binary's version.
 */
#include "cli/command.h"
#include "cli/migration.h"
#include "common/memory.h"
#include "common/pg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum only { ONLY_ALL, ONLY_INTAKE, ONLY_EFFECTS };

struct migrate {
	char *database_url;
	char *effects_database_url;
	int64_t shards;
	int only;
	bool roles;
};

static const struct option options[] = {
    {"database-url", OPT_PG_URL, offsetof(struct migrate, database_url), NULL,
	"PostgreSQL; the role owns what it makes", OPT_SECRET, 0, 0, NULL, "DATABASE_URL"},
    {"effects-database-url", OPT_PG_URL, offsetof(struct migrate, effects_database_url), NULL,
	"Where effects lives, if not in the same database", OPT_SECRET, 0, 0, NULL, NULL},
    {"shards", OPT_INT, offsetof(struct migrate, shards), NULL,
	"Number of streams, the first time and for life (4)", 0, 1, 1024, NULL, NULL},
    {"only", OPT_CHOICE, offsetof(struct migrate, only), "all", "One of the two schemas", 0, 0, 0,
	"all|intake|effects", NULL},
    {"roles", OPT_BOOL, offsetof(struct migrate, roles), "off",
	"Also make the services' roles and grant their rights", 0, 0, 0, NULL, NULL},
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

static const char usage[] =
    "[OPTION]...\n\n"
    "Applies the schema files that this database does not have yet, each in a transaction of its\n"
    "own.  Safe to run again, and by many at once: one works, the others wait.\n\n"
    "Whoever runs this owns what it makes.  intake.receive and intake.emit are SECURITY DEFINER\n"
    "functions: they write with that role's rights, so run it as a role that owns umavez and\n"
    "nothing else.  --roles must also be allowed to create roles.\n\n"
    "Where the two schemas live in two databases, give both URLs, or run it once for each with\n"
    "--only and the same --shards.";

static const char *url_of(const struct migrate *m, bool effects)
{
	return effects && m->effects_database_url ? m->effects_database_url : m->database_url;
}

/* A session that has the lock, so that no two migrates work in one database. */
static int open_locked(const char *url, PGconn **ret_conn, struct err *err)
{
	const struct pg_session session = {.application_name = "umavez-migrate"};
	PGconn *conn = NULL;
	int rc = -1;

	if (pg_connect(url, &session, &conn, err) < 0 || migration_lock(conn, err) < 0)
		goto done;
	*ret_conn = conn;
	conn = NULL;
	rc = 0;
done:
	PQfinish(conn);
	return rc;
}

static int apply_files(PGconn *conn, const char *schema, const bool *applied, struct err *err)
{
	for (size_t i = 0; schema_files[i].schema; i++) {
		if (strcmp(schema_files[i].schema, schema) != 0)
			continue;
		if (!applied[i] && migration_apply(conn, &schema_files[i], err) < 0)
			return -1;
		printf("%s  %s\n", applied[i] ? "present" : "applied", schema_files[i].name);
	}
	return 0;
}

static int migrate_schema(struct migrate *m, bool effects, int *shards, struct err *err)
{
	const char *schema = effects ? "effects" : "intake";
	size_t n = 0;
	PGconn *conn = NULL;
	int rc = -1;

	while (schema_files[n].schema)
		n++;
	bool *applied = mem_zalloc(n, sizeof(*applied));
	if (open_locked(url_of(m, effects), &conn, err) < 0 ||
	    migration_check(conn, schema, applied, err) < 0 ||
	    apply_files(conn, schema, applied, err) < 0)
		goto done;
	rc = migration_deploy(conn, schema, shards, err);
done:
	PQfinish(conn);
	free(applied);
	return rc;
}

static bool is_denied(const struct err *err)
{
	return strcmp(err->sqlstate, "42501") == 0;
}

static int migrate_schemas(struct migrate *m, bool intake, bool effects, struct err *err)
{
	int shards = (int)m->shards;

	if ((!intake || migrate_schema(m, false, &shards, err) == 0) &&
	    (!effects || migrate_schema(m, true, &shards, err) == 0))
		return 0;
	if (is_denied(err)) {
		char *denied = mem_strdup(err->message);

		err_set(err, ERR_USAGE,
		    "%.250s: run it as the role that owns the schemas, or, to make them, GRANT "
		    "CREATE ON DATABASE to this one",
		    denied);
		free(denied);
	}
	return -1;
}

/* After both schemas: roles.sql names the newest tables of whatever schema a database has. */
static int migrate_roles(const char *url, struct err *err)
{
	PGconn *conn = NULL;
	int rc = -1;

	if (open_locked(url, &conn, err) < 0 || migration_roles(conn, err) < 0)
		goto done;
	printf("applied  roles.sql\n");
	rc = 0;
done:
	/* It says itself who may make roles. */
	if (rc < 0 && is_denied(err))
		err->kind = ERR_USAGE;
	PQfinish(conn);
	return rc;
}

static int run(void *config, struct err *err)
{
	struct migrate *m = config;
	bool intake = m->only != ONLY_EFFECTS, effects = m->only != ONLY_INTAKE;

	if ((intake && !url_of(m, false)) || (effects && !url_of(m, true)))
		return err_set(err, ERR_USAGE, "--database-url (or DATABASE_URL) is required");
	if (migrate_schemas(m, intake, effects, err) < 0)
		return -1;
	if (!m->roles)
		return 0;
	if (intake && migrate_roles(url_of(m, false), err) < 0)
		return -1;
	if (effects && !(intake && strcmp(url_of(m, true), url_of(m, false)) == 0))
		return migrate_roles(url_of(m, true), err);
	return 0;
}

int command_migrate(int argc, char **argv)
{
	static const struct command_body body = {
	    usage, options, sizeof(struct migrate), .run = run};

	return command_run(&body, argc, argv);
}
