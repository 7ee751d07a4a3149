/*
 * group.c - umavez group list | drop NAME.
 */
#include "cli/group.h"
#include "cli/command.h"
#include "cli/sources.h"
#include "cli_text.h"
#include "common/pg.h"

#include <stdio.h>
#include <string.h>

struct group_command {
	struct sources_options sources;
	int64_t shard;
	bool destroy, yes, json;
};

static const struct option options[] = {
    SOURCES_OPTIONS(offsetof(struct group_command, sources)),
    {"shard", OPT_INT, offsetof(struct group_command, shard), "-1", "Only this shard (all)",
	OPT_UNSET, -1, 1023, NULL, NULL},
    {"destroy", OPT_BOOL, offsetof(struct group_command, destroy), "off",
	"drop: also destroy the group in Redis", 0, 0, 0, NULL, NULL},
    {"yes", OPT_BOOL, offsetof(struct group_command, yes), "off",
	"drop: do it; else only say what would be done", 0, 0, 0, NULL, NULL},
    COMMAND_JSON_OPTION(offsetof(struct group_command, json)),
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

static const char usage[] =
    "list | drop NAME  [OPTION]...\n\n"
    "Nothing is trimmed from a stream that a registered group has not acknowledged, and nothing "
    "at\n"
    "all while a registered group is missing there.  `list` shows the groups of every shard, as\n"
    "the relays have registered them and as they are in Redis.  `drop` forgets one, so that\n"
    "trimming does not wait for it any more; what is in a stream still a relay would register\n"
    "again: --destroy ends it there too.  A consumer of umavez is more than its group: umavez\n"
    "consumer forget ends it, and while it lives --destroy is refused.  The role and the Redis\n"
    "user umavez_operator may do this.";

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

/* A consumer of ours has cursors and an inbox besides: umavez consumer is for those. */
static int is_consumer(
    const struct sources *sources, const char *name, bool *ret_is, struct err *err)
{
	PGresult *res = NULL;

	if (pg_run(sources->effects, cli_sql_reconcile_consumers_sql, 1, &name, &res, err) < 0)
		return -1;
	*ret_is = PQntuples(res) > 0;
	PQclear(res);
	return 0;
}

/* Its group is what a consumer that lives reads by; forgetting one that does not is more than this.
 */
static int check_forgettable(const struct sources *sources, const char *name, struct err *err)
{
	PGresult *res = NULL;
	int rc = 0;

	if (pg_run(sources->effects, "SELECT effects.forget_obstacle($1) AS obstacle", 1, &name,
		&res, err) < 0)
		return -1;
	if (pg_text(res, 0, "obstacle"))
		rc = err_set(err, ERR_FATAL,
		    "it is a consumer's, which umavez consumer forget ends; and %s",
		    pg_text(res, 0, "obstacle"));
	PQclear(res);
	return rc;
}

static int nothing_to_drop(const struct groups *groups, bool is_a_consumer, struct err *err)
{
	if (groups->n == 0)
		return err_set(
		    err, ERR_FATAL, "no such group is registered (see umavez group list)");
	return err_set(err, ERR_FATAL,
	    "it is still in %zu %s, where relays would register it again: %s", groups->n,
	    print_plural((int64_t)groups->n, "stream", "streams"),
	    is_a_consumer ? "it is a consumer's, which umavez consumer forget ends"
			  : "stop what reads there, then use --destroy");
}

static void warn(const struct sources *sources, const char *name, bool is_a_consumer)
{
	if (is_a_consumer)
		fprintf(stderr,
		    "umavez group: %s is a consumer, with cursors and an inbox: umavez consumer "
		    "forget ends it\n",
		    name);
	if (!sources->redis)
		fprintf(stderr, "umavez group: could not look at the streams: %s\n",
		    sources->redis_err.message);
}

static void tell_drop(const struct group_command *command, const struct sources *sources,
    const char *name, const struct groups *groups)
{
	if (command->json)
		print_json(stdout, json_pack("{s:o, s:b, s:b, s:o}", "group", print_json_text(name),
				       "done", (int)command->yes, "destroy", (int)command->destroy,
				       "groups", groups_json(groups)));
	else
		groups_tell_drop(
		    stdout, sources->name_space, groups, command->destroy, command->yes);
}

static int drop(
    const struct group_command *command, struct sources *sources, const char *name, struct err *err)
{
	struct groups groups = {0};
	bool is_a_consumer;
	int rc = -1;

	if (command->destroy && !sources->redis) {
		*err = sources->redis_err;
		goto done;
	}
	if (groups_read(sources, (struct group_filter){name, command->shard}, &groups, err) < 0 ||
	    is_consumer(sources, name, &is_a_consumer, err) < 0)
		goto done;
	if (command->destroy && check_forgettable(sources, name, err) < 0)
		goto done;
	if (!groups_may_drop(&groups, command->destroy)) {
		nothing_to_drop(&groups, is_a_consumer, err);
		goto done;
	}
	warn(sources, name, is_a_consumer);
	if (command->yes && groups_drop(sources, &groups, command->destroy, err) < 0)
		goto done;
	tell_drop(command, sources, name, &groups);
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
	struct sources sources = {0};
	int rc;

	if (!is_list && !is_drop)
		return err_set(
		    err, ERR_USAGE, "say list, or drop and one NAME (see umavez group --help)");
	if (sources_open(&command->sources, "group", &sources, err) < 0)
		return -1;
	rc = is_list ? list(command, &sources, err) : drop(command, &sources, words->words[1], err);
	sources_close(&sources);
	return rc;
}

int command_group(int argc, char **argv)
{
	static const struct command_body body = {
	    usage, options, sizeof(struct group_command), .run_words = run};

	return command_run(&body, argc, argv);
}
