/*
 * reconcile.c - umavez reconcile: the proof that nothing is lost, or the list of what is.
 */
#include "cli/reconcile.h"
#include "cli/command.h"
#include "cli/sources.h"

#include <inttypes.h>

struct reconcile_command {
	struct sources_options sources;
	char *consumer;
	int64_t older_than, list;
	bool forget_gaps, json;
};

static const struct option options[] = {
    SOURCES_OPTIONS(offsetof(struct reconcile_command, sources)),
    {"older-than", OPT_DURATION, offsetof(struct reconcile_command, older_than), "1min",
	"Leave out what was written later than so long ago", 0, 0, 0, NULL, NULL},
    {"consumer", OPT_NAME, offsetof(struct reconcile_command, consumer), NULL,
	"Only this consumer (all that have a cursor)", 0, 0, 0, NULL, NULL},
    {"list", OPT_INT, offsetof(struct reconcile_command, list), "100",
	"List so many lost messages at most", 0, 0, 10000, NULL, NULL},
    {"forget-gaps", OPT_BOOL, offsetof(struct reconcile_command, forget_gaps), "off",
	"Do not tell these gaps again", 0, 0, 0, NULL, NULL},
    COMMAND_JSON_OPTION(offsetof(struct reconcile_command, json)),
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

static const char usage[] =
    "[OPTION]...\n\n"
    "Accounts for every outbox row, for each consumer: applied, parked (retrying, held or "
    "failed),\n"
    "still on its way, or lost.  Counted apart is what cannot be proved any more: purged (at or\n"
    "below the consumer's purge floor), unretained (its tick is gone), early (written and trimmed\n"
    "before this consumer existed).  Also tells gaps, where a stream had to go on behind rows "
    "that\n"
    "were no longer retained, and entries of the default ledger that were not written together\n"
    "with their message's inbox row (doubled).\n\n"
    "Exits with 1 if anything is lost, doubled or a gap.  `umavez republish` tells again what is\n"
    "lost.  The role umavez_operator may do this.";

static int verdict(const struct reconciliation *r, struct err *err)
{
	int64_t lost = reconcile_lost(r);
	size_t gaps = json_array_size(r->gaps);

	if (lost == 0 && gaps == 0 && r->doubled == 0)
		return 0;
	return err_set(err, ERR_FATAL,
	    "lost %" PRId64 ", gaps %zu, doubled %" PRId64
	    ": umavez republish tells lost messages again",
	    lost, gaps, r->doubled);
}

static int run(void *config, struct err *err)
{
	const struct reconcile_command *command = config;
	const struct reconcile_options what = {
	    command->consumer, command->older_than, command->list, command->forget_gaps};
	struct reconciliation r = {0};
	struct sources sources = {0};
	struct printer printer;
	int rc = -1;

	if (sources_open(&command->sources, "reconcile", &sources, err) < 0 ||
	    reconcile_read(&sources, &what, &r, err) < 0)
		goto done;
	printer_init(&printer, stdout);
	if (command->json)
		reconcile_print_json(stdout, &r);
	else
		reconcile_print(&printer, &r);
	rc = verdict(&r, err);
done:
	reconcile_done(&r);
	sources_close(&sources);
	return rc;
}

int command_reconcile(int argc, char **argv)
{
	static const struct command_body body = {
	    usage, options, sizeof(struct reconcile_command), .run = run};

	return command_run(&body, argc, argv);
}
