#include "tests/support/programs.h"

#include "tests/support/text.h"

#include <glob.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_program(const char *dir, const char *name)
{
	char *path = text_format("%s/%s", dir, name);
	bool is = access(path, X_OK) == 0;

	free(path);
	return is;
}

static bool has_server(const char *dir)
{
	return is_program(dir, "initdb") && is_program(dir, "postgres");
}

/* pg_config also comes with libpq's headers, where no server is. */
static char *by_pg_config(void)
{
	FILE *out = popen("pg_config --bindir 2>/dev/null", "re");
	char line[1024], *dir = NULL;

	if (out == NULL)
		return NULL;
	if (fgets(line, sizeof(line), out) != NULL) {
		line[strcspn(line, "\n")] = '\0';
		if (has_server(line))
			dir = text_format("%s", line);
	}
	pclose(out);
	return dir;
}

static char *by_debian(void)
{
	char *newest = NULL;
	long version, newest_version = 0;
	glob_t found;

	if (glob("/usr/lib/postgresql/*/bin", 0, NULL, &found) != 0)
		return NULL;
	for (size_t i = 0; i < found.gl_pathc; i++) {
		version = strtol(found.gl_pathv[i] + strlen("/usr/lib/postgresql/"), NULL, 10);
		if (version <= newest_version || !has_server(found.gl_pathv[i]))
			continue;
		newest_version = version;
		free(newest);
		newest = text_format("%s", found.gl_pathv[i]);
	}
	globfree(&found);
	return newest;
}

static char *by_path(bool (*is_wanted)(const char *dir))
{
	const char *path = getenv("PATH");
	char *copy = text_format("%s", path ? path : ""), *rest = NULL, *found = NULL;

	for (char *dir = strtok_r(copy, ":", &rest); dir != NULL && found == NULL;
	     dir = strtok_r(NULL, ":", &rest))
		if (is_wanted(dir))
			found = text_format("%s", dir);
	free(copy);
	return found;
}

char *programs_postgres(void)
{
	char *dir = by_pg_config();

	if (dir == NULL)
		dir = by_debian();
	if (dir == NULL)
		dir = by_path(has_server);
	return dir;
}

static bool has_redis(const char *dir)
{
	return is_program(dir, "redis-server");
}

const char *programs_missing(void)
{
	char *postgres = programs_postgres(), *redis = by_path(has_redis);
	const char *missing = NULL;

	if (postgres == NULL)
		missing = "no PostgreSQL server here (initdb, postgres): install postgresql";
	else if (redis == NULL)
		missing = "no redis-server in PATH: install redis-server";
	free(postgres);
	free(redis);
	return missing;
}
