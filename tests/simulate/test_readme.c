/*
 * The handler that README.md shows works as it stands there, and a GRANT that is missing is found
 * out.
 */
#include "tests/simulate/simulation.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define README UMAVEZ_SOURCE_DIR "/README.md"
#define CHECKS UMAVEZ_SOURCE_DIR "/tests/simulate/sql/readme.sql"
#define FIRST_LINE "CREATE SCHEMA shop;"
#define GRANT "GRANT SELECT, INSERT, UPDATE ON shop.grants"

/* The code block that begins with FIRST_LINE; malloc'd. */
static char *readme_sql(void)
{
	char *text = file_read(README, NULL), *begin, *end, *sql;

	CHECK(text != NULL);
	begin = strstr(text, "```sql\n" FIRST_LINE "\n");
	CHECK(begin != NULL);
	begin = strchr(begin, '\n') + 1;
	end = strstr(begin, "```");
	CHECK(end != NULL);
	*end = '\0';
	sql = text_format("%s", begin);
	free(text);
	return sql;
}

static char *schema_file(const char *dir, const char *sql)
{
	char *file = text_format("%s/shop.sql", dir);

	file_write(file, sql);
	return file;
}

static void done(char *dir, char *file, char *sql)
{
	unlink(file);
	own_directory_done(dir);
	free(file);
	free(sql);
}

static void as_it_stands(void)
{
	char *dir = own_directory(), *sql = readme_sql(), *file = schema_file(dir, sql);
	json_t *ledger =
	    simulation(0, ARGS("--notifications", "150", "--kill-random", "2", "--schema-file",
			      file, "--schema-file", CHECKS, "--handler", "shop.on_purchase",
			      "--effect-query", "SELECT * FROM shop.told"));

	CHECK_INT(simulation_int(ledger, "effects"), 150);
	json_decref(ledger);
	done(dir, file, sql);
}

static void without_a_grant(void)
{
	char *dir = own_directory(), *sql = readme_sql(), *grant = strstr(sql, GRANT), *file;
	const char *error;
	json_t *ledger;

	CHECK(grant != NULL);
	memcpy(grant, "--", 2);
	file = schema_file(dir, sql);
	ledger = simulation(1,
	    ARGS("--notifications", "20", "--schema-file", file, "--handler", "shop.on_purchase"));
	error = json_string_value(json_object_get(ledger, "error"));
	CHECK(error != NULL && strstr(error, "permission denied for table grants") != NULL);
	CHECK(simulation_int(ledger, "failed") > 0);
	CHECK_INT(simulation_int(ledger, "lost"), 0);
	json_decref(ledger);
	done(dir, file, sql);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"as it stands: the grants say what the purchases add up to", as_it_stands},
	    {"a GRANT is missing: dead letters, exit 1", without_a_grant},
	    {NULL, NULL},
	};

	return check_main("simulate readme", checks, argc, argv);
}
