#include "tests/support/cluster.h"

#include "common/redis_redirect.h"
#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/redis_server.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { MASTERS = CLUSTER_NODES / 2, SLOTS = 16384 };

#define SETTLE_MS 60000

struct cluster {
	struct redis_server *nodes[CLUSTER_NODES];
	char *logs[CLUSTER_NODES];
	bool runs[CLUSTER_NODES];
};

static void print_logs(const struct cluster *c)
{
	for (int i = 0; i < CLUSTER_NODES; i++)
		file_print_tail(c->logs[i], 2000);
}

static void settle(struct cluster *c, bool (*condition)(void *), void *ctx, const char *what)
{
	if (await(condition, ctx, SETTLE_MS))
		return;
	print_logs(c);
	die("the cluster does not come to rest: %s", what);
}

redisContext *cluster_connect(const struct cluster *c, int node)
{
	return redis_server_connect(c->nodes[node]);
}

static int first_running(const struct cluster *c)
{
	int node = 0;

	while (node < CLUSTER_NODES && !c->runs[node])
		node++;
	if (node == CLUSTER_NODES)
		die("no node of the cluster runs");
	return node;
}

redisContext *cluster_connect_any(const struct cluster *c)
{
	return cluster_connect(c, first_running(c));
}

/* The reply may be an error. */
static redisReply *ask(const struct cluster *c, int node, const char *fmt, va_list args)
{
	redisContext *redis = cluster_connect(c, node);
	redisReply *reply = redisvCommand(redis, fmt, args);

	if (reply == NULL)
		die("node %d: %s: %s", node, fmt, redis->errstr);
	redisFree(redis);
	return reply;
}

static redisReply *expect(redisReply *reply, int node, const char *fmt)
{
	if (reply->type == REDIS_REPLY_ERROR)
		die("node %d: %s: %s", node, fmt, reply->str);
	return reply;
}

redisReply *cluster_ask(const struct cluster *c, int node, const char *fmt, ...)
{
	redisReply *reply;
	va_list args;

	va_start(args, fmt);
	reply = ask(c, node, fmt, args);
	va_end(args);
	return expect(reply, node, fmt);
}

void cluster_run(const struct cluster *c, int node, const char *fmt, ...)
{
	redisReply *reply;
	va_list args;

	va_start(args, fmt);
	reply = ask(c, node, fmt, args);
	va_end(args);
	freeReplyObject(expect(reply, node, fmt));
}

int cluster_port(const struct cluster *c, int node)
{
	return redis_server_port(c->nodes[node]);
}

pid_t cluster_pid(const struct cluster *c, int node)
{
	return redis_server_pid(c->nodes[node]);
}

int cluster_node_at(const struct cluster *c, int port)
{
	for (int i = 0; i < CLUSTER_NODES; i++)
		if (cluster_port(c, i) == port)
			return i;
	die("no node of the cluster has port %d", port);
}

int cluster_slot(const struct cluster *c, const char *key)
{
	redisReply *reply = cluster_ask(c, first_running(c), "CLUSTER KEYSLOT %s", key);
	int slot = (int)reply->integer;

	freeReplyObject(reply);
	return slot;
}

static redisReply *probe(const struct cluster *c, int node, const char *fmt, ...)
{
	redisReply *reply;
	va_list args;

	va_start(args, fmt);
	reply = ask(c, node, fmt, args);
	va_end(args);
	return reply;
}

/* By the word of this node; -1: it knows none. */
static int owner_seen_by(const struct cluster *c, int node, const char *key)
{
	redisReply *reply = probe(c, node, "EXISTS %s", key);
	struct redis_redirect to;
	int owner = node;

	if (reply->type == REDIS_REPLY_ERROR) {
		if (!redis_redirect_parse(reply->str, reply->len, &to))
			owner = -1;
		else if (to.kind == REDIRECT_MOVED)
			owner = cluster_node_at(c, to.port);
	}
	freeReplyObject(reply);
	return owner;
}

int cluster_owner(const struct cluster *c, const char *key)
{
	int owner = owner_seen_by(c, first_running(c), key);

	if (owner < 0)
		die("nobody owns %s", key);
	return owner;
}

struct ownership {
	const struct cluster *c;
	const char *key;
	int owner;
};

static bool is_agreed(void *ctx)
{
	const struct ownership *o = ctx;

	for (int i = 0; i < CLUSTER_NODES; i++)
		if (o->c->runs[i] && owner_seen_by(o->c, i, o->key) != o->owner)
			return false;
	return true;
}

void cluster_await_owner(struct cluster *c, const char *key, int owner)
{
	struct ownership o = {c, key, owner};

	settle(c, is_agreed, &o, "all agree on a slot's owner");
}

/* They stay in pairs: replicas do not migrate. */
int cluster_replica(const struct cluster *c, int master)
{
	(void)c;
	return (master + MASTERS) % CLUSTER_NODES;
}

/* Whether the text of this command has a line. */
static bool tells(const struct cluster *c, int node, const char *command, const char *line)
{
	redisReply *reply = cluster_ask(c, node, command);
	bool found = strstr(reply->str, line) != NULL;

	freeReplyObject(reply);
	return found;
}

static bool knows_all(void *ctx)
{
	const struct cluster *c = ctx;

	for (int i = 0; i < CLUSTER_NODES; i++)
		if (!tells(c, i, "CLUSTER INFO", "cluster_known_nodes:6\r\n") ||
		    tells(c, i, "CLUSTER NODES", "handshake"))
			return false;
	return true;
}

static bool sees_pairs(const struct cluster *c, int node)
{
	redisReply *reply = cluster_ask(c, node, "CLUSTER NODES");
	bool good = text_count(reply->str, "master ") == MASTERS &&
		    text_count(reply->str, "slave ") == MASTERS && !strstr(reply->str, "fail");

	freeReplyObject(reply);
	return good;
}

static bool at_rest(void *ctx)
{
	const struct cluster *c = ctx;

	for (int i = 0; i < CLUSTER_NODES; i++)
		if (!sees_pairs(c, i) || !tells(c, i, "CLUSTER INFO", "cluster_state:ok\r\n") ||
		    (tells(c, i, "INFO replication", "role:slave\r\n") &&
			!tells(c, i, "INFO replication", "master_link_status:up\r\n")))
			return false;
	return true;
}

void cluster_await(struct cluster *c)
{
	settle(c, at_rest, c, "every slot is served, every replica follows");
}

static void start_nodes(struct cluster *c, const char *dir)
{
	for (int i = 0; i < CLUSTER_NODES; i++) {
		char *node = text_format("%s/%d", dir, i);

		c->logs[i] = text_format("%s/%d.log", dir, i);
		c->nodes[i] = redis_server_new_node(node, c->logs[i]);
		cluster_start(c, i);
		free(node);
	}
}

static void introduce(struct cluster *c)
{
	for (int i = 0; i < MASTERS; i++)
		cluster_run(c, i, "CLUSTER ADDSLOTSRANGE %d %d", i * SLOTS / MASTERS,
		    (i + 1) * SLOTS / MASTERS - 1);
	for (int i = 0; i < CLUSTER_NODES; i++) {
		cluster_run(c, i, "CLUSTER SET-CONFIG-EPOCH %d", i + 1);
		if (i > 0)
			cluster_run(c, 0, "CLUSTER MEET 127.0.0.1 %d %d", cluster_port(c, i),
			    redis_server_bus_port(c->nodes[i]));
	}
	settle(c, knows_all, c, "each knows all");
	for (int i = 0; i < MASTERS; i++) {
		redisReply *id = cluster_ask(c, i, "CLUSTER MYID");

		cluster_run(c, cluster_replica(c, i), "CLUSTER REPLICATE %s", id->str);
		freeReplyObject(id);
	}
	cluster_await(c);
}

struct cluster *cluster_new(const char *dir)
{
	struct cluster *c = calloc(1, sizeof(*c));

	if (c == NULL)
		die("out of memory");
	if (mkdir(dir, 0700) < 0)
		die("cannot make %s: %s", dir, strerror(errno));
	start_nodes(c, dir);
	introduce(c);
	return c;
}

void cluster_free(struct cluster *c)
{
	if (c == NULL)
		return;
	for (int i = 0; i < CLUSTER_NODES; i++) {
		redis_server_free(c->nodes[i]);
		free(c->logs[i]);
	}
	free(c);
}

char *cluster_url(const struct cluster *c, const char *user)
{
	char *login = user == NULL ? text_format("%s", "") : text_format("%s:%s@", user, user);
	char *url = text_format("redis+cluster://%s127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d", login,
	    cluster_port(c, 0), cluster_port(c, 1), cluster_port(c, 2));

	free(login);
	return url;
}

void cluster_lag(struct cluster *c, int master)
{
	redis_server_lag(c->nodes[cluster_replica(c, master)], c->nodes[master]);
}

void cluster_stop(struct cluster *c, int node)
{
	redis_server_stop(c->nodes[node], false);
	c->runs[node] = false;
}

void cluster_start(struct cluster *c, int node)
{
	redis_server_start(c->nodes[node], false);
	c->runs[node] = true;
}

struct succession {
	const struct cluster *cluster;
	int heir;
};

static bool is_master(void *ctx)
{
	const struct succession *s = ctx;

	return tells(s->cluster, s->heir, "INFO replication", "role:master\r\n");
}

void cluster_fail_over(struct cluster *c, int master)
{
	struct succession s = {c, cluster_replica(c, master)};

	cluster_stop(c, master);
	redis_server_go_on(c->nodes[s.heir]);
	settle(c, is_master, &s, "the replica takes over");
	cluster_start(c, master);
	cluster_await(c);
}
