/*
 * migration.h - the SQL of `umavez migrate`, on one session and one of the two schemas.
 *
 * A schema file, and its row in <schema>.migration, commit together: a migrate that was killed is
 * simply run again.
 */
#ifndef UMAVEZ_CLI_MIGRATION_H
#define UMAVEZ_CLI_MIGRATION_H

#include "common/err.h"
#include "schema/schema.h"

#include <libpq-fe.h>
#include <stdbool.h>

/* Wait for every other migrate of this database. Held until the session ends. */
int migration_lock(PGconn *conn, struct err *err) warn_unused;

/*
 * ret_applied[i] tells whether schema_files[i] has been applied; entries of the other schema stay.
 * ERR_MISMATCH: an applied file has changed since, this binary does not know it, or one with a
 * smaller number is missing.
 */
int migration_check(
    PGconn *conn, const char *schema, bool *ret_applied, struct err *err) warn_unused;

int migration_apply(PGconn *conn, const struct schema_file *file, struct err *err) warn_unused;

/*
 * The rows that make a deployment, if they are not there yet. *shards: the number asked for, or 0
 * for what there is, or else the default; becomes what there is.  ERR_USAGE when the two differ:
 * the number of shards is for life.
 */
int migration_deploy(PGconn *conn, const char *schema, int *shards, struct err *err) warn_unused;

/* schema/roles.sql. */
int migration_roles(PGconn *conn, struct err *err) warn_unused;

#endif
