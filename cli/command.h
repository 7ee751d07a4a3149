/*
 * command.h - what every subcommand of umavez is made of.
 *
 * A command is one function: argv[0] is its name, its result the exit status (common/err.h). It
 * answers on stdout; what went wrong is one line on stderr.
 */
#ifndef UMAVEZ_CLI_COMMAND_H
#define UMAVEZ_CLI_COMMAND_H

#include "common/err.h"
#include "common/option.h"

#include <stdbool.h>

struct command {
	const char *name;    /* NULL ends the list */
	const char *summary; /* for `umavez --help` */
	int (*run)(int argc, char **argv);
};
extern const struct command commands[];

int command_consumer(int argc, char **argv);
int command_dead_letter(int argc, char **argv);
int command_doctor(int argc, char **argv);
int command_group(int argc, char **argv);
int command_migrate(int argc, char **argv);
int command_rebase(int argc, char **argv);
int command_reconcile(int argc, char **argv);
int command_reprocess(int argc, char **argv);
int command_republish(int argc, char **argv);
int command_simulate(int argc, char **argv);
int command_status(int argc, char **argv);
int command_stream(int argc, char **argv);
int command_trace(int argc, char **argv);

/*
 * Options, --help and --version.  True when the command should run: then option_done() what config
 * holds.  Otherwise *ret_status is what it should exit with, and everything has been said.
 */
bool command_start(const char *usage, const struct option *table, void *config, int argc,
    char **argv, struct option_words *words, int *ret_status);

/* Say what went wrong; the exit status of its kind. */
int command_fail(const char *name, const struct err *err);

#endif
