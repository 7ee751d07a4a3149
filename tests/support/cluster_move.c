/* A slot of a cluster on its way: https://redis.io/commands/cluster-setslot/ */
#include "tests/support/cluster.h"
#include "tests/support/die.h"
#include "tests/support/redis_server.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>

#define PAGE 100

static void set_slot(const struct cluster *c, int at, const char *key, const char *what, int node)
{
	redisReply *id = cluster_ask(c, node, "CLUSTER MYID");

	cluster_run(c, at, "CLUSTER SETSLOT %d %s %s", cluster_slot(c, key), what, id->str);
	freeReplyObject(id);
}

void cluster_move_begin(struct cluster *c, const char *key, int to)
{
	int from = cluster_owner(c, key);

	set_slot(c, to, key, "IMPORTING", from);
	set_slot(c, from, key, "MIGRATING", to);
}

static void migrate(const struct cluster *c, int from, int to, const redisReply *keys)
{
	char *port = text_format("%d", cluster_port(c, to));
	const char *argv[7 + PAGE] = {"MIGRATE", "127.0.0.1", port, "", "0", "10000", "KEYS"};
	redisContext *redis = cluster_connect(c, from);
	redisReply *reply;
	int n = 7;

	for (size_t i = 0; i < keys->elements; i++)
		argv[n++] = keys->element[i]->str;
	reply = redisCommandArgv(redis, n, argv, NULL);
	if (reply == NULL || reply->type == REDIS_REPLY_ERROR)
		die("MIGRATE: %s", reply ? reply->str : redis->errstr);
	freeReplyObject(reply);
	redisFree(redis);
	free(port);
}

void cluster_move_keys(struct cluster *c, const char *key, int to)
{
	int from = cluster_owner(c, key), slot = cluster_slot(c, key);
	bool more;

	do {
		redisReply *keys = cluster_ask(c, from, "CLUSTER GETKEYSINSLOT %d %d", slot, PAGE);

		more = keys->elements > 0;
		if (more)
			migrate(c, from, to, keys);
		freeReplyObject(keys);
	} while (more);
}

/* The new owner first: as long as only the old one knew, each would send clients to the other. */
void cluster_move_end(struct cluster *c, const char *key, int to)
{
	set_slot(c, to, key, "NODE", to);
	for (int i = 0; i < CLUSTER_NODES; i++) {
		redisReply *role = cluster_ask(c, i, "ROLE");

		if (i != to && strcmp(role->element[0]->str, "master") == 0)
			set_slot(c, i, key, "NODE", to);
		freeReplyObject(role);
	}
	cluster_await_owner(c, key, to);
}
