/*
 * umavez dead-letter, as the operator's role: what it shows, what it marks, and what it refuses.
 */
#include "tests/cli/story.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world *world;

/* A parked message about app_store/p1, in shard 0. */
static void park(const char *consumer, const char *source, const char *id, const char *state)
{
	world_sql(world,
	    "INSERT INTO effects.parked (consumer, source, message_id, subject, shard, stream_id,"
	    " delivered_at, event, state, starts, error, history)"
	    " VALUES ('%s', '%s', '%s', 'app_store/p1', 0, '1767225600000-7', now(),"
	    " '{\"id\":\"%s\"}', '%s', CASE '%s' WHEN 'held' THEN 0 ELSE 5 END,"
	    " CASE '%s' WHEN 'held' THEN NULL ELSE 'P0001: it is '||chr(27)||'[31mpoison' END,"
	    " CASE '%s' WHEN 'held' THEN '[]'::jsonb ELSE"
	    " '[{\"at\":\"2026-01-01T12:00:00.5+00:00\",\"start\":5,\"error\":\"P0001\"}]' END)",
	    consumer, source, id, id, state, state, state, state);
}

/* One failed, two behind it, and one more of another subject. */
static void set_up(void)
{
	world_sql(world, "TRUNCATE effects.parked, effects.shard_lease");
	park("c", "app_store", "m1", "failed");
	park("c", "app_store", "m2", "held");
	park("c", "app_store", "m3", "held");
	park("c", "app_store", "m4", "retrying");
	world_sql(
	    world, "UPDATE effects.parked SET subject = 'app_store/p2' WHERE message_id = 'm4'");
}

/* Its exit status; *ret_out and *ret_err may be NULL. */
static int run(char **ret_out, char **ret_err, const char *const *words)
{
	const char *args[16] = {"dead-letter"};
	char *out = NULL, *err = NULL;
	int status, n = 1;

	for (; *words; words++)
		args[n++] = *words;
	status = world_run_all(world, "umavez", args, NULL, &out, &err);
	if (ret_out)
		*ret_out = out;
	else
		free(out);
	if (ret_err)
		*ret_err = err;
	else
		free(err);
	return status;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void check_refused(int status, const char *text, const char *const *words)
{
	char *err = NULL;

	CHECK_INT(run(NULL, &err, words), status);
	if (!strstr(err, text))
		fprintf(stderr, "%s", err);
	CHECK(
	    strncmp(err, "umavez dead-letter: ", 20) == 0 || strstr(err, "\numavez dead-letter: "));
	CHECK(strstr(err, text) != NULL);
	free(err);
}

static void check_state(const char *id, const char *state)
{
	char *found = world_text(
	    world, "SELECT string_agg(state, ' ') FROM effects.parked WHERE message_id = '%s'", id);

	CHECK_STR(found, state);
	free(found);
}

static int lines(const char *text)
{
	int n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

static void lists(void)
{
	char *out = NULL;

	world_sql(world, "TRUNCATE effects.parked");
	CHECK_INT(run(&out, NULL, WORDS("list")), 0);
	CHECK_STR(out, "none\n");
	free(out);
	set_up();
	CHECK_INT(run(&out, NULL, WORDS("list")), 0);
	CHECK_INT(lines(out), 3);
	CHECK(strstr(out, "failed    app_store/m1  app_store/p1  c              5          2  ") !=
	      NULL);
	CHECK(strstr(out, "retrying  app_store/m4  app_store/p2  c              5          0  ") !=
	      NULL);
	CHECK(strstr(out, "P0001: it is \\u{1b}[31mpoison") != NULL);
	CHECK(strchr(out, '\033') == NULL);
	free(out);
	CHECK_INT(run(&out, NULL, WORDS("list", "--json", "--state", "held")), 0);
	CHECK_INT(lines(out), 2);
	CHECK(strstr(out, "\"message_id\":\"m2\"") < strstr(out, "\"message_id\":\"m3\""));
	free(out);
	CHECK_INT(run(&out, NULL, WORDS("list", "--json", "--subject", "app_store/p2")), 0);
	CHECK_INT(lines(out), 1);
	free(out);
	CHECK_INT(run(&out, NULL, WORDS("list", "--json", "--consumer", "d")), 0);
	CHECK_STR(out, "");
	free(out);
}

static void shows_one(void)
{
	const char *const args[] = {"dead-letter", "show", "m1", "--json", NULL};
	const char *const held[] = {"dead-letter", "show", "app_store/m3", "--json", NULL};
	char *out = NULL;
	json_t *json;

	set_up();
	json = story_umavez(world, args);
	CHECK_STR(story_get(json, "state"), "failed");
	CHECK_STR(story_get(json, "starts"), "5");
	CHECK_STR(story_get(json, "next_at"), "null");
	CHECK_STR(story_get(json, "event/id"), "m1");
	CHECK_STR(story_get(json, "history/0/start"), "5");
	CHECK_STR(story_get(json, "history/0/at"), "2026-01-01T12:00:00.500Z");
	CHECK_STR(story_get(json, "held/0/message_id"), "m2");
	CHECK_STR(story_get(json, "held/1/message_id"), "m3");
	CHECK_STR(story_get(json, "behind"), "2");
	json_decref(json);
	json = story_umavez(world, held);
	CHECK_STR(story_get(json, "waits_for"), "app_store/m1");
	json_decref(json);
	CHECK_INT(run(&out, NULL, WORDS("show", "m1")), 0);
	CHECK(strstr(out, "app_store/m1  failed, started 5 times\n") == out);
	CHECK(strstr(out, "\n    2026-01-01T12:00:00.500Z  start 5  P0001\n") != NULL);
	CHECK(strstr(out, "\n    app_store/m2\n    app_store/m3\n") != NULL);
	CHECK(strstr(out, "holder     nobody") != NULL);
	CHECK(strchr(out, '\033') == NULL);
	free(out);
}

static void ambiguous_ids_are_asked_about(void)
{
	set_up();
	park("c", "stripe", "m1", "failed");
	check_refused(2, "give --source (app_store, stripe)", WORDS("show", "m1"));
	CHECK_INT(run(NULL, NULL, WORDS("show", "m1", "--source", "stripe")), 0);
	CHECK_INT(run(NULL, NULL, WORDS("show", "stripe/m1")), 0);
	park("d", "app_store", "m4", "failed");
	check_refused(2, "give --consumer (c, d)", WORDS("retry", "m4"));
	CHECK_INT(run(NULL, NULL, WORDS("retry", "m4", "--consumer", "d")), 0);
	check_state("m4", "retrying retry");
}

static void retries_are_marked(void)
{
	char *out = NULL;

	set_up();
	story_consumer_lease(world, "c", 0, "consumer-1");
	CHECK_INT(run(&out, NULL, WORDS("retry", "m1")), 0);
	CHECK_STR(out, "app_store/m1: retry, by consumer-1; behind it: 2\n");
	free(out);
	check_state("m1", "retry");
	CHECK_INT(run(NULL, NULL, WORDS("retry", "m4")), 0);
	check_state("m4", "retry");
	CHECK_INT(world_int(world, "SELECT count(*) FROM effects.parked WHERE message_id = 'm1'"
				   " AND history -> 1 ->> 'by' = 'w_operator'"
				   " AND next_at <= clock_timestamp()"),
	    1);
	check_refused(
	    1, "m2 is held: no retry now; it waits for app_store/m1", WORDS("retry", "m2"));
	check_refused(1, "m1 is retry", WORDS("retry", "m1"));
	check_refused(1, "no parked message is called m9", WORDS("retry", "m9"));
}

static void all_failed_are_marked(void)
{
	char *out = NULL;

	set_up();
	park("c", "stripe", "m5", "failed");
	CHECK_INT(run(&out, NULL, WORDS("retry", "--all", "--source", "stripe", "--json")), 0);
	CHECK_INT(lines(out), 1);
	free(out);
	check_state("m1", "failed");
	CHECK_INT(run(&out, NULL, WORDS("retry", "--all")), 0);
	CHECK_INT(lines(out), 1);
	free(out);
	check_state("m1", "retry");
	check_state("m2", "held");
	check_state("m4", "retrying");
	check_state("m5", "retry");
	CHECK_INT(run(&out, NULL, WORDS("retry", "--all")), 0);
	CHECK_STR(out, "none\n");
	free(out);
}

static void discards_only_with_yes(void)
{
	char *out = NULL, *err = NULL;

	set_up();
	check_refused(2, "give a --reason", WORDS("discard", "m1"));
	check_refused(
	    2, "nothing was done: give --yes", WORDS("discard", "m1", "--reason", "test"));
	check_state("m1", "failed");
	CHECK_INT(run(&out, &err, WORDS("discard", "m1", "--reason", "test", "--yes")), 0);
	CHECK(strstr(err, "app_store/m1 (app_store/p1) will never take effect for c. Then what is"
			  " held behind it is applied: 2 messages.") != NULL);
	CHECK(strstr(out, "app_store/m1: discard, by the next consumer") != NULL);
	free(out);
	free(err);
	check_state("m1", "discard");
	CHECK_INT(run(NULL, NULL, WORDS("discard", "m3", "--reason", "test", "--yes")), 0);
	check_state("m3", "discard");
	check_refused(1, "m1 is discard", WORDS("retry", "m1"));
	check_refused(1, "m1 is discard", WORDS("discard", "m1", "--reason", "test", "--yes"));
}

static void wrong_words_are_refused(void)
{
	check_refused(2, "say list, show ID", WORDS("lost"));
	check_refused(2, "say list, show ID", WORDS("list", "m1"));
	check_refused(2, "give one ID", WORDS("show"));
	check_refused(2, "not both", WORDS("retry", "m1", "--all"));
	check_refused(2, "--state", WORDS("list", "--state", "lost"));
}

static const struct check checks[] = {
    {"list", lists},
    {"show", shows_one},
    {"ambiguous ids", ambiguous_ids_are_asked_about},
    {"retry", retries_are_marked},
    {"retry --all", all_failed_are_marked},
    {"discard", discards_only_with_yes},
    {"wrong words", wrong_words_are_refused},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(1);
	status = check_main("cli dead-letter", checks, argc, argv);
	world_close(world);
	return status;
}
