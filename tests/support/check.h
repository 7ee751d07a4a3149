/*
 * check.h - CUnit without its traps: a main() whose status tells the truth, and a printed seed.
 *
 *	static const struct check checks[] = {{"what must hold", function}, {NULL, NULL}};
 *	int main(int argc, char **argv) { return check_main("relay position", checks, argc, argv); }
 *
 * argv[1], when given, runs only the checks whose name contains it.
 */
#ifndef UMAVEZ_TESTS_CHECK_H
#define UMAVEZ_TESTS_CHECK_H

#include "tests/support/seed.h"

#include <CUnit/CUnit.h>
#include <stdint.h>

struct check {
	const char *name;
	void (*run)(void);
};

/* 0 only if at least one check ran, every one passed and none was skipped. */
int check_main(const char *suite, const struct check *checks, int argc, char **argv);

/* Like CU_ASSERT_*_FATAL, with both values in the message: a failure ends the check at once, by
 * longjmp(). So only on the thread that runs the checks. */
#define CHECK(cond) CU_ASSERT_FATAL(cond)
#define CHECK_INT(actual, expected) check_int(__FILE__, __LINE__, #actual, (actual), (expected))
#define CHECK_STR(actual, expected) check_str(__FILE__, __LINE__, #actual, (actual), (expected))
void check_int(const char *file, int line, const char *what, int64_t actual, int64_t expected);
void check_str(
    const char *file, int line, const char *what, const char *actual, const char *expected);

#endif
