/*
 * docs/events.md lists what there is: each table's first column, compared with code and schema.
 */
#include "producer/notification.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOC UMAVEZ_SOURCE_DIR "/docs/events.md"

static struct world *world;

/* The text below a heading, up to the next one. */
static char *section(const char *heading)
{
	char *text = file_read(DOC, NULL), *line = text_format("\n## %s\n", heading);
	const char *begin = text ? strstr(text, line) : NULL, *end;
	char *ret;

	CHECK(begin != NULL);
	begin += strlen(line);
	end = strstr(begin, "\n## ");
	ret = text_format("%.*s", end ? (int)(end - begin) : (int)strlen(begin), begin);
	free(line);
	free(text);
	return ret;
}

/* sql gives one column, name: what the section's table lists, neither more nor less. */
static void check_listed(const char *heading, const char *sql)
{
	char *text = section(heading), *documented, *actual;

	documented = world_text(world,
	    "SELECT string_agg(m[1], ' ' ORDER BY m[1] COLLATE \"C\") "
	    "FROM regexp_matches($doc$%s$doc$, '^\\| `([^`]+)` \\|', 'gn') AS m",
	    text);
	actual = world_text(world,
	    "SELECT string_agg(name, ' ' ORDER BY name COLLATE \"C\") FROM (%s) AS q(name)", sql);
	CHECK_STR(documented, actual);
	free(actual);
	free(documented);
	free(text);
}

static void types(void)
{
	char *sql = text_format("VALUES (intake.event_type('%s'))", kind_name(KIND_TEST));

	for (int kind = KIND_NOTED; kind <= KIND_REFUND_REVERSED; kind++) {
		char *more = text_format("%s, (intake.event_type('%s'))", sql, kind_name(kind));

		free(sql);
		sql = more;
	}
	check_listed("Types", sql);
	free(sql);
}

static void states(void)
{
	check_listed("States", "SELECT m[1] FROM pg_constraint, "
			       "regexp_matches(pg_get_constraintdef(oid), '''(\\w+)''', 'g') AS m "
			       "WHERE conrelid = 'intake.purchase'::regclass AND contype = 'c'");
}

static void fields(void)
{
	check_listed("Data", "SELECT json_object_keys(intake.event_data(n, p, false)) "
			     "FROM (SELECT) AS one LEFT JOIN intake.notification AS n ON true "
			     "LEFT JOIN intake.purchase AS p ON true");
	check_listed("Purchase",
	    "SELECT json_object_keys(intake.purchase_json(json_populate_record("
	    "NULL::intake.purchase, '{\"store\":\"stripe\"}')))");
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"every type", types},
	    {"every state", states},
	    {"every field", fields},
	    {NULL, NULL},
	};
	int rc;

	world = world_open(1);
	rc = check_main("events.md", checks, argc, argv);
	world_close(world);
	return rc;
}
