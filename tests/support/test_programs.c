/*
 * The servers' programs are found where machines have them, and what is missing is named.
 */
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/programs.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void add_program(const char *dir, const char *name, const char *says)
{
	char *path = text_format("%s/%s", dir, name);
	char *script = text_format("#!/bin/sh\necho '%s'\n", says);

	file_write(path, script);
	CHECK_INT(chmod(path, 0755), 0);
	free(script);
	free(path);
}

/* A directory that is all of PATH. */
static char *only_directory(void)
{
	char *dir = text_format("%s/umavez-programs-XXXXXX", temp_root());

	CHECK(mkdtemp(dir) != NULL);
	setenv("PATH", dir, 1);
	return dir;
}

static void pg_config_knows(void)
{
	char *dir = only_directory(), *found, *elsewhere = text_format("%s/elsewhere", dir);

	CHECK_INT(mkdir(elsewhere, 0755), 0);
	add_program(dir, "pg_config", elsewhere);
	add_program(elsewhere, "initdb", "");
	add_program(elsewhere, "postgres", "");
	found = programs_postgres();
	CHECK_STR(found, elsewhere);
	free(found);
	free(elsewhere);
	tree_remove(dir);
	free(dir);
}

/* The pg_config of libpq's headers names a directory without a server; so Debian's is taken. */
static void pg_config_of_a_client(void)
{
	char *dir = only_directory(), *found, *postgres;

	add_program(dir, "pg_config", dir);
	add_program(dir, "initdb", "");
	found = programs_postgres();
	CHECK(found != NULL && strcmp(found, dir) != 0);
	postgres = text_format("%s/postgres", found);
	CHECK_INT(access(postgres, X_OK), 0);
	free(postgres);
	free(found);
	tree_remove(dir);
	free(dir);
}

static void what_is_missing(void)
{
	char *dir = only_directory();

	CHECK_STR(programs_missing(), "no redis-server in PATH: install redis-server");
	add_program(dir, "redis-server", "");
	CHECK_STR(programs_missing(), NULL);
	tree_remove(dir);
	free(dir);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"pg_config knows", pg_config_knows},
	    {"a client's pg_config has no server", pg_config_of_a_client},
	    {"what is missing is named", what_is_missing},
	    {NULL, NULL},
	};

	return check_main("programs", checks, argc, argv);
}
