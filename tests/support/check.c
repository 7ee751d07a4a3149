#include "tests/support/check.h"

#include <CUnit/Basic.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void check_int(const char *file, int line, const char *what, int64_t actual, int64_t expected)
{
	char message[512];

	snprintf(message, sizeof(message), "%s is %" PRId64 ", expected %" PRId64, what, actual,
	    expected);
	CU_assertImplementation(actual == expected, (unsigned)line, message, file, "", CU_TRUE);
}

static bool same_text(const char *a, const char *b)
{
	if (a == NULL || b == NULL)
		return a == b;
	return strcmp(a, b) == 0;
}

void check_str(
    const char *file, int line, const char *what, const char *actual, const char *expected)
{
	char message[2048];

	snprintf(message, sizeof(message), "%s is \"%.900s\", expected \"%.900s\"", what,
	    actual ? actual : "(null)", expected ? expected : "(null)");
	CU_assertImplementation(
	    same_text(actual, expected), (unsigned)line, message, file, "", CU_TRUE);
}

/* Returns how many were added, or -1. */
static int add_checks(CU_pSuite suite, const struct check *checks, const char *filter)
{
	int n = 0;

	for (; checks->name != NULL; checks++) {
		if (filter != NULL && strstr(checks->name, filter) == NULL)
			continue;
		if (CU_add_test(suite, checks->name, checks->run) == NULL)
			return -1;
		n++;
	}
	return n;
}

/* CUnit's own verdict of a run is 0 even when assertions failed: ask for every number. */
static bool all_passed(int added)
{
	return added > 0 && CU_get_number_of_tests_run() == (unsigned)added &&
	       CU_get_number_of_tests_failed() == 0 && CU_get_number_of_failures() == 0 &&
	       CU_get_number_of_tests_inactive() == 0 && CU_get_number_of_suites_failed() == 0 &&
	       CU_get_number_of_suites_inactive() == 0;
}

int check_main(const char *suite, const struct check *checks, int argc, char **argv)
{
	int status = EXIT_FAILURE, added = -1;
	CU_pSuite registered;

	setvbuf(stdout, NULL, _IOLBF, 0);
	signal(SIGPIPE, SIG_IGN);
	printf("seed=%" PRIu64 "\n", check_seed());

	if (CU_initialize_registry() != CUE_SUCCESS)
		goto done;
	CU_set_error_action(CUEA_IGNORE);
	registered = CU_add_suite(suite, NULL, NULL);
	if (registered == NULL)
		goto done;
	added = add_checks(registered, checks, argc > 1 ? argv[1] : NULL);
	if (added < 0)
		goto done;
	CU_basic_set_mode(CU_BRM_VERBOSE);
	if (CU_basic_run_tests() == CUE_SUCCESS && all_passed(added))
		status = EXIT_SUCCESS;
done:
	if (added <= 0)
		fprintf(stderr, "%s: no check ran: %s\n", suite,
		    added < 0 ? CU_get_error_msg() : "none matches");
	CU_cleanup_registry();
	return status;
}
