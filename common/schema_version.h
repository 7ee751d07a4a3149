/*
 * schema_version.h - the schema that these binaries were built for.
 *
 * The number of the newest file of schema/ for each of the two schemas: NNN_intake_*.sql and
 * NNN_effects_*.sql. tests/schema compares it with the files.
 */
#ifndef UMAVEZ_SCHEMA_VERSION_H
#define UMAVEZ_SCHEMA_VERSION_H

#define SCHEMA_VERSION_INTAKE 3
#define SCHEMA_VERSION_EFFECTS 5

#endif
