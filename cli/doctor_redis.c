#include "cli/backlog.h"
#include "cli/doctor.h"
#include "cli/group.h"
#include "cli/sources.h"
#include "cli/stream.h"
#include "common/clock.h"
#include "common/memory.h"
#include "common/redis.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VALUE_SIZE = 64 };

/* An ID further ahead pauses the relay (relay/position.h). */
#define FUTURE_MS (INT64_C(24) * 60 * 60 * 1000)

static void note_error(struct doctor *d, const struct err *err)
{
	doctor_note(d, LEVEL_FAIL, "redis",
	    "check the URL, that it is the master, and the user's rights (schema/redis.acl)", "%s",
	    err->message);
}

/* The value of a line "name:value" of INFO; "" if there is none. */
static const char *info(const char *text, const char *name, char buf[VALUE_SIZE])
{
	size_t len = strlen(name);

	buf[0] = '\0';
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, len) == 0 && line[len] == ':') {
			snprintf(buf, VALUE_SIZE, "%.*s", (int)strcspn(line + len + 1, "\r\n"),
			    line + len + 1);
			break;
		}
	}
	return buf;
}

static void check_version(struct doctor *d, const char *text)
{
	char version[VALUE_SIZE], role[VALUE_SIZE];
	long major;

	info(text, "redis_version", version);
	info(text, "role", role);
	major = strtol(version, NULL, 10);
	doctor_note(d, major < 6 ? LEVEL_FAIL : LEVEL_OK, "redis",
	    "umavez needs Redis 6 or newer (7 for exact lags)", "Redis %s, %s", version, role);
}

static void check_memory(struct doctor *d, const char *text)
{
	char policy[VALUE_SIZE], used[VALUE_SIZE], max[VALUE_SIZE];
	long long most;

	info(text, "maxmemory_policy", policy);
	most = strtoll(info(text, "maxmemory", max), NULL, 10);
	doctor_note(d, strcmp(policy, "noeviction") == 0 ? LEVEL_OK : LEVEL_FAIL, "eviction",
	    "CONFIG SET maxmemory-policy noeviction: any other may throw a stream away",
	    "maxmemory-policy %s", policy);
	if (most > 0 && strtoll(info(text, "used_memory", used), NULL, 10) > most / 10 * 9)
		doctor_note(d, LEVEL_WARN, "memory",
		    "raise maxmemory, or find out which group holds back trimming (umavez group "
		    "list)",
		    "%s of %s bytes are used: when it is full nothing is published", used, max);
}

static void check_persistence(struct doctor *d, const char *text)
{
	char aof[VALUE_SIZE], saved[VALUE_SIZE], written[VALUE_SIZE];
	bool ok;

	info(text, "aof_enabled", aof);
	doctor_note(d, strcmp(aof, "1") == 0 ? LEVEL_OK : LEVEL_WARN, "persistence",
	    "CONFIG SET appendonly yes: without it a restart empties the streams, which umavez "
	    "fills again out of the outbox",
	    "appendonly %s", strcmp(aof, "1") == 0 ? "yes" : "no");
	info(text, "rdb_last_bgsave_status", saved);
	info(text, "aof_last_write_status", written);
	ok = strcmp(saved, "ok") == 0 && strcmp(written, "ok") == 0;
	doctor_note(d, ok ? LEVEL_OK : LEVEL_FAIL, "persistence",
	    "see Redis's log (disk full?): it refuses writes until that works again",
	    "last save %s, last append %s", saved, written);
}

static void check_mode(struct doctor *d, const struct redis *redis, const char *text)
{
	char enabled[VALUE_SIZE];
	bool is_cluster = strcmp(info(text, "cluster_enabled", enabled), "1") == 0;

	if (is_cluster != redis_in_cluster(redis))
		doctor_note(d, LEVEL_FAIL, "redis",
		    "begin --redis-url (or REDIS_URL) with redis+cluster:// for a cluster, and "
		    "only then",
		    is_cluster ? "it is a node of a cluster" : "it is no node of a cluster");
}

static int check_clock(struct doctor *d, struct redis *redis, struct err *err)
{
	int64_t before = clock_wall_ms();
	redisReply *reply = NULL;

	if (redis_command(redis, &reply, err, "TIME") < 0)
		return -1;
	if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2)
		doctor_clock(d, "Redis", before,
		    strtoll(reply->element[0]->str, NULL, 10) * 1000 +
			strtoll(reply->element[1]->str, NULL, 10) / 1000,
		    clock_wall_ms());
	freeReplyObject(reply);
	return 0;
}

static int check_server(struct doctor *d, struct redis *redis, struct err *err)
{
	redisReply *reply = NULL;

	if (redis_command(redis, &reply, err, "INFO") < 0)
		return -1;
	check_version(d, reply->str);
	check_mode(d, redis, reply->str);
	check_memory(d, reply->str);
	check_persistence(d, reply->str);
	freeReplyObject(reply);
	return check_clock(d, redis, err);
}

/* The nodes of a cluster that were looked at already. */
struct nodes {
	size_t n;
	char (*names)[REDIS_NAME_SIZE];
};

static bool is_known(const struct nodes *nodes, const char *name)
{
	for (size_t i = 0; i < nodes->n; i++) {
		if (strcmp(nodes->names[i], name) == 0)
			return true;
	}
	return false;
}

/* The node that Redis has turned to, unless it is known. */
static int check_node(struct doctor *d, struct redis *redis, struct nodes *nodes, struct err *err)
{
	char name[REDIS_NAME_SIZE];

	if (is_known(nodes, redis_name(redis, name)))
		return 0;
	nodes->names = mem_realloc(nodes->names, (nodes->n + 1) * sizeof(*nodes->names));
	memcpy(nodes->names[nodes->n++], name, sizeof(name));
	doctor_turn_to(d, "Redis at %s", name);
	return check_server(d, redis, err);
}

/* Those that serve shards. */
static void check_nodes(struct doctor *d, const struct sources *s, int shards)
{
	struct nodes nodes = {0, NULL};

	for (unsigned shard = 0; shard < (unsigned)shards; shard++) {
		char key[SOURCES_KEY_SIZE];
		struct err err = ERR_INIT;

		if (sources_stream(s, shard, key, &err) < 0 ||
		    check_node(d, s->redis, &nodes, &err) < 0) {
			err_wrap(&err, "shard %u", shard);
			note_error(d, &err);
		}
	}
	free(nodes.names);
	doctor_turn_to(d, "Redis");
}

/* *ret_fine: a stream, or nothing yet. */
static int check_type(struct doctor *d, struct redis *redis, const char *key, unsigned shard,
    bool *ret_stream, bool *ret_fine, struct err *err)
{
	redisReply *reply = NULL;

	if (redis_command(redis, &reply, err, "TYPE %s", key) < 0)
		return -1;
	*ret_stream = strcmp(reply->str, "stream") == 0;
	*ret_fine = *ret_stream || strcmp(reply->str, "none") == 0;
	if (!*ret_fine)
		doctor_note(d, LEVEL_FAIL, "streams", "umavez stream reset with the shard's number",
		    "shard %u: %s is a %s: nothing is published", shard, key, reply->str);
	freeReplyObject(reply);
	return 0;
}

/* What the relay has ticked and does not append. */
static int check_unpublished(struct doctor *d, PGconn *intake, unsigned shard,
    struct stream_id last, bool *ret_fine, struct err *err)
{
	int64_t rows, oldest_ms;

	if (stream_id_compare(last, STREAM_ID_ZERO) == 0 &&
	    backlog_acknowledged(intake, shard, &last, err) < 0)
		return -1;
	if (backlog_oldest_after(intake, shard, last, &rows, &oldest_ms, err) < 0)
		return -1;
	if (doctor_relay_stuck(d, shard, rows, oldest_ms, "published"))
		*ret_fine = false;
	return 0;
}

static int check_stream(
    struct doctor *d, const struct sources *s, unsigned shard, bool *ret_fine, struct err *err)
{
	char key[SOURCES_KEY_SIZE], last[STREAM_ID_SIZE];
	struct stream_view view = {0};
	bool is_stream;

	if (sources_stream(s, shard, key, err) < 0 ||
	    check_type(d, s->redis, key, shard, &is_stream, ret_fine, err) < 0)
		return -1;
	if (is_stream && stream_look(s->redis, key, &view, err) < 0)
		return -1;
	if (view.last.ms > (uint64_t)(clock_wall_ms() + FUTURE_MS)) {
		*ret_fine = false;
		doctor_note(d, LEVEL_FAIL, "streams",
		    "umavez stream reset with the shard's number, unless the clock was ahead then",
		    "shard %u: the last ID, %s, lies far in the future", shard,
		    stream_id_format(view.last, last));
	}
	return check_unpublished(d, s->intake, shard, view.last, ret_fine, err);
}

static int check_streams(struct doctor *d, const struct sources *s, int shards, struct err *err)
{
	bool all_fine = true, fine;

	for (unsigned shard = 0; shard < (unsigned)shards; shard++) {
		if (check_stream(d, s, shard, &fine, err) < 0)
			return -1;
		all_fine = all_fine && fine;
	}
	if (all_fine && shards > 0)
		doctor_note(d, LEVEL_OK, "streams", "", "%d %s can be appended to", shards,
		    print_plural(shards, "stream", "streams"));
	return 0;
}

static int check_groups(struct doctor *d, const struct sources *s, struct err *err)
{
	struct groups groups = {0};

	if (groups_read(s, (struct group_filter){NULL, -1}, &groups, err) < 0)
		return -1;
	for (size_t i = 0; i < groups.n; i++) {
		const struct group *g = &groups.list[i];

		if (!g->registered || g->in_stream)
			continue;
		char *advice = doctor_reader_advice(d, g->name, g->shard);
		doctor_note(d, LEVEL_WARN, "groups", advice,
		    "group %s is missing in shard %u: nothing is trimmed there", g->name, g->shard);
		free(advice);
	}
	groups_done(&groups);
	return 0;
}

static int check_all(struct doctor *d, const struct sources *s, struct err *err)
{
	int shards = PQntuples(d->shards);

	if (redis_in_cluster(s->redis) && shards > 0)
		check_nodes(d, s, shards);
	else if (check_server(d, s->redis, err) < 0)
		return -1;
	if (!s->intake)
		return 0;
	if (check_streams(d, s, shards, err) < 0)
		return -1;
	return check_groups(d, s, err);
}

void doctor_redis(struct doctor *d, const char *url, const char *name_space, PGconn *intake)
{
	struct sources s = {.intake = intake, .name_space = name_space};
	struct err err = ERR_INIT;

	if (sources_open_redis(url, &s.redis, &err) < 0 || check_all(d, &s, &err) < 0)
		note_error(d, &err);
	redis_close(s.redis);
}
