/*
 * The user's own handler: what it does twice or not at all is reported, by the user's own count.
 */
#include "tests/simulate/simulation.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/text.h"

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

/* A --schema-file in dir whose function refuse(json) has this body, after some other SQL. */
static char *refusing_handler(const char *dir, const char *sql, const char *body)
{
	char *file = text_format("%s/refuse.sql", dir);
	char *text = text_format("%sCREATE FUNCTION refuse(event json) RETURNS void LANGUAGE "
				 "plpgsql AS $$BEGIN %s END$$",
	    sql, body);

	file_write(file, text);
	free(text);
	return file;
}

static void handler_done(char *dir, char *file)
{
	unlink(file);
	free(file);
	own_directory_done(dir);
}

/* The purchase of the first event that comes: no rollback makes the sequence forget it. */
#define VICTIM "CREATE SEQUENCE victim; GRANT ALL ON SEQUENCE victim TO umavez_consumer;"
#define REFUSE_VICTIM                                                                              \
	"IF (SELECT NOT is_called FROM victim) THEN"                                               \
	" PERFORM setval('victim', 1 + abs(hashtext(event ->> 'subject')::bigint)); END IF;"       \
	"IF (SELECT last_value FROM victim) = 1 + abs(hashtext(event ->> 'subject')::bigint) THEN" \
	" RAISE 'not in the mood'; END IF;"

static void refusing_one_purchase(void)
{
	char *dir = own_directory(), *file = refusing_handler(dir, VICTIM, REFUSE_VICTIM);
	json_t *ledger =
	    simulation(1, ARGS("--notifications", "60", "--shards", "1", "--seed", "7", "--timeout",
			      "1min", "--handler", "refuse", "--schema-file", file));
	int64_t held = simulation_int(ledger, "held");

	CHECK(json_is_true(json_object_get(ledger, "finished")));
	CHECK_INT(simulation_int(ledger, "failed"), 1);
	CHECK(held > 0);
	CHECK_INT(simulation_int(ledger, "effects"), 60 - 1 - held);
	CHECK_INT(simulation_int(ledger, "lost"), 0);
	CHECK_STR(json_string_value(json_object_get(ledger, "error")), "P0001: not in the mood");
	json_decref(ledger);
	handler_done(dir, file);
}

static void refusing_everything(void)
{
	char *dir = own_directory(), *file = refusing_handler(dir, "", "RAISE 'not in the mood';"),
	     *out;

	simulation_text(1,
	    ARGS("--quiet", "--notifications", "5", "--handler", "refuse", "--schema-file", file),
	    &out, NULL);
	CHECK(strstr(out, "dead letters") != NULL);
	CHECK(strstr(out, "The first error (") != NULL);
	CHECK(strstr(out, "P0001: not in the mood") != NULL);
	CHECK(strstr(out, "Not finished in time") == NULL);
	free(out);
	handler_done(dir, file);
}

/* Its five attempts take longer than there is time: what is tried again is not given up yet. */
static void refusing_slowly(void)
{
	char *dir = own_directory();
	char *file = refusing_handler(dir, "", "PERFORM pg_sleep(1); RAISE 'not in the mood';");
	char *out, *err;

	simulation_text(1,
	    ARGS("--quiet", "--notifications", "1", "--handler", "refuse", "--schema-file", file,
		"--timeout", "4s"),
	    &out, &err);
	CHECK(strstr(err, "not in the mood") != NULL);
	CHECK(strstr(out, "Not finished in time") != NULL);
	CHECK(strstr(out, "The first error") == NULL);
	free(out);
	free(err);
	handler_done(dir, file);
}

/* The consumer's own refusal, on one line, before anything is sent. */
static void refused_by_the_consumer(void)
{
	char *dir = own_directory(), *file = text_format("%s/revoke.sql", dir), *err;

	file_write(file, "REVOKE SELECT ON effects.setting FROM umavez_consumer");
	simulation_text(1, ARGS("--schema-file", file), NULL, &err);
	CHECK(strstr(err, "umavez simulate: the consumer ended by itself, with status 2: "
			  "\"permission denied for table setting") != NULL);
	CHECK(strstr(err, "signed notifications") == NULL);
	free(err);
	handler_done(dir, file);
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
	check_refused(ARGS("--schema-file", SQL "shop.sql", "--handler", "nosuch"),
	    "--handler: there is no function nosuch(json)");
	check_refused(ARGS("--effect-query", "SELECT 1"), "--effect-query: ");
}

static void bad_sql_and_its_line(void)
{
	char *dir = own_directory();
	char *file = refusing_handler(dir, "SELECT '\u00e9\n';\nSELEC 1;\n", "NULL;");

	check_refused(ARGS("--schema-file", file), "refuse.sql: line 3: ERROR:  syntax error");
	handler_done(dir, file);
}

static void handler_from_nowhere(void)
{
	check_refused(ARGS("--handler", "shop.on_purchase"),
	    "umavez simulate: --handler: give the SQL that "
	    "creates shop.on_purchase with --schema-file");
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
	    {"a handler that fails for one purchase: dead letters, not lost",
		refusing_one_purchase},
	    {"a handler that fails for all: the error, without waiting", refusing_everything},
	    {"a handler that fails too slowly: not finished, and its reason", refusing_slowly},
	    {"what the consumer refuses at its start", refused_by_the_consumer},
	    {"SQL that cannot be used: exit 2", bad_sql},
	    {"SQL that cannot be used, and its line", bad_sql_and_its_line},
	    {"a handler that nothing creates: exit 2", handler_from_nowhere},
	    {NULL, NULL},
	};

	return check_main("simulate handler", checks, argc, argv);
}
