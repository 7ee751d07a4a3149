/*
 * schema_version.h - the schema versions that this build works with: the number of the last file of
 * schema/ for each schema.  A service refuses any other (pg_check_schema()).
 */
#ifndef UMAVEZ_SCHEMA_VERSION_H
#define UMAVEZ_SCHEMA_VERSION_H

#define SCHEMA_VERSION_INTAKE 10
#define SCHEMA_VERSION_EFFECTS 9

#endif
