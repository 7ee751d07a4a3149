/*
 * trace.c - umavez trace ID: the life of a notification, and where it is stuck.
 */
#include "cli/trace.h"
#include "cli/command.h"
#include "cli/sources.h"

#include <stdlib.h>

struct trace_command {
	struct sources_options sources;
	char *consumer;
	int64_t shard;
	bool json;
};

static const struct option options[] = {
    SOURCES_OPTIONS(offsetof(struct trace_command, sources)),
    {"consumer", OPT_NAME, offsetof(struct trace_command, consumer), NULL,
	"Only this consumer (all that have a cursor)", 0, 0, 0, NULL, NULL},
    {"shard", OPT_INT, offsetof(struct trace_command, shard), "-1",
	"Only this shard, for a stream ID (all)", OPT_UNSET, -1, 1023, NULL, NULL},
    {"json", OPT_BOOL, offsetof(struct trace_command, json), "off",
	"One object a message, one a line, for programs", 0, 0, 0, NULL, NULL},
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

static const char usage[] =
    "ID [OPTION]...\n\n"
    "Prints the whole life of a notification, with the time between its steps, and says where it\n"
    "is stuck and why.  ID is a notification id or a purchase id, either with its store in front\n"
    "(store/id) if you like, a trace id (32 hexadecimal digits), a stream ID (tick-outbox id), or\n"
    "the id of a message that an application emitted (source/id).\n"
    "Of a purchase, all notifications are printed, newest last (200 at most).\n"
    "Each consumer that there is has a line: applied, parked, pending, missed (trimmed before it\n"
    "began) or lost (its cursor is past it, and its inbox does not have it: see umavez "
    "reconcile).\n\n"
    "Times are UTC, those of the machine that did the step.  The role umavez_operator may do this.";

static int trace_one(struct sources *sources, const struct trace_command *command,
    const struct trace_name *name, struct err *err)
{
	struct trace_verdict verdict;
	struct printer printer;
	struct trace trace;

	if (trace_read(sources, name, command->consumer, &trace, err) < 0)
		return -1;
	trace_tell(&trace, &verdict);
	printer_init(&printer, stdout);
	if (command->json)
		trace_print_json(stdout, &trace, &verdict);
	else
		trace_print(&printer, &trace, &verdict);
	trace_verdict_done(&verdict);
	trace_done(&trace);
	return 0;
}

static int run(void *config, const struct option_words *words, struct err *err)
{
	const struct trace_command *command = config;
	struct sources sources = {0};
	struct trace_name *names = NULL;
	const char *id = words->n == 1 ? words->words[0] : NULL;
	size_t n = 0;
	int rc = -1;

	if (!id)
		return err_set(err, ERR_USAGE, "give one ID (see umavez trace --help)");
	if (sources_open(&command->sources, "trace", &sources, err) < 0 ||
	    trace_find(&sources, id, command->shard, &names, &n, err) < 0)
		goto done;
	if (n == 0) {
		char *escaped = print_escape(id);
		err_set(err, ERR_FATAL,
		    "nothing is called %s (what is not committed yet cannot be seen)", escaped);
		free(escaped);
		goto done;
	}
	for (size_t i = 0; i < n; i++) {
		if (i > 0 && !command->json)
			putchar('\n');
		if (trace_one(&sources, command, &names[i], err) < 0)
			goto done;
	}
	rc = 0;
done:
	trace_names_free(names, n);
	sources_close(&sources);
	return rc;
}

int command_trace(int argc, char **argv)
{
	static const struct command_body body = {
	    usage, options, sizeof(struct trace_command), .run_words = run};

	return command_run(&body, argc, argv);
}
