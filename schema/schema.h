/*
 * schema.h - the database schemas that these binaries carry.
 *
 * NNN_intake_*.sql and NNN_effects_*.sql, forward only: a file that was applied anywhere never
 * changes again.  Numbers ascend over both, so each schema's files are in order.
 */
#ifndef UMAVEZ_SCHEMA_H
#define UMAVEZ_SCHEMA_H

struct schema_file {
	int version;
	const char *schema; /* "intake" or "effects"; NULL ends the list */
	const char *name;   /* "001_intake_tables.sql" */
	const char *text;
};

/* Ascending by version. */
extern const struct schema_file schema_files[];

/* Least privilege, for either schema; may be run any number of times. */
extern const char *const schema_roles;

#endif
