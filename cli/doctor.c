/*
 * doctor.c - umavez doctor: is everything set up as the promises need it?
 */
#include "cli/doctor.h"
#include "cli/command.h"
#include "cli/sources.h"

#include <string.h>

struct doctor_command {
	struct sources_options sources;
	bool json;
};

static const struct option options[] = {
    SOURCES_OPTIONS(offsetof(struct doctor_command, sources)),
    COMMAND_JSON_OPTION(offsetof(struct doctor_command, json)),
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

static const char usage[] =
    "[OPTION]...\n\n"
    "Checks connections, versions, the schemas, the constraints that hold the promises, functions\n"
    "and rights, the cluster's identity, durability settings, partitions, dead letters, relays,\n"
    "consumers and their groups, Redis and its streams, and the clocks.  One line each: ok, warn\n"
    "or fail, and what to change.  Exits with 1 if anything fails; that no relay or consumer\n"
    "holds a shard is a failure if messages wait there, and that a relay holds it if they have\n"
    "waited for a minute.  The role and the Redis user umavez_operator may do this.";

static void examine(const struct sources_options *o, struct doctor *d)
{
	const char *effects_url =
	    o->effects_database_url ? o->effects_database_url : o->database_url;
	PGconn *intake = doctor_database(d, o->database_url, "intake", false);
	PGconn *effects =
	    doctor_database(d, effects_url, "effects", strcmp(effects_url, o->database_url) == 0);

	if (intake) {
		doctor_deployment(d, intake, effects);
		doctor_work(d, intake, effects);
	}
	doctor_turn_to(d, "Redis");
	if (o->redis_url)
		doctor_redis(d, o->redis_url, o->name_space, intake);
	else
		doctor_note(d, LEVEL_WARN, "redis", "give --redis-url (or REDIS_URL)",
		    "not looked at: no URL is given");
	PQfinish(intake);
	PQfinish(effects);
}

static int run(void *config, struct err *err)
{
	const struct doctor_command *command = config;
	struct doctor d = {0};
	struct printer printer;
	size_t failed;

	examine(&command->sources, &d);
	printer_init(&printer, stdout);
	if (command->json)
		doctor_print_json(stdout, &d);
	else
		doctor_print(&printer, &d);
	failed = doctor_count(&d, LEVEL_FAIL);
	doctor_done(&d);
	return failed == 0 ? 0
			   : err_set(err, ERR_FATAL, "%zu %s", failed,
				 print_plural((int64_t)failed, "check fails", "checks fail"));
}

int command_doctor(int argc, char **argv)
{
	static const struct command_body body = {
	    usage, options, sizeof(struct doctor_command), .run = run};

	return command_run(&body, argc, argv);
}
