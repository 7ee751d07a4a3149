#include "simulate/config.h"

#include "tests/support/load.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define AT(member) offsetof(struct config, member)

/* What JSON can hold in every reader. */
#define SEED_MAX ((INT64_C(1) << 53) - 1)
#define HOUR INT64_C(3600000)

const struct option config_options[] = {
    {"notifications", OPT_INT, AT(notifications), "1000", "How many different ones are sent", 0, 1,
	1000000, NULL, NULL},
    {"duplicates", OPT_FRACTION, AT(duplicates), "0.3", "How many of them are delivered again", 0,
	0, 0, NULL, NULL},
    {"reorder", OPT_FRACTION, AT(reorder), "0.3",
	"How many deliveries change places with a later one", 0, 0, 0, NULL, NULL},
    {"stores", OPT_LIST, AT(stores), NULL, "Whose they are: app_store, google_play, stripe (all)",
	0, 0, 0, NULL, NULL},
    {"shards", OPT_INT, AT(shards), "4", "As umavez migrate takes it", 0, 1, 64, NULL, NULL},
    {"crash", OPT_LIST, AT(crash), NULL,
	"Die at this crash point, or when there for the nth time: relay.after_append@3", 0, 0, 0,
	NULL, NULL},
    {"kill", OPT_LIST, AT(kill), NULL,
	"kill -9 of a service when so many deliveries are done: relay@20%", 0, 0, 0, NULL, NULL},
    {"kill-random", OPT_INT, AT(kill_random), "0", "So many kills more, of any service at any time",
	0, 0, 10000, NULL, NULL},
    {"seed", OPT_INT, AT(seed), NULL,
	"The same notifications, order, duplicates and kills again (another one each time)", 0, 1,
	SEED_MAX, NULL, NULL},
    {"handler", OPT_STRING, AT(handler), NULL,
	"Your own function (event json) out of --schema-file (the default handler)", 0, 0, 0, NULL,
	NULL},
    {"schema-file", OPT_LIST, AT(schema_files), NULL,
	"SQL that is run before the start, as the owner of the database", 0, 0, 0, NULL, NULL},
    {"effect-query", OPT_STRING, AT(effect_query), NULL,
	"Counts what your handler did: rows of (source, message id, how many times)", 0, 0, 0, NULL,
	NULL},
    {"timeout", OPT_DURATION, AT(timeout_ms), "5min",
	"Not finished so long after the first notification: exit 1", 0, 1000, 24 * HOUR, NULL,
	NULL},
    {"trace", OPT_BOOL, AT(trace), "off", "Show the life of the notification that waited longest",
	0, 0, 0, NULL, NULL},
    {"keep", OPT_BOOL, AT(keep), "off", "Leave data and logs to look at", 0, 0, 0, NULL, NULL},
    {"json", OPT_BOOL, AT(json), "off", "The ledger as one JSON object", 0, 0, 0, NULL, NULL},
    {"quiet", OPT_BOOL, AT(quiet), "off", "No progress on stderr", 0, 0, 0, NULL, NULL},
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

const char config_usage[] =
    "[OPTION]...\n\n"
    "Starts PostgreSQL, Redis and the three services in a throw-away directory, sends them signed\n"
    "notifications, kills them, starts them again, and prints what came of it.  PostgreSQL's and\n"
    "Redis's programs must be installed; none of your servers is touched.\n\n"
    "Lost is what was answered with 200 and has no effect; doubled, every effect beyond one of a\n"
    "notification; out of order, an effect before an earlier one of the same purchase.  An effect\n"
    "is a call of the handler that committed; of a handler that leaves something behind when its\n"
    "transaction is rolled back (by dblink, say), every call is one.  What it does on other "
    "servers\n"
    "only --effect-query can count.\n\n"
    "A message that your handler fails for time after time is a dead letter, and so is what comes\n"
    "behind it for its purchase.  The simulation ends when nothing else is left to be done.\n\n"
    "Exit status: 0 nothing lost, doubled, out of order or given up; 1 something was, or a crash\n"
    "point was not reached, or time was up; 2 the simulation was asked for something that cannot\n"
    "be.\n\n"
    "The same --seed sends the same and kills at the same deliveries.  What a kill interrupts "
    "depends\n"
    "on the moment: sent, accepted and duplicates differ, and none of them is a fault.\n\n"
    "--json prints one object: ok, seed, notifications, sent, accepted, duplicates, unanswered,\n"
    "refused, crashes, stream_entries, calls, effects, lost, doubled, out_of_order, failed, held\n"
    "(behind those that failed), error (of the first that did, if any), broken (other promises\n"
    "that do not hold), counted (what an effect is: committed, calls or query), finished, kills\n"
    "({service, at}), not_reached (crash points), and the first ten of lost_messages and\n"
    "doubled_messages ({source, message_id, effects}).";

static int read_stores(struct config *c, struct err *err)
{
	for (size_t i = 0; i < c->stores.n; i++) {
		int store = 0;

		while (
		    store < LOAD_STORES && strcmp(load_store_name(store), c->stores.values[i]) != 0)
			store++;
		if (store == LOAD_STORES)
			return err_set(err, ERR_USAGE,
			    "--stores: \"%.80s\" is none of app_store, google_play, stripe",
			    c->stores.values[i]);
		c->store_mask |= 1U << store;
	}
	return 0;
}

/* The servers are new: of functions they have ours alone. */
static int check_handler(const struct config *c, struct err *err)
{
	if (!c->handler || c->schema_files.n > 0 || strcmp(c->handler, CONFIG_DEFAULT_HANDLER) == 0)
		return 0;
	return err_set(err, ERR_USAGE,
	    "--handler: give the SQL that creates %.200s with --schema-file: the servers are new",
	    c->handler);
}

static int check_files(const struct config *c, struct err *err)
{
	for (size_t i = 0; i < c->schema_files.n; i++)
		if (access(c->schema_files.values[i], R_OK) < 0)
			return err_set(err, ERR_USAGE, "--schema-file: %.200s: %s",
			    c->schema_files.values[i], strerror(errno));
	return 0;
}

int config_check(struct config *c, struct err *err)
{
	if (c->trace && c->json)
		return err_set(err, ERR_USAGE, "--trace and --json: one or the other");
	if (read_stores(c, err) < 0)
		return -1;
	if (check_handler(c, err) < 0)
		return -1;
	return check_files(c, err);
}
