#include "cli/migration.h"

#include "cli_text.h"
#include "common/hex.h"
#include "common/memory.h"
#include "common/pg.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEFAULT_SHARDS = 4 };

/* Nobody else uses these two: "umav" and "mig" as numbers. */
int migration_lock(PGconn *conn, struct err *err)
{
	return pg_run(conn, "SELECT pg_advisory_lock(1970102646, 7170407)", 0, NULL, NULL, err);
}

static int is_there(PGconn *conn, const char *schema, const char *table, bool *ret, struct err *err)
{
	const char *params[] = {schema, table};
	PGresult *res = NULL;

	if (pg_run(conn, "SELECT to_regclass($1 || '.' || $2) IS NOT NULL AS there", 2, params,
		&res, err) < 0)
		return -1;
	*ret = pg_bool(res, 0, "there");
	PQclear(res);
	return 0;
}

static size_t find_file(const char *schema, int64_t version)
{
	size_t i = 0;

	while (schema_files[i].schema &&
	       (schema_files[i].version != version || strcmp(schema_files[i].schema, schema) != 0))
		i++;
	return i;
}

/* One row of <schema>.migration against the file of its number. */
static int check_row(
    const PGresult *res, int row, const char *schema, bool *applied, struct err *err)
{
	size_t i = find_file(schema, pg_int(res, row, "version"));
	char sum[HEX_SHA256_SIZE];

	if (!schema_files[i].schema)
		return err_set(err, ERR_MISMATCH, "%s is newer than this umavez: it has %s", schema,
		    pg_text(res, row, "name"));
	hex_sha256(schema_files[i].text, strlen(schema_files[i].text), sum);
	if (strcmp(sum, pg_text(res, row, "checksum")) != 0)
		return err_set(err, ERR_MISMATCH, "%s was changed after it had been applied",
		    schema_files[i].name);
	applied[i] = true;
	return 0;
}

/* Forward only: nothing may be missing below what is there. */
static int check_gaps(const char *schema, const bool *applied, struct err *err)
{
	const struct schema_file *missing = NULL;

	for (size_t i = 0; schema_files[i].schema; i++) {
		if (strcmp(schema_files[i].schema, schema) != 0)
			continue;
		if (!applied[i] && !missing)
			missing = &schema_files[i];
		if (applied[i] && missing)
			return err_set(err, ERR_MISMATCH, "%s was applied without %s",
			    schema_files[i].name, missing->name);
	}
	return 0;
}

int migration_check(PGconn *conn, const char *schema, bool *ret_applied, struct err *err)
{
	PGresult *res = NULL;
	char sql[128];
	bool there;
	int rc = -1;

	if (is_there(conn, schema, "migration", &there, err) < 0)
		goto done;
	if (there) {
		snprintf(sql, sizeof(sql),
		    "SELECT version, name, checksum FROM %s.migration ORDER BY version", schema);
		if (pg_run(conn, sql, 0, NULL, &res, err) < 0)
			goto done;
	}
	for (int row = 0; there && row < PQntuples(res); row++) {
		if (check_row(res, row, schema, ret_applied, err) < 0)
			goto done;
	}
	rc = check_gaps(schema, ret_applied, err);
done:
	PQclear(res);
	return rc;
}

/* Within the file's transaction. The schema, and so the table, is made by the schema's first file.
 */
static int record(PGconn *conn, const struct schema_file *file, struct err *err)
{
	char version[16], sum[HEX_SHA256_SIZE], sql[64];
	const char *params[] = {version, file->name, sum};
	bool there;

	snprintf(version, sizeof(version), "%d", file->version);
	hex_sha256(file->text, strlen(file->text), sum);
	snprintf(sql, sizeof(sql), "SET LOCAL search_path = %s", file->schema);
	if (pg_exec(conn, sql, err) < 0 ||
	    is_there(conn, file->schema, "migration", &there, err) < 0)
		return -1;
	if (!there && pg_exec(conn, cli_sql_migration_table_sql, err) < 0)
		return -1;
	return pg_run(conn, "INSERT INTO migration (version, name, checksum) VALUES ($1, $2, $3)",
	    3, params, NULL, err);
}

int migration_apply(PGconn *conn, const struct schema_file *file, struct err *err)
{
	if (pg_exec(conn, "BEGIN", err) < 0 || pg_exec(conn, file->text, err) < 0 ||
	    record(conn, file, err) < 0 || pg_commit(conn, err) < 0)
		return err_wrap(err, "%s", file->name);
	return 0;
}

static int read_shards(PGconn *conn, const char *schema, int *ret_shards, struct err *err)
{
	PGresult *res = NULL;
	char sql[64];

	snprintf(sql, sizeof(sql), "SELECT shards FROM %s.setting", schema);
	if (pg_run(conn, sql, 0, NULL, &res, err) < 0)
		return -1;
	if (PQntuples(res) > 0)
		*ret_shards = (int)pg_int(res, 0, "shards");
	PQclear(res);
	return 0;
}

/* When nobody said how many: as many as the intake beside it, if it is in this database. */
static int default_shards(PGconn *conn, int *ret_shards, struct err *err)
{
	bool there;

	*ret_shards = DEFAULT_SHARDS;
	if (is_there(conn, "intake", "setting", &there, err) < 0)
		return -1;
	return there ? read_shards(conn, "intake", ret_shards, err) : 0;
}

int migration_deploy(PGconn *conn, const char *schema, int *shards, struct err *err)
{
	bool intake = strcmp(schema, "intake") == 0;
	int wanted = *shards, have = 0;
	char number[16];
	const char *params[] = {number};

	if (wanted == 0 && default_shards(conn, &wanted, err) < 0)
		return -1;
	snprintf(number, sizeof(number), "%d", wanted);
	if (intake && pg_run(conn, cli_sql_make_partitions_sql, 0, NULL, NULL, err) < 0)
		return -1;
	if (pg_run(conn, intake ? cli_sql_deploy_intake_sql : cli_sql_deploy_effects_sql, 1, params,
		NULL, err) < 0 ||
	    read_shards(conn, schema, &have, err) < 0)
		return -1;
	if (*shards != 0 && *shards != have)
		return err_set(err, ERR_USAGE, "%s has %d shards, which cannot be changed to %d",
		    schema, have, *shards);
	*shards = have;
	return 0;
}

int migration_roles(PGconn *conn, struct err *err)
{
	if (pg_exec(conn, "BEGIN", err) < 0 || pg_exec(conn, schema_roles, err) < 0 ||
	    pg_commit(conn, err) < 0)
		return err_wrap(err, "roles.sql");
	return 0;
}
