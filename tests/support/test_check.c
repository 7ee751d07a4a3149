/*
 * The harness must not lie: each inner program below goes wrong in one way, and its exit status
 * says so.  They are this program again, started with --inner NAME.
 */
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/proc.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void passes(void)
{
	CHECK(true);
	CHECK_INT(2 + 2, 4);
	CHECK_STR("one", "one");
	CHECK_STR(NULL, NULL);
}

static void fails(void)
{
	CHECK(getpid() == 0);
}

static void fails_on_a_number(void)
{
	CHECK_INT(1, 2);
	exit(EXIT_SUCCESS); /* never: a failed check ends the test */
}

static void fails_on_a_text(void)
{
	CHECK_STR("one", NULL);
}

static const struct check passing[] = {{"it passes", passes}, {NULL, NULL}};
static const struct check failing[] = {{"it passes", passes}, {"it fails", fails}, {NULL, NULL}};
static const struct check number[] = {{"a number", fails_on_a_number}, {NULL, NULL}};
static const struct check text[] = {{"a text", fails_on_a_text}, {NULL, NULL}};
static const struct check none[] = {{NULL, NULL}};

static int inner(const char *name, int argc, char **argv)
{
	const struct check *checks = strcmp(name, "passing") == 0   ? passing
				     : strcmp(name, "failing") == 0 ? failing
				     : strcmp(name, "number") == 0  ? number
				     : strcmp(name, "text") == 0    ? text
								    : none;

	return check_main(name, checks, argc, argv);
}

/* The exit status of an inner program; *ret_log is what it printed. */
static int run_inner(const char *name, const char *filter, const char *const *env, char **ret_log)
{
	char *log = text_format("%s/umavez-check-%d.log", temp_root(), (int)getpid());
	const char *const argv[] = {"/proc/self/exe", "--inner", name, filter, NULL};
	struct proc_spec spec = {.argv = argv, .env = env, .log = log};
	int status = proc_run(&spec, 30000);

	*ret_log = file_read(log, NULL);
	unlink(log);
	free(log);
	return status;
}

static void check_inner(const char *name, const char *filter, int status, const char *says)
{
	char *log;

	CHECK_INT(run_inner(name, filter, NULL, &log), status);
	if (strstr(log, says) == NULL)
		CHECK_STR(log, says);
	free(log);
}

static void a_passing_program_is_0(void)
{
	check_inner("passing", NULL, 0, "Run Summary:");
}

static void a_failure_is_1_and_names_its_line(void)
{
	check_inner("failing", NULL, 1, "test_check.c:");
	check_inner("number", NULL, 1, "1 is 1, expected 2");
	check_inner("text", NULL, 1, "expected \"(null)\"");
}

static void nothing_run_is_1(void)
{
	check_inner("none", NULL, 1, "no check ran");
	check_inner("passing", "no such check", 1, "no check ran");
}

static void a_filter_runs_what_it_names(void)
{
	check_inner("failing", "passes", 0, "it passes");
	check_inner("failing", "fails", 1, "it fails");
}

static void the_seed_is_printed_and_repeated(void)
{
	const char *const env[] = {"SEED=12345", NULL};
	char *log;

	CHECK_INT(run_inner("passing", NULL, env, &log), 0);
	CHECK(strstr(log, "seed=12345\n") != NULL);
	free(log);
	CHECK(check_seed() == check_seed());
}

static const struct check checks[] = {
    {"a passing program is 0", a_passing_program_is_0},
    {"a failure is 1 and names its line", a_failure_is_1_and_names_its_line},
    {"nothing run is 1", nothing_run_is_1},
    {"a filter runs what it names", a_filter_runs_what_it_names},
    {"the seed is printed and repeated", the_seed_is_printed_and_repeated},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	if (argc > 2 && strcmp(argv[1], "--inner") == 0)
		return inner(argv[2], argc - 2, argv + 2);
	return check_main("check", checks, argc, argv);
}
