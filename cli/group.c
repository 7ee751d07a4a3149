/*
 * group.c - umavez group list | drop NAME.
 */
#include "cli/group.h"
#include "cli/command.h"
#include "cli/sources.h"

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
    {"shard", OPT_INT, offsetof(struct group_command, shard), "-1", "Only this shard (all)", 0, -1,
	1023, NULL, NULL},
    {"destroy", OPT_BOOL, offsetof(struct group_command, destroy), "off",
	"drop: also destroy the group in Redis", 0, 0, 0, NULL, NULL},
    {"yes", OPT_BOOL, offsetof(struct group_command, yes), "off",
	"drop: do it; else only say what would be done", 0, 0, 0, NULL, NULL},
    {"json", OPT_BOOL, offsetof(struct group_command, json), "off", "One object, for programs", 0,
	0, 0, NULL, NULL},
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

static const char usage[] =
    "list | drop NAME  [OPTION]...\n\n"
    "Nothing is trimmed from a stream that a registered group has not acknowledged, and nothing "
    "at\n"
    "all while a registered group is missing there.  `list` shows the groups of every shard, as\n"
    "the relays have registered them and as they are in Redis.  `drop` forgets one, so that\n"
    "trimming does not wait for it any more; as long as it is in a stream, a relay registers it\n"
    "again: --destroy ends it there too.  A consumer of umavez is more than its group: see umavez\n"
    "consumer.  The role and the Redis user umavez_operator may do this.";

static int list(const struct group_command *command, struct sources *sources, struct err *err)
{
	struct groups groups = {0};
	struct printer printer;

	if (groups_read(sources, (struct group_filter){NULL, command->shard}, &groups, err) < 0)
		return -1;
	printer_init(&printer, stdout);
	if (command->json)
		print_json(stdout, json_pack("{s:o}", "groups", groups_json(&groups)));
	else
		groups_print(&printer, &groups, sources->redis != NULL);
	if (!sources->redis)
		fprintf(stderr, "umavez group: without Redis: %s\n", sources->redis_err.message);
	groups_done(&groups);
	return 0;
}

static bool would_do_anything(const struct group_command *command, const struct groups *groups)
{
	for (size_t i = 0; i < groups->n; i++) {
		if (groups->list[i].registered || command->destroy)
			return true;
	}
	return false;
}

static void warn_of_streams(
    const struct group_command *command, const struct sources *sources, const struct groups *groups)
{
	size_t there = 0;

	for (size_t i = 0; i < groups->n; i++)
		there += groups->list[i].in_stream;
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
	if (groups_read(sources, (struct group_filter){name, command->shard}, &groups, err) < 0)
		goto done;
	if (!would_do_anything(command, &groups)) {
		err_set(err, ERR_FATAL, "no such group is registered (see umavez group list)");
		goto done;
	}
	warn_of_streams(command, sources, &groups);
	if (command->yes && groups_drop(sources, &groups, command->destroy, err) < 0)
		goto done;
	if (command->json)
		print_json(stdout, json_pack("{s:o, s:b, s:b, s:o}", "group", print_json_text(name),
				       "done", (int)command->yes, "destroy", (int)command->destroy,
				       "groups", groups_json(&groups)));
	else
		groups_tell_drop(
		    stdout, sources->name_space, &groups, command->destroy, command->yes);
	rc = command->yes ? 0 : command_not_done(err);
done:
	groups_done(&groups);
	return rc;
}

static int run(void *config, const struct option_words *words, struct err *err)
{
	const struct group_command *command = config;
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
	static const struct command_body body = {
	    usage, options, sizeof(struct group_command), .run_words = run};

	return command_run(&body, argc, argv);
}
