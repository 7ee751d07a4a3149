/*
 * stream_reset.c - umavez stream reset SHARD: move a key aside that the relay cannot use.
 */
#include "cli/command.h"
#include "cli/group.h"
#include "cli/print.h"
#include "cli/sources.h"
#include "cli/stream.h"
#include "common/clock.h"
#include "common/event.h"
#include "common/memory.h"
#include "common/pg.h"
#include "common/redis.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct stream_command {
	struct sources_options sources;
	bool yes, json;
};

static const struct option options[] = {
    SOURCES_INTAKE_OPTION(
	offsetof(struct stream_command, sources) + offsetof(struct sources_options, database_url)),
    SOURCES_REDIS_OPTIONS(offsetof(struct stream_command, sources), "Redis; required"),
    {"yes", OPT_BOOL, offsetof(struct stream_command, yes), "off",
	"Do it; else only say what would be done", 0, 0, 0, NULL, NULL},
    COMMAND_JSON_OPTION(offsetof(struct stream_command, json)),
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

static const char usage[] =
    "reset SHARD [OPTION]...\n\n"
    "For a shard that the relay has paused: its key holds another type, or its last ID lies far "
    "in\n"
    "the future.  Renames the key to <namespace>:aside:{SHARD}:<now in ms>, with everything in "
    "it.\n"
    "The relay then publishes again, out of the outbox and under the same message ids, what not\n"
    "every group has acknowledged.  Consumers of umavez go on by themselves; groups of other\n"
    "programs have to be created again.  The Redis user umavez_operator may do this.";

struct reset {
	struct sources sources;
	unsigned shard;
	char key[SOURCES_KEY_SIZE], aside[256];
	char *type;
	struct stream_view view; /* of a stream */
	struct groups groups;    /* those that are in it go with it */
};

static int check_shard(const struct reset *r, struct err *err)
{
	PGresult *res = NULL;
	int rc = 0;

	if (pg_run(r->sources.intake, "SELECT shards FROM intake.setting", 0, NULL, &res, err) < 0)
		return -1;
	if (PQntuples(res) == 0 || r->shard >= pg_uint(res, 0, "shards"))
		rc = err_set(err, ERR_USAGE, "there is no shard %u", r->shard);
	PQclear(res);
	return rc;
}

static int look(struct reset *r, struct err *err)
{
	redisReply *reply = NULL;

	if (redis_command(r->sources.redis, &reply, err, "TYPE %s", r->key) < 0)
		return -1;
	r->type = mem_strdup(redis_text(reply));
	freeReplyObject(reply);
	if (!r->type)
		return err_set(err, ERR_RETRY, "Redis: TYPE: unexpected reply");
	if (strcmp(r->type, "none") == 0)
		return err_set(
		    err, ERR_FATAL, "%s does not exist: nothing is in the relay's way", r->key);
	if (strcmp(r->type, "stream") != 0)
		return 0;
	if (stream_look(r->sources.redis, r->key, &r->view, err) < 0)
		return -1;
	return groups_read(&r->sources, (struct group_filter){NULL, r->shard}, &r->groups, err);
}

static void tell_json(const struct reset *r, bool done)
{
	json_t *json = json_pack("{s:i, s:s, s:s, s:s, s:b}", "shard", (int)r->shard, "key", r->key,
	    "type", r->type, "aside", r->aside, "done", (int)done);
	char first[STREAM_ID_SIZE], last[STREAM_ID_SIZE];

	if (strcmp(r->type, "stream") == 0)
		json_object_update_new(json,
		    json_pack("{s:I, s:s, s:s, s:o}", "length", (json_int_t)r->view.length, "first",
			stream_id_format(r->view.first, first), "last",
			stream_id_format(r->view.last, last), "groups", groups_json(&r->groups)));
	print_json(stdout, json);
}

static void tell_stream(const struct reset *r)
{
	char first[STREAM_ID_SIZE], last[STREAM_ID_SIZE];
	struct printer printer;

	printer_init(&printer, stdout);
	printf("%s is a stream of %" PRId64 " %s, %s to %s\n", r->key, r->view.length,
	    print_plural(r->view.length, "entry", "entries"),
	    stream_id_format(r->view.first, first), stream_id_format(r->view.last, last));
	for (size_t i = 0; i < r->groups.n; i++) {
		const struct group *g = &r->groups.list[i];

		if (!g->in_stream)
			continue;
		print_text(
		    &printer, TINT_PLAIN, "  group %s at %s goes with it", g->name, g->delivered);
		putchar('\n');
	}
}

static void tell(const struct reset *r, bool done)
{
	if (strcmp(r->type, "stream") == 0)
		tell_stream(r);
	else
		printf("%s is a %s\n", r->key, r->type);
	if (done)
		printf("renamed to %s: the way is free, and the relay publishes again what the "
		       "stream lacks\n",
		    r->aside);
	else
		printf("would be renamed to %s: then the way would be free, and the relay would "
		       "publish again what the stream lacks\n",
		    r->aside);
}

static int move_aside(const struct reset *r, struct err *err)
{
	redisReply *reply = NULL;
	int rc = 0;

	if (redis_command(r->sources.redis, &reply, err, "RENAMENX %s %s", r->key, r->aside) < 0)
		return -1;
	if (reply->type != REDIS_REPLY_INTEGER || reply->integer != 1)
		rc = err_set(err, ERR_RETRY, "%s exists already: try again", r->aside);
	freeReplyObject(reply);
	return rc;
}

static int reset(const struct stream_command *command, unsigned shard, struct err *err)
{
	const struct sources_options *s = &command->sources;
	struct reset r = {.sources = {.name_space = s->name_space}, .shard = shard};
	int rc = -1;

	if (sources_open_schema(s->database_url, "stream", "intake", &r.sources.intake, err) < 0 ||
	    check_shard(&r, err) < 0 ||
	    sources_open_redis(s->redis_url, &r.sources.redis, err) < 0 ||
	    sources_stream(&r.sources, shard, r.key, err) < 0)
		goto done;
	snprintf(r.aside, sizeof(r.aside), "%s:aside:{%u}:%" PRId64, s->name_space, shard,
	    clock_wall_ms());
	if (look(&r, err) < 0 || (command->yes && move_aside(&r, err) < 0))
		goto done;
	if (command->json)
		tell_json(&r, command->yes);
	else
		tell(&r, command->yes);
	rc = command->yes ? 0 : command_not_done(err);
done:
	groups_done(&r.groups);
	sources_close(&r.sources);
	free(r.type);
	return rc;
}

static bool parse_shard(const char *text, unsigned *ret)
{
	char *end;
	unsigned long n = strtoul(text, &end, 10);

	*ret = (unsigned)n;
	return *text >= '0' && *text <= '9' && *end == '\0' && n < 1024;
}

static int run(void *config, const struct option_words *words, struct err *err)
{
	unsigned shard;

	if (words->n != 2 || strcmp(words->words[0], "reset") != 0 ||
	    !parse_shard(words->words[1], &shard))
		return err_set(
		    err, ERR_USAGE, "say reset and a shard's number (see umavez stream --help)");
	return reset(config, shard, err);
}

int command_stream(int argc, char **argv)
{
	static const struct command_body body = {
	    usage, options, sizeof(struct stream_command), .run_words = run};

	return command_run(&body, argc, argv);
}
