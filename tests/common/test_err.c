#include "common/err.h"
#include "tests/support/check.h"

#include <string.h>

static void set_and_wrap(void)
{
	struct err err = ERR_INIT;

	CHECK_INT(err_set(&err, ERR_REJECT, "row %d", 7), -1);
	CHECK_STR(err.message, "row 7");
	CHECK_INT(err_wrap(&err, "tick %d", 57), -1);
	CHECK_STR(err.message, "tick 57: row 7");
	CHECK_INT(err.kind, ERR_REJECT);
}

static void own_message_as_argument(void)
{
	struct err err = ERR_INIT;

	err_set(&err, ERR_RETRY, "gone");
	err_set(&err, ERR_FATAL, "%s for good", err.message);
	CHECK_STR(err.message, "gone for good");
	err_wrap(&err, "%s", err.message);
	CHECK_STR(err.message, "gone for good: gone for good");
}

static void one_line(void)
{
	struct err err = ERR_INIT;

	err_set(&err, ERR_RETRY, "FATAL:  no\n\tServer \x1b[31m\x7f here\r\n\n");
	CHECK_STR(err.message, "FATAL:  no  Server  [31m  here");
}

static void bounded(void)
{
	struct err err = ERR_INIT;
	char text[2000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	err_set(&err, ERR_RETRY, "%s", text);
	CHECK_INT(strlen(err.message), sizeof(err.message) - 1);
	err_wrap(&err, "%s", "context");
	CHECK_INT(strlen(err.message), sizeof(err.message) - 1);
	CHECK_INT(strncmp(err.message, "context: xxx", 12), 0);
	err_wrap(&err, "%s", text);
	CHECK_INT(strlen(err.message), sizeof(err.message) - 1);
}

static void setting_forgets_the_sqlstate(void)
{
	struct err err = {.kind = ERR_RETRY, .sqlstate = "40001", .message = "deadlock"};

	err_wrap(&err, "batch");
	CHECK_STR(err.sqlstate, "40001");
	err_set(&err, ERR_RETRY, "another");
	CHECK_STR(err.sqlstate, "");
}

static void exit_status(void)
{
	static const struct {
		enum err_kind kind;
		int status;
		const char *name;
	} cases[] = {
	    {ERR_NONE, 0, "none"},
	    {ERR_RETRY, 1, "retry"},
	    {ERR_REJECT, 1, "reject"},
	    {ERR_FATAL, 1, "fatal"},
	    {ERR_USAGE, 2, "usage"},
	    {ERR_MISMATCH, 3, "mismatch"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = {.kind = cases[i].kind};
		CHECK_INT(err_exit_status(&err), cases[i].status);
		CHECK_STR(err_kind_name(cases[i].kind), cases[i].name);
	}
}

static const struct check checks[] = {
    {"set and wrap", set_and_wrap},
    {"its own message as an argument", own_message_as_argument},
    {"one line", one_line},
    {"bounded", bounded},
    {"setting forgets the sqlstate", setting_forgets_the_sqlstate},
    {"exit status", exit_status},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common err", checks, argc, argv);
}
