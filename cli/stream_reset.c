/*
 * stream_reset.c - umavez stream reset SHARD: move a key aside that the relay cannot use.
 */
#include "cli/command.h"
#include "cli/print.h"
#include "cli/sources.h"
#include "cli/stream.h"
#include "cli_text.h"
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
	bool yes;
};

static const struct option options[] = {
    SOURCES_INTAKE_OPTION(
	offsetof(struct stream_command, sources) + offsetof(struct sources_options, database_url)),
    SOURCES_REDIS_OPTIONS(offsetof(struct stream_command, sources), "Redis; required"),
    {"yes", OPT_BOOL, offsetof(struct stream_command, yes), "off",
	"Do it; else only say what would be done", 0, 0, 0, NULL, NULL},
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
	struct redis *redis;
	char key[256], aside[256];
	char *type;
};

static int look(struct reset *r, struct err *err)
{
	redisReply *reply = NULL;

	if (redis_command(r->redis, &reply, err, "TYPE %s", r->key) < 0)
		return -1;
	r->type = mem_strdup(reply->str);
	freeReplyObject(reply);
	if (strcmp(r->type, "none") == 0)
		return err_set(
		    err, ERR_FATAL, "%s does not exist: nothing is in the relay's way", r->key);
	return 0;
}

static int say_groups(struct reset *r, struct err *err)
{
	redisReply *reply = NULL;

	if (redis_command(r->redis, &reply, err, "XINFO GROUPS %s", r->key) < 0)
		return -1;
	for (size_t i = 0; i < reply->elements; i++) {
		const redisReply *name = redis_field(reply->element[i], "name");
		const redisReply *at = redis_field(reply->element[i], "last-delivered-id");
		char *escaped = print_escape(name && name->str ? name->str : "?");

		printf("  group %s at %s goes with it\n", escaped, at && at->str ? at->str : "?");
		free(escaped);
	}
	freeReplyObject(reply);
	return 0;
}

static int say(struct reset *r, struct err *err)
{
	struct stream_view view;
	char first[STREAM_ID_SIZE], last[STREAM_ID_SIZE];

	if (strcmp(r->type, "stream") != 0) {
		printf("%s is a %s\n", r->key, r->type);
	} else {
		if (stream_look(r->redis, r->key, &view, err) < 0)
			return -1;
		printf("%s is a stream of %" PRId64 " %s, %s to %s\n", r->key, view.length,
		    print_plural(view.length, "entry", "entries"),
		    stream_id_format(view.first, first), stream_id_format(view.last, last));
		if (say_groups(r, err) < 0)
			return -1;
	}
	printf("renamed to %s, it leaves the way free: the relay publishes again what the stream "
	       "lacks\n",
	    r->aside);
	return 0;
}

static int move_aside(struct reset *r, struct err *err)
{
	redisReply *reply = NULL;
	int rc = 0;

	if (redis_command(r->redis, &reply, err, "RENAMENX %s %s", r->key, r->aside) < 0)
		return -1;
	if (reply->type != REDIS_REPLY_INTEGER || reply->integer != 1)
		rc = err_set(err, ERR_RETRY, "%s exists already: try again", r->aside);
	freeReplyObject(reply);
	return rc;
}

static int check_shard(const char *url, int64_t shard, struct err *err)
{
	PGconn *intake = NULL;
	PGresult *res = NULL;
	int rc = -1;

	if (sources_open_schema(url, "stream", "intake", &intake, err) < 0 ||
	    pg_run(intake, "SELECT shards FROM intake.setting", 0, NULL, &res, err) < 0)
		goto done;
	if (PQntuples(res) == 0 || shard >= pg_int(res, 0, "shards")) {
		err_set(err, ERR_USAGE, "there is no shard %" PRId64, shard);
		goto done;
	}
	rc = 0;
done:
	PQclear(res);
	PQfinish(intake);
	return rc;
}

static int reset(const struct stream_command *command, int64_t shard, struct err *err)
{
	const struct sources_options *s = &command->sources;
	struct reset r = {0};
	int rc = -1;

	if (check_shard(s->database_url, shard, err) < 0 ||
	    sources_open_redis(s->redis_url, &r.redis, err) < 0)
		goto done;
	event_key(r.key, sizeof(r.key), s->name_space, "purchases", (unsigned)shard);
	snprintf(r.aside, sizeof(r.aside), "%s:aside:{%" PRId64 "}:%" PRId64, s->name_space, shard,
	    clock_wall_ms());
	if (look(&r, err) < 0 || say(&r, err) < 0)
		goto done;
	if (!command->yes) {
		err_set(err, ERR_USAGE, "nothing was done: give --yes to do it");
		goto done;
	}
	if (move_aside(&r, err) < 0)
		goto done;
	printf("done\n");
	rc = 0;
done:
	redis_close(r.redis);
	free(r.type);
	return rc;
}

static bool parse_shard(const char *text, int64_t *ret)
{
	char *end;

	*ret = strtol(text, &end, 10);
	return *text >= '0' && *text <= '9' && *end == '\0' && *ret < 1024;
}

int command_stream(int argc, char **argv)
{
	struct stream_command command = {0};
	struct option_words words;
	struct err err = ERR_INIT;
	int64_t shard;
	int status;

	if (!command_start(usage, options, &command, argc, argv, &words, &status))
		return status;
	if (words.n != 2 || strcmp(words.words[0], "reset") != 0 ||
	    !parse_shard(words.words[1], &shard))
		err_set(&err, ERR_USAGE, "say reset and a shard's number (see --help)");
	else
		(void)reset(&command, shard, &err);
	status = err.kind == ERR_NONE ? EXIT_SUCCESS : command_fail("stream", &err);
	option_done(options, &command);
	return status;
}
