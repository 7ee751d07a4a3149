#include "tests/cli/diagnosis.h"

#include "tests/cli/story.h"
#include "tests/support/check.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct world *diagnosis_world(void)
{
	struct world *w = world_open(2);

	world_sql(w, "ALTER SYSTEM SET fsync = on");
	world_sql(w, "ALTER SYSTEM SET full_page_writes = on");
	world_sql(w, "SELECT pg_reload_conf()");
	return w;
}

/* Of the check whose text contains `what`: "fail constraint", or NULL. malloc'd. */
static char *find(const json_t *json, const char *what)
{
	const json_t *finding;
	size_t i;

	json_array_foreach (json_object_get(json, "checks"), i, finding) {
		if (strstr(json_string_value(json_object_get(finding, "what")), what))
			return text_format("%s %s",
			    json_string_value(json_object_get(finding, "level")),
			    json_string_value(json_object_get(finding, "check")));
	}
	return NULL;
}

static int doctor(struct world *w, const char *const *more, json_t **ret_json)
{
	const char *args[8] = {"doctor", "--json"};
	char *out = NULL, *err = NULL;
	int status, n = 2;

	for (; more && *more; more++)
		args[n++] = *more;
	status = world_run_all(w, "umavez", args, NULL, &out, &err);
	*ret_json = json_loads(out, 0, NULL);
	CHECK(*ret_json != NULL);
	free(out);
	free(err);
	return status;
}

void diagnosis_check_finds(
    struct world *w, const char *const *more, const char *what, const char *want)
{
	json_t *json;
	int status = doctor(w, more, &json);
	char *found = find(json, what);

	if (!found || strncmp(found, want, strlen(want)) != 0) {
		json_dumpf(json, stderr, JSON_INDENT(1));
		CHECK_STR(found, want);
	}
	CHECK_INT(status, json_integer_value(json_object_get(json, "fail")) > 0);
	if (strncmp(want, "fail", 4) == 0)
		CHECK_INT(status, 1);
	free(found);
	json_decref(json);
}

void diagnosis_check_healthy(struct world *w)
{
	json_t *json;
	int status = doctor(w, NULL, &json);

	if (status != 0)
		json_dumpf(json, stderr, JSON_INDENT(1));
	CHECK_INT(status, 0);
	CHECK_STR(story_get(json, "fail"), "0");
	CHECK(json_integer_value(json_object_get(json, "ok")) > 20);
	json_decref(json);
}
