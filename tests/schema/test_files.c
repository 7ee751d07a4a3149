/*
 * schema/: numbering, the list that is embedded, the versions in common/, and the comments.
 */
#include "common/schema_version.h"
#include "schema/schema.h"
#include "tests/schema/notes.h"
#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <dirent.h>
#include <stdio.h>
#include <string.h>

static struct world *world;

static void check_list(void)
{
	int newest = 0;

	for (const struct schema_file *f = schema_files; f->schema; f++) {
		char *path = text_format(UMAVEZ_SOURCE_DIR "/schema/%s", f->name);
		char *start = text_format("%03d_%s_", f->version, f->schema);
		char *text = file_read(path, NULL);

		CHECK_INT(f->version, newest + 1);
		CHECK(strncmp(f->name, start, strlen(start)) == 0);
		CHECK_STR(text, f->text);
		newest = f->version;
		free(path);
		free(start);
		free(text);
	}
}

/* Every SQL file of the directory is embedded. */
static void check_complete(void)
{
	DIR *dir = opendir(UMAVEZ_SOURCE_DIR "/schema");
	const struct dirent *entry;
	int on_disk = 0, listed = 0;

	if (!dir)
		die("no " UMAVEZ_SOURCE_DIR "/schema");
	while ((entry = readdir(dir))) {
		const char *dot = strrchr(entry->d_name, '.');

		on_disk += dot && strcmp(dot, ".sql") == 0;
	}
	closedir(dir);
	while (schema_files[listed].schema)
		listed++;
	CHECK_INT(on_disk, listed + 1); /* and roles.sql */
}

static void check_versions(void)
{
	int intake = 0, effects = 0;

	for (const struct schema_file *f = schema_files; f->schema; f++)
		*(strcmp(f->schema, "intake") == 0 ? &intake : &effects) = f->version;
	CHECK_INT(SCHEMA_VERSION_INTAKE, intake);
	CHECK_INT(SCHEMA_VERSION_EFFECTS, effects);
}

static void check_comments(void)
{
	CHECK_TEXT(world,
	    "SELECT string_agg(c.oid::regclass::text, ' ') FROM pg_class c"
	    " WHERE relnamespace IN ('intake'::regnamespace, 'effects'::regnamespace)"
	    " AND relkind IN ('r', 'p', 'v', 'm') AND NOT relispartition"
	    " AND obj_description(c.oid, 'pg_class') IS NULL",
	    NULL);
	CHECK_TEXT(world,
	    "SELECT string_agg(c.oid::regclass || '.' || attname, ' ')"
	    " FROM pg_class c JOIN pg_attribute a ON attrelid = c.oid"
	    " WHERE relnamespace IN ('intake'::regnamespace, 'effects'::regnamespace)"
	    " AND relkind IN ('r', 'p', 'v', 'm') AND NOT relispartition AND attnum > 0"
	    " AND NOT attisdropped AND col_description(c.oid, attnum) IS NULL",
	    NULL);
	CHECK_TEXT(world,
	    "SELECT string_agg(oid::regprocedure::text, ' ') FROM pg_proc"
	    " WHERE pronamespace IN ('intake'::regnamespace, 'effects'::regnamespace)"
	    " AND obj_description(oid, 'pg_proc') IS NULL",
	    NULL);
	CHECK_TEXT(world,
	    "SELECT string_agg(nspname, ' ') FROM pg_namespace WHERE nspname IN ('intake', "
	    "'effects')"
	    " AND obj_description(oid, 'pg_namespace') IS NULL",
	    NULL);
}

static const struct check checks[] = {
    {"files are numbered, and embedded as they are", check_list},
    {"every file is embedded", check_complete},
    {"schema_version.h names the newest of each schema", check_versions},
    {"every table, column and function is commented", check_comments},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(2);
	status = check_main("schema files", checks, argc, argv);
	world_close(world);
	return status;
}
