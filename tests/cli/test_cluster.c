/*
 * umavez beside a Redis Cluster: each command finds every shard, whichever node has it, and does
 * without those whose node is away.
 */
#include "tests/cli/story.h"
#include "tests/support/check.h"
#include "tests/support/cluster.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARDS 4
#define STREAM "umavez:purchases:{%u}"

static struct world *world;
static struct cluster *cluster;

#define SAYS(status, out, err, ...) STORY_SAYS(world, status, out, err, __VA_ARGS__)

static int node_of(unsigned shard)
{
	char key[64];

	snprintf(key, sizeof(key), STREAM, shard);
	return cluster_owner(cluster, key);
}

/* A tick with one row in each shard, published, and a group that has not read it. */
static void tell_story(void)
{
	for (unsigned shard = 0; shard < SHARDS; shard++) {
		char *id = text_format("m%u", shard);
		int64_t row, tick;

		world_sql(world,
		    "CREATE OR REPLACE FUNCTION intake.shard_of_subject(subject text, shards "
		    "integer) RETURNS smallint LANGUAGE sql IMMUTABLE AS 'SELECT %u::smallint'",
		    shard);
		row = story_receive(world, "stripe", id, id);
		tick = story_tick(world, (int)shard);
		story_publish(world, (int)shard, tick, row);
		world_redis_run(world, "XGROUP CREATE " STREAM " mailer 0", shard);
		free(id);
	}
}

static void check_length(const json_t *json, unsigned shard, const char *want)
{
	char *path = text_format("shards/%u/stream_length", shard);

	CHECK_STR(story_get(json, path), want);
	free(path);
}

static void check_reading(void)
{
	const char *const status[] = {"status", "--json", NULL};
	const char *const groups[] = {"group", "list", "--json", NULL};
	json_t *json = story_umavez(world, status);

	for (unsigned shard = 0; shard < SHARDS; shard++)
		check_length(json, shard, "1");
	json_decref(json);
	json = story_umavez(world, groups);
	CHECK_STR(story_get(json, "groups/3/shard"), "3");
	CHECK_STR(story_get(json, "groups/3/in_stream"), "true");
	CHECK_STR(story_get(json, "groups/4"), "(missing)");
	json_decref(json);
	SAYS(0, "published", "", "trace", "m3");
}

/* Of each node that has a shard, once. */
static void check_doctor(void)
{
	const char *const args[] = {"doctor", NULL};
	char *plain = text_format("redis://127.0.0.1:%d", cluster_port(cluster, node_of(0)));
	char *out = NULL;

	world_run(world, &out, "umavez", args);
	CHECK_INT(text_count(out, "Redis at 127.0.0.1:"), 3);
	CHECK_INT(text_count(out, "maxmemory-policy noeviction"), 3);
	for (unsigned shard = 0; shard < SHARDS; shard++) {
		char *name =
		    text_format("Redis at 127.0.0.1:%d\n", cluster_port(cluster, node_of(shard)));

		CHECK_INT(text_count(out, name), 1);
		free(name);
	}
	CHECK(strstr(out, "4 streams can be appended to") != NULL);
	CHECK(strstr(out, "a node of a cluster") == NULL);
	SAYS(1, "it is a node of a cluster", "", "doctor", "--redis-url", plain);
	free(plain);
	free(out);
}

static void check_writing(void)
{
	SAYS(0, "destroyed in umavez:purchases:{3}, at 0-0", "", "group", "drop", "mailer",
	    "--destroy", "--yes");
	for (unsigned shard = 0; shard < SHARDS; shard++) {
		redisReply *groups = world_redis_reply(world, "XINFO GROUPS " STREAM, shard);

		CHECK_INT(groups->elements, 0);
		freeReplyObject(groups);
		char *number = text_format("%u", shard);
		SAYS(0, ": the way is free, and the relay publishes again", "", "stream", "reset",
		    number, "--yes");
		free(number);
		CHECK_INT(world_redis_int(world, "EXISTS " STREAM, shard), 0);
	}
}

static void check_away(void)
{
	const char *const status[] = {"status", "--json", NULL};
	int away = node_of(3);
	json_t *json;

	cluster_stop(cluster, cluster_replica(cluster, away));
	cluster_stop(cluster, away);
	for (unsigned shard = 0; shard < SHARDS; shard++)
		if (shard != 3)
			world_redis_run(world, "XADD " STREAM " 1-1 not ours", shard);
	json = story_umavez(world, status);
	for (unsigned shard = 0; shard < SHARDS; shard++)
		check_length(json, shard, shard == 3 ? "null" : "1");
	json_decref(json);
	SAYS(0, "", "umavez:purchases:{3}: node 127.0.0.1:", "status");
	SAYS(1, "", "Connection refused", "group", "drop", "mailer", "--destroy", "--yes");
	SAYS(1, "fail", "", "doctor");
}

static const struct check checks[] = {
    {"status, group list and trace", check_reading},
    {"doctor looks at each node", check_doctor},
    {"group drop and stream reset", check_writing},
    {"a node is away", check_away},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(SHARDS);
	cluster = world_redis_add_cluster(world);
	tell_story();
	status = check_main("cli cluster", checks, argc, argv);
	world_close(world);
	return status;
}
