/*
 * umavez itself: help, versions and usage errors.
 */
#include "cli/command.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

#include <stdlib.h>
#include <string.h>

static void check_run(const char *const *args, int status, const char *in_out, const char *in_err)
{
	char *out = NULL, *err = NULL;

	CHECK_INT(world_run_all(NULL, "umavez", args, NULL, &out, &err), status);
	CHECK(strstr(out, in_out) != NULL);
	CHECK(strstr(err, in_err) != NULL);
	free(out);
	free(err);
}

/* What the help of a command has.  What is simulated has servers of its own, and health asks one.
 */
static const char *help_has(const char *command)
{
	if (strcmp(command, "simulate") == 0)
		return "--kill-random";
	return strcmp(command, "health") == 0 ? "--admin-listen" : "DATABASE_URL";
}

static void check_help(void)
{
	check_run((const char *const[]){"--help", NULL}, 0, "Usage: umavez COMMAND", "");
	check_run((const char *const[]){"-h", NULL}, 0, "Usage: umavez COMMAND", "");
	check_run((const char *const[]){"help", NULL}, 0, "\n  dead-letter  Messages", "");
	check_run((const char *const[]){"status", "-h", NULL}, 0, "Usage: umavez status", "");
	check_run((const char *const[]){NULL}, 2, "", "Usage: umavez COMMAND");
	check_run((const char *const[]){"--version", NULL}, 0, "umavez " UMAVEZ_VERSION "\n", "");
	for (const struct command *c = commands; c->name; c++) {
		check_run((const char *const[]){"--help", NULL}, 0, c->name, "");
		check_run((const char *const[]){c->name, "--help", NULL}, 0, help_has(c->name), "");
		check_run((const char *const[]){c->name, "--version", NULL}, 0, UMAVEZ_VERSION, "");
	}
}

static void check_usage(void)
{
	check_run((const char *const[]){"nonsense", NULL}, 2, "", "no such command: nonsense");
	check_run((const char *const[]){"bad\033name", NULL}, 2, "", "bad\\u{1b}name");
	check_run((const char *const[]){"status", NULL}, 2, "", "--database-url (or DATABASE_URL)");
	check_run((const char *const[]){"trace", "--database-url", "postgresql:///x", NULL}, 2, "",
	    "give one ID");
	check_run((const char *const[]){"migrate", "--database-url", "nonsense", NULL}, 2, "",
	    "--database-url: not");
	check_run((const char *const[]){"status", "--redis-url", "nonsense", NULL}, 2, "",
	    "--redis-url: bad scheme");
	check_run((const char *const[]){"status", "--namespace", "a b", NULL}, 2, "",
	    "--namespace: \"a b\" is not a name (1 to 64 letters");
	check_run((const char *const[]){"status", "--colour", NULL}, 2, "", "--colour");
	check_run((const char *const[]){"status", "--database-url", "postgresql:///?host=/nowhere",
		      "--redis-url", "ftp://x", NULL},
	    2, "", "--redis-url: bad scheme");
}

/* A full disk is no success. */
static void check_output_lost(void)
{
	const char *const args[] = {"-c", UMAVEZ_BIN_DIR "/umavez --help >/dev/full", NULL};

	CHECK_INT(world_run_all(NULL, "/bin/sh", args, NULL, NULL, NULL), 1);
}

static const struct check checks[] = {
    {"--help and --version", check_help},
    {"usage errors exit with 2", check_usage},
    {"output that cannot be written exits with 1", check_output_lost},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("cli command", checks, argc, argv);
}
