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

#include <stddef.h>

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
int command_health(int argc, char **argv);
int command_migrate(int argc, char **argv);
int command_rebase(int argc, char **argv);
int command_reconcile(int argc, char **argv);
int command_reprocess(int argc, char **argv);
int command_republish(int argc, char **argv);
int command_simulate(int argc, char **argv);
int command_status(int argc, char **argv);
int command_stream(int argc, char **argv);
int command_trace(int argc, char **argv);

/* What a command is made of; it runs with what its options have filled in. */
struct command_body {
	const char *usage;
	const struct option *options;
	size_t size; /* of config, which is zeroed first */
	int (*run)(void *config, struct err *err);
	/* Instead of run: it takes words besides options. */
	int (*run_words)(void *config, const struct option_words *words, struct err *err);
};

/* Row of the option table of a command that answers once; offset is that of its bool. */
#define COMMAND_JSON_OPTION(offset)                                                                \
	{                                                                                          \
		"json", OPT_BOOL, offset, "off", "One object, for programs", 0, 0, 0, NULL, NULL   \
	}

/* Options, --help and --version, or the command; says what went wrong. Its exit status. */
int command_run(const struct command_body *body, int argc, char **argv);

/* Say what went wrong; the exit status of its kind. */
int command_fail(const char *name, const struct err *err);

/* ERR_USAGE: without --yes it was only said what would be done. Always -1. */
int command_not_done(struct err *err);

#endif
