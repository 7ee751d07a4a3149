/*
 * The user's own handler: what it does twice or not at all is reported, by the user's own count.
 */
#include "tests/simulate/simulation.h"
#include "tests/support/check.h"
#include "tests/support/files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SQL UMAVEZ_SOURCE_DIR "/tests/simulate/sql/"
#define COUNT "SELECT source, message_id, count(*) FROM shop.done GROUP BY 1, 2;"

/* Killed until a batch was in the middle. */
#if UMAVEZ_FAILPOINTS
#define DEATHS "--crash", "consumer.before_commit", "--crash", "consumer.after_effect"
#else
#define DEATHS "--kill-random", "20"
#endif

static void transactional(void)
{
	json_t *ledger =
	    simulation(0, ARGS("--notifications", "60", DEATHS, "--handler", "shop.on_event",
			      "--schema-file", SQL "shop.sql", "--effect-query", COUNT));

	CHECK_INT(simulation_int(ledger, "effects"), 60);
	CHECK_INT(simulation_int(ledger, "lost"), 0);
	CHECK_INT(simulation_int(ledger, "doubled"), 0);
	json_decref(ledger);
}

static void outside_the_transaction(void)
{
	json_t *ledger =
	    simulation(1, ARGS("--notifications", "60", DEATHS, "--handler",
			      "shop.on_event_outside", "--schema-file", SQL "shop.sql",
			      "--schema-file", SQL "outside.sql", "--effect-query", COUNT));
	const json_t *worst = json_array_get(json_object_get(ledger, "doubled_messages"), 0);

	CHECK(simulation_int(ledger, "doubled") > 0);
	CHECK_INT(simulation_int(ledger, "effects"), 60 + simulation_int(ledger, "doubled"));
	CHECK_INT(simulation_int(ledger, "lost"), 0);
	CHECK_INT(simulation_int(ledger, "broken"), 0);
	CHECK(json_is_string(json_object_get(worst, "message_id")));
	CHECK(json_integer_value(json_object_get(worst, "effects")) > 1);
	json_decref(ledger);
}

/* Nobody said how to count: that it writes outside is found out. */
static void outside_and_not_counted(void)
{
	json_t *ledger = simulation(
	    1, ARGS("--notifications", "60", DEATHS, "--handler", "shop.on_event_outside",
		   "--schema-file", SQL "shop.sql", "--schema-file", SQL "outside.sql"));

	CHECK_STR(json_string_value(json_object_get(ledger, "counted")), "calls");
	CHECK(simulation_int(ledger, "doubled") > 0);
	CHECK_INT(simulation_int(ledger, "effects"), simulation_int(ledger, "calls"));
	CHECK_INT(simulation_int(ledger, "lost"), 0);
	CHECK_INT(simulation_int(ledger, "broken"), 0);
	json_decref(ledger);
}

static void inside_and_not_counted(void)
{
	json_t *ledger = simulation(0, ARGS("--notifications", "60", DEATHS, "--handler",
					   "shop.on_event", "--schema-file", SQL "shop.sql"));

	CHECK_STR(json_string_value(json_object_get(ledger, "counted")), "committed");
	CHECK(simulation_int(ledger, "calls") >= 60);
	CHECK_INT(simulation_int(ledger, "effects"), 60);
	CHECK_INT(simulation_int(ledger, "doubled"), 0);
	json_decref(ledger);
}

static void forgetful(void)
{
	json_t *ledger = simulation(1,
	    ARGS("--notifications", "60", "--handler", "shop.on_event_forgetful", "--schema-file",
		SQL "shop.sql", "--schema-file", SQL "forgetful.sql", "--effect-query", COUNT));
	const json_t *first = json_array_get(json_object_get(ledger, "lost_messages"), 0);

	CHECK(simulation_int(ledger, "lost") > 0);
	CHECK_INT(simulation_int(ledger, "effects"), 60 - simulation_int(ledger, "lost"));
	CHECK_INT(simulation_int(ledger, "doubled"), 0);
	CHECK_STR(json_string_value(json_object_get(first, "source")), "stripe");
	json_decref(ledger);
}

/* A handler that never succeeds: the time is up, and the reason is told. */
static void refusing(void)
{
	char *dir = own_directory(), *file = text_format("%s/refuse.sql", dir), *out, *err;

	file_write(file, "CREATE FUNCTION refuse(event json) RETURNS void LANGUAGE plpgsql AS "
			 "$$BEGIN RAISE 'not in the mood'; END$$");
	simulation_text(1,
	    ARGS("--quiet", "--notifications", "5", "--handler", "refuse", "--schema-file", file,
		"--timeout", "3s"),
	    &out, &err);
	CHECK(strstr(err, "not in the mood") != NULL);
	CHECK(strstr(out, "Not finished in time") != NULL);
	free(out);
	free(err);
	unlink(file);
	free(file);
	own_directory_done(dir);
}

static void check_refused(const char *const *args, const char *message)
{
	char *err;

	simulation_text(2, args, NULL, &err);
	if (strstr(err, message) == NULL)
		fprintf(stderr, "%s", err);
	CHECK(strstr(err, message) != NULL);
	free(err);
}

/* What only PostgreSQL can tell, before anything is sent. */
static void bad_sql(void)
{
	check_refused(ARGS("--schema-file", SQL "forgetful.sql"), "schema \"shop\" does not exist");
	check_refused(ARGS("--handler", "nosuch"), "--handler: there is no function nosuch(json)");
	check_refused(ARGS("--effect-query", "SELECT 1"), "--effect-query: ");
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"a transactional handler: each effect once", transactional},
	    {"a handler with a connection of its own: doubled", outside_the_transaction},
	    {"the same, and nobody said how to count", outside_and_not_counted},
	    {"a transactional handler leaves nothing when it is rolled back",
		inside_and_not_counted},
	    {"a handler that returns without its effect: lost", forgetful},
	    {"a handler that never succeeds: its reason", refusing},
	    {"SQL that cannot be used: exit 2", bad_sql},
	    {NULL, NULL},
	};

	return check_main("simulate handler", checks, argc, argv);
}
