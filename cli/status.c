/*
 * status.c - umavez status: how far everything has got.
 */
#include "cli/status.h"
#include "cli/command.h"
#include "cli/sources.h"

struct status_command {
	struct sources_options sources;
	bool json;
};

static const struct option options[] = {
    SOURCES_OPTIONS(offsetof(struct status_command, sources)),
    COMMAND_JSON_OPTION(offsetof(struct status_command, json)),
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

static const char usage[] =
    "[OPTION]...\n\n"
    "Shows for every shard what is not yet ticked, what is not yet published, how long the stream\n"
    "is, how far each consumer has got, and who is at work.  The role umavez_operator may do this.";

static int run(void *config, struct err *err)
{
	const struct status_command *command = config;
	struct sources sources = {0};
	struct status status = {0};
	struct printer printer;
	int rc = -1;

	if (sources_open(&command->sources, "status", &sources, err) < 0 ||
	    status_read(&sources, &status, err) < 0)
		goto done;
	printer_init(&printer, stdout);
	if (command->json)
		status_print_json(stdout, &status);
	else
		status_print(&printer, &status);
	if (sources.redis_err.message[0])
		fprintf(stderr, "umavez status: without Redis: %s\n", sources.redis_err.message);
	rc = 0;
done:
	status_done(&status);
	sources_close(&sources);
	return rc;
}

int command_status(int argc, char **argv)
{
	static const struct command_body body = {
	    usage, options, sizeof(struct status_command), .run = run};

	return command_run(&body, argc, argv);
}
