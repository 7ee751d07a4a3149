/*
 * group.c - umavez group list | drop NAME.
 */
#include "cli/group.h"
#include "cli/command.h"
#include "cli/sources.h"
#include "cli_text.h"
#include "common/event.h"
#include "common/pg.h"
#include "common/redis.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct group_command {
	struct sources_options sources;
	int64_t shard;
	bool destroy, yes, json;
};

static const struct option options[] = {
    SOURCES_INTAKE_OPTION(
	offsetof(struct group_command, sources) + offsetof(struct sources_options, database_url)),
    SOURCES_REDIS_OPTIONS(offsetof(struct group_command, sources), SOURCES_REDIS_HELP),
    {"shard", OPT_INT, offsetof(struct group_command, shard), "-1",
	"drop: only in this shard (all)", 0, -1, 1023, NULL, NULL},
    {"destroy", OPT_BOOL, offsetof(struct group_command, destroy), "off",
	"drop: also destroy the group in Redis", 0, 0, 0, NULL, NULL},
    {"yes", OPT_BOOL, offsetof(struct group_command, yes), "off",
	"drop: do it; else only say what would be done", 0, 0, 0, NULL, NULL},
    {"json", OPT_BOOL, offsetof(struct group_command, json), "off",
	"list: one object, for programs", 0, 0, 0, NULL, NULL},
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

static const char usage[] =
    "list | drop NAME  [OPTION]...\n\n"
    "Nothing is trimmed from a stream that a registered group has not acknowledged, and nothing "
    "at\n"
    "all while a registered group is missing there.  `list` shows the groups of every shard, as\n"
    "the relays have registered them and as they are in Redis.  `drop` forgets one, so that\n"
    "trimming does not wait for it any more; as long as it is in a stream, a relay registers it\n"
    "again: --destroy ends it there too.  The role and the Redis user umavez_operator may do this.";

static int list(const struct group_command *command, struct sources *sources, struct err *err)
{
	struct groups groups = {0};
	struct printer printer;

	if (groups_read(sources->intake, sources->redis, sources->name_space, NULL, &groups, err) <
	    0)
		return -1;
	printer_init(&printer, stdout);
	if (command->json)
		groups_print_json(stdout, &groups);
	else
		groups_print(&printer, &groups, sources->redis != NULL);
	if (!sources->redis)
		fprintf(stderr, "umavez group: without Redis: %s\n", sources->redis_err.message);
	groups_done(&groups);
	return 0;
}

static bool is_meant(const struct group_command *command, const struct group *g)
{
	return command->shard < 0 || (unsigned)command->shard == g->shard;
}

static bool would_destroy(const struct group_command *command, const struct group *g)
{
	return command->destroy && g->in_stream && is_meant(command, g);
}

static bool would_forget(const struct group_command *command, const struct group *g)
{
	return g->registered && is_meant(command, g);
}

static bool would_do_anything(const struct group_command *command, const struct groups *groups)
{
	for (size_t i = 0; i < groups->n; i++) {
		if (would_destroy(command, &groups->list[i]) ||
		    would_forget(command, &groups->list[i]))
			return true;
	}
	return false;
}

static void say(
    const struct group_command *command, const struct sources *sources, const struct groups *groups)
{
	char key[256];

	for (size_t i = 0; i < groups->n; i++) {
		const struct group *g = &groups->list[i];

		if (would_destroy(command, g)) {
			event_key(key, sizeof(key), sources->name_space, "purchases", g->shard);
			printf("would be destroyed in %s, at %s with %" PRId64 " pending\n", key,
			    g->delivered, g->pending);
		}
		if (would_forget(command, g))
			printf("would be forgotten in shard %u: what stands after %s might then "
			       "be trimmed unread\n",
			    g->shard, g->acknowledged);
	}
}

/* In Redis first: a relay would register again what it sees there. */
static int destroy(const struct group_command *command, struct sources *sources,
    const struct groups *groups, struct err *err)
{
	char key[256];

	for (size_t i = 0; i < groups->n; i++) {
		const struct group *g = &groups->list[i];

		if (!would_destroy(command, g))
			continue;
		event_key(key, sizeof(key), sources->name_space, "purchases", g->shard);
		if (redis_command(sources->redis, NULL, err, "XGROUP DESTROY %s %s", key, g->name) <
		    0)
			return err_wrap(err, "%s", key);
		printf("destroyed in %s, at %s with %" PRId64 " pending\n", key, g->delivered,
		    g->pending);
	}
	return 0;
}

static int forget(
    const struct group_command *command, struct sources *sources, const char *name, struct err *err)
{
	char shard[PG_NUMBER_SIZE];
	const char *params[] = {name, command->shard < 0 ? NULL : pg_number(shard, command->shard)};
	PGresult *res = NULL;

	if (pg_run(sources->intake, cli_sql_group_drop_sql, 2, params, &res, err) < 0)
		return -1;
	for (int row = 0; row < PQntuples(res); row++)
		printf("forgotten in shard %s: what stands after %s may now be trimmed unread\n",
		    pg_text(res, row, "shard"), pg_text(res, row, "acknowledged"));
	PQclear(res);
	return 0;
}

static void warn_of_streams(
    const struct group_command *command, const struct sources *sources, const struct groups *groups)
{
	size_t there = 0;

	for (size_t i = 0; i < groups->n; i++)
		there += groups->list[i].in_stream && is_meant(command, &groups->list[i]);
	if (command->destroy)
		return;
	if (there > 0)
		fprintf(stderr,
		    "umavez group: it is still in %zu %s, and relays will register it again: "
		    "stop what reads there, then use --destroy\n",
		    there, print_plural((int64_t)there, "stream", "streams"));
	if (!sources->redis)
		fprintf(stderr, "umavez group: could not look at the streams: %s\n",
		    sources->redis_err.message);
}

static int drop(
    const struct group_command *command, struct sources *sources, const char *name, struct err *err)
{
	struct groups groups = {0};
	int rc = -1;

	if (command->destroy && !sources->redis) {
		*err = sources->redis_err;
		goto done;
	}
	if (groups_read(sources->intake, sources->redis, sources->name_space, name, &groups, err) <
	    0)
		goto done;
	if (!would_do_anything(command, &groups)) {
		err_set(err, ERR_FATAL, "no such group is registered (see umavez group list)");
		goto done;
	}
	warn_of_streams(command, sources, &groups);
	if (!command->yes) {
		say(command, sources, &groups);
		err_set(err, ERR_USAGE, "nothing was done: give --yes to do it");
		goto done;
	}
	if (destroy(command, sources, &groups, err) < 0 || forget(command, sources, name, err) < 0)
		goto done;
	rc = 0;
done:
	groups_done(&groups);
	return rc;
}

static int run(
    const struct group_command *command, const struct option_words *words, struct err *err)
{
	bool is_list = words->n == 1 && strcmp(words->words[0], "list") == 0;
	bool is_drop = words->n == 2 && strcmp(words->words[0], "drop") == 0;
	struct sources sources = {.redis_err = ERR_INIT, .name_space = command->sources.name_space};
	int rc = -1;

	if (!is_list && !is_drop)
		return err_set(err, ERR_USAGE, "say list, or drop and one NAME (see --help)");
	if (sources_open_schema(
		command->sources.database_url, "group", "intake", &sources.intake, err) < 0)
		goto done;
	if (sources_open_redis(command->sources.redis_url, &sources.redis, &sources.redis_err) < 0)
		sources.redis = NULL;
	rc = is_list ? list(command, &sources, err) : drop(command, &sources, words->words[1], err);
done:
	sources_close(&sources);
	return rc;
}

int command_group(int argc, char **argv)
{
	struct group_command command = {0};
	struct option_words words;
	struct err err = ERR_INIT;
	int status;

	if (!command_start(usage, options, &command, argc, argv, &words, &status))
		return status;
	status = run(&command, &words, &err) < 0 ? command_fail("group", &err) : EXIT_SUCCESS;
	option_done(options, &command);
	return status;
}
