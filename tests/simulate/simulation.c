#include "tests/simulate/simulation.h"

#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_ARGS 40

char *own_directory(void)
{
	char *dir = text_format("%s/umavez-simulation-XXXXXX", temp_root());

	/* As root, PostgreSQL's user passes through. */
	if (mkdtemp(dir) == NULL || chmod(dir, 0711) < 0)
		die("cannot make %s: %s", dir, strerror(errno));
	return dir;
}

void own_directory_done(char *dir)
{
	int failed = rmdir(dir) < 0 ? errno : 0;

	tree_remove(dir);
	free(dir);
	CHECK_INT(failed, 0);
}

void simulation_text(int status, const char *const *args, char **ret_out, char **ret_err)
{
	char *dir = own_directory(), *tmpdir = text_format("TMPDIR=%s", dir);
	const char *const env[] = {tmpdir, NULL};
	const char *argv[MAX_ARGS] = {"simulate"};
	char *out, *err;
	size_t n = 1;
	int actual;

	for (; *args != NULL && n < MAX_ARGS - 1; args++)
		argv[n++] = *args;
	actual = world_run_all(NULL, "umavez", argv, env, &out, &err);
	if (actual != status)
		fprintf(stderr, "%s%s", err, out);
	CHECK_INT(actual, status);
	own_directory_done(dir);
	free(tmpdir);
	if (ret_out != NULL)
		*ret_out = out;
	else
		free(out);
	if (ret_err != NULL)
		*ret_err = err;
	else
		free(err);
}

json_t *simulation(int status, const char *const *args)
{
	const char *all[MAX_ARGS] = {"--json", "--quiet"};
	json_t *ledger;
	size_t n = 2;
	char *out;

	for (; *args != NULL && n < MAX_ARGS - 1; args++)
		all[n++] = *args;
	simulation_text(status, all, &out, NULL);
	ledger = json_loads(out, 0, NULL);
	free(out);
	CHECK(json_is_object(ledger));
	CHECK(json_is_boolean(json_object_get(ledger, "ok")));
	CHECK_INT(json_is_true(json_object_get(ledger, "ok")), status == 0);
	return ledger;
}

int64_t simulation_int(const json_t *ledger, const char *name)
{
	const json_t *value = json_object_get(ledger, name);

	CHECK(json_is_integer(value));
	return json_integer_value(value);
}
