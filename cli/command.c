#include "cli/command.h"

#include "common/memory.h"

#include <stdio.h>
#include <stdlib.h>

const struct command commands[] = {
    {"consumer", "List consumers, or forget one for good", command_consumer},
    {"dead-letter", "Messages that could not be applied: list, show, retry, discard",
	command_dead_letter},
    {"doctor", "Check servers, schemas and rights, and say what to change", command_doctor},
    {"group", "List consumer groups, or forget one", command_group},
    {"health", "Ask a service whether it makes progress", command_health},
    {"migrate", "Create or upgrade the database schemas", command_migrate},
    {"rebase", "Adopt a PostgreSQL cluster that replaces the old one", command_rebase},
    {"reconcile", "Prove that every message is applied or accounted for", command_reconcile},
    {"reprocess", "Give quarantined notifications to today's parsers", command_reprocess},
    {"republish", "Publish messages again, under the same ids", command_republish},
    {"simulate", "Crash it all on throw-away servers, and count what is lost or doubled",
	command_simulate},
    {"status", "Show how far everything has got", command_status},
    {"stream", "Reset a shard's stream that the relay cannot use", command_stream},
    {"trace", "Show the life of a notification, and where it is stuck", command_trace},
    {NULL, NULL, NULL},
};

int command_fail(const char *name, const struct err *err)
{
	fflush(stdout); /* what was printed comes first, also where both go to one file */
	fprintf(stderr, "umavez %s: %s\n", name, err->message);
	return err_exit_status(err);
}

int command_not_done(struct err *err)
{
	return err_set(err, ERR_USAGE, "nothing was done: give --yes to do it");
}

static int run(
    const struct command_body *body, void *config, int argc, char **argv, struct err *err)
{
	enum option_action action;
	struct option_words words;
	char program[64];

	if (option_parse(body->options, config, argc, argv, body->run_words ? &words : NULL,
		&action, err) < 0)
		return -1;
	switch (action) {
	case OPTION_RUN:
		return body->run_words ? body->run_words(config, &words, err)
				       : body->run(config, err);
	case OPTION_HELP:
		snprintf(program, sizeof(program), "umavez %s", argv[0]);
		option_help(program, body->usage, body->options);
		break;
	case OPTION_VERSION:
		puts("umavez " UMAVEZ_VERSION);
		break;
	}
	return 0;
}

int command_run(const struct command_body *body, int argc, char **argv)
{
	void *config = mem_zalloc(1, body->size);
	struct err err = ERR_INIT;
	int status = EXIT_SUCCESS;

	if (run(body, config, argc, argv, &err) < 0)
		status = command_fail(argv[0], &err);
	option_done(body->options, config);
	free(config);
	return status;
}
