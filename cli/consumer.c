/*
 * consumer.c - umavez consumer list | forget NAME.
 */
#include "cli/command.h"
#include "cli/group.h"
#include "cli/sources.h"
#include "cli_text.h"
#include "common/pg.h"

#include <inttypes.h>
#include <string.h>

struct consumer_command {
	struct sources_options sources;
	bool yes, json;
};

static const struct option options[] = {
    SOURCES_OPTIONS(offsetof(struct consumer_command, sources)),
    {"yes", OPT_BOOL, offsetof(struct consumer_command, yes), "off",
	"forget: do it; else only say what would be done", 0, 0, 0, NULL, NULL},
    COMMAND_JSON_OPTION(offsetof(struct consumer_command, json)),
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

static const char usage[] =
    "list | forget NAME  [OPTION]...\n\n"
    "`list` shows the consumers of this deployment, those that are gone too.  `forget` ends one\n"
    "for good: its groups in Redis, which hold back trimming, its cursors and its inbox.  What "
    "its\n"
    "handler has written stays.  It is refused while the consumer lives, and while messages are\n"
    "parked for it.  A consumer that is started under that name later is a new one, and applies\n"
    "what the streams still hold.  The role and the Redis user umavez_operator may do this.";

static void print_row(struct table *t, const PGresult *res, int row)
{
	int64_t instances = pg_int(res, row, "instances"), parked = pg_int(res, row, "parked");
	const char *last = pg_text(res, row, "last_at");

	table_cell(t, TINT_PLAIN, "%s", pg_text(res, row, "consumer"));
	table_cell(t, TINT_PLAIN, "%s", pg_text(res, row, "cursors"));
	table_cell(t, instances > 0 ? TINT_PLAIN : TINT_BAD, "%" PRId64, instances);
	table_cell(t, parked > 0 ? TINT_WARN : TINT_PLAIN, "%" PRId64, parked);
	table_cell(t, TINT_PLAIN, "%s", last ? last : "-");
}

static void print_list(const PGresult *res)
{
	static const char *const names[] = {
	    "CONSUMER", "SHARDS", "INSTANCES", "PARKED", "LAST APPLIED"};
	struct table *t = table_new("lrrrl");
	struct printer printer;

	printer_init(&printer, stdout);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		table_cell(t, TINT_HEAD, "%s", names[i]);
	for (int row = 0; row < PQntuples(res); row++)
		print_row(t, res, row);
	table_print(t, &printer, 0);
	table_free(t);
}

static json_t *consumer_json(const PGresult *res, int row)
{
	return json_pack("{s:o, s:I, s:I, s:I, s:o}", "consumer",
	    print_json_text(pg_text(res, row, "consumer")), "shards",
	    (json_int_t)pg_int(res, row, "cursors"), "instances",
	    (json_int_t)pg_int(res, row, "instances"), "parked",
	    (json_int_t)pg_int(res, row, "parked"), "last_applied_at",
	    print_json_text(pg_text(res, row, "last_at")));
}

static void print_list_json(const PGresult *res)
{
	json_t *list = json_array();

	for (int row = 0; row < PQntuples(res); row++)
		json_array_append_new(list, consumer_json(res, row));
	print_json(stdout, json_pack("{s:o}", "consumers", list));
}

static int list(
    const struct consumer_command *command, const struct sources *sources, struct err *err)
{
	const char *any = NULL;
	PGresult *res = NULL;

	if (pg_run(sources->effects, cli_sql_consumers_sql, 1, &any, &res, err) < 0)
		return -1;
	if (command->json)
		print_list_json(res);
	else
		print_list(res);
	PQclear(res);
	return 0;
}

/* look is the row of what is, or was, to be forgotten. */
static void tell(const struct consumer_command *command, const struct sources *sources,
    const PGresult *look, const struct groups *groups)
{
	int64_t inbox = pg_int(look, 0, "inbox"), marked = pg_int(look, 0, "parked");

	if (command->json) {
		json_t *json = consumer_json(look, 0);

		json_object_set_new(json, "inbox", json_integer(inbox));
		json_object_set_new(json, "groups", groups_json(groups));
		json_object_set_new(json, "done", json_boolean(command->yes));
		print_json(stdout, json);
		return;
	}
	groups_tell_drop(stdout, sources->name_space, groups, true, command->yes);
	printf("%s: the cursors of %" PRId64 " %s, and an inbox of %" PRId64 " %s\n",
	    command->yes ? "forgotten" : "would be forgotten", pg_int(look, 0, "cursors"),
	    print_plural(pg_int(look, 0, "cursors"), "shard", "shards"), inbox,
	    print_plural(inbox, "message", "messages"));
	if (marked > 0)
		printf("%s: %" PRId64 " parked %s, marked to be discarded\n",
		    command->yes ? "forgotten" : "would be forgotten", marked,
		    print_plural(marked, "message", "messages"));
}

/* Effects last: as long as they know the consumer, a call that failed may be repeated. */
static int forget_all(
    const struct sources *sources, const char *name, const struct groups *groups, struct err *err)
{
	if (groups_drop(sources, groups, true, err) < 0)
		return -1;
	/* Of an inbox of any size. */
	if (pg_exec(sources->effects, "SET statement_timeout = 0", err) < 0)
		return -1;
	return pg_run(sources->effects, "SELECT effects.forget_consumer($1)", 1, &name, NULL, err);
}

/* Free with PQclear(). */
static int look(
    const struct sources *sources, const char *name, PGresult **ret_look, struct err *err)
{
	PGresult *res = NULL;
	int rc = -1;

	if (pg_run(sources->effects, cli_sql_consumers_sql, 1, &name, &res, err) < 0)
		goto done;
	if (PQntuples(res) == 0) {
		err_set(err, ERR_FATAL,
		    "there is no such consumer (see umavez consumer list, umavez group list)");
		goto done;
	}
	if (pg_text(res, 0, "obstacle")) {
		err_set(err, ERR_FATAL, "%s", pg_text(res, 0, "obstacle"));
		goto done;
	}
	*ret_look = res;
	res = NULL;
	rc = 0;
done:
	PQclear(res);
	return rc;
}

static int forget(const struct consumer_command *command, const struct sources *sources,
    const char *name, struct err *err)
{
	struct groups groups = {0};
	PGresult *found = NULL;
	int rc = -1;

	if (!sources->redis) {
		*err = sources->redis_err;
		goto done;
	}
	if (look(sources, name, &found, err) < 0 ||
	    groups_read(sources, (struct group_filter){name, -1}, &groups, err) < 0)
		goto done;
	if (command->yes && forget_all(sources, name, &groups, err) < 0)
		goto done;
	tell(command, sources, found, &groups);
	rc = command->yes ? 0 : command_not_done(err);
done:
	groups_done(&groups);
	PQclear(found);
	return rc;
}

static int run(void *config, const struct option_words *words, struct err *err)
{
	const struct consumer_command *command = config;
	bool is_list = words->n == 1 && strcmp(words->words[0], "list") == 0;
	bool is_forget = words->n == 2 && strcmp(words->words[0], "forget") == 0;
	struct sources sources = {0};
	int rc = -1;

	if (!is_list && !is_forget)
		return err_set(err, ERR_USAGE,
		    "say list, or forget and one NAME (see umavez consumer --help)");
	if (sources_open(&command->sources, "consumer", &sources, err) < 0)
		return -1;
	rc = is_list ? list(command, &sources, err)
		     : forget(command, &sources, words->words[1], err);
	sources_close(&sources);
	return rc;
}

int command_consumer(int argc, char **argv)
{
	static const struct command_body body = {
	    usage, options, sizeof(struct consumer_command), .run_words = run};

	return command_run(&body, argc, argv);
}
