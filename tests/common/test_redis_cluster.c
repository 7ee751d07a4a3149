/* Commands with keys at a real cluster, whose slots move. */
#include "common/event.h"
#include "tests/common/client.h"
#include "tests/support/check.h"
#include "tests/support/cluster.h"
#include "tests/support/text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 10000

static struct world *world;
static struct cluster *cluster;

static char *text_of(struct redis *r, const char *command)
{
	struct err err = ERR_INIT;
	redisReply *reply = NULL;
	char *text;

	if (redis_command(r, &reply, &err, command) < 0)
		CU_FAIL_FATAL(err.message);
	text = text_format("%s", redis_text(reply) ? redis_text(reply) : "(nil)");
	freeReplyObject(reply);
	return text;
}

static void check_text_of(struct redis *r, const char *command, const char *expected)
{
	char *text = text_of(r, command);

	CHECK_STR(text, expected);
	free(text);
}

static void turn_to(struct redis *r, const char *key)
{
	struct err err = ERR_INIT;

	if (redis_turn_to(r, key, &err) < 0)
		CU_FAIL_FATAL(err.message);
	CHECK(!redis_broken(r));
}

static void check_at(struct redis *r, int node)
{
	char name[REDIS_NAME_SIZE],
	    *expected = text_format("127.0.0.1:%d", cluster_port(cluster, node));

	CHECK_STR(redis_name(r, name), expected);
	free(expected);
}

static void check_fails(struct redis *r, const char *command, const char *why)
{
	struct err err = ERR_INIT;

	CHECK_INT(redis_command(r, NULL, &err, command), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	if (!strstr(err.message, why))
		CHECK_STR(err.message, why);
}

/* "127.0.0.1:port" of the nodes as a URL of the default user. */
static char *url_of(int first_port, int second_port)
{
	return text_format("redis+cluster://127.0.0.1:%d,127.0.0.1:%d", first_port, second_port);
}

/* Another master than the one that has the key. */
static int elsewhere(const char *key)
{
	return cluster_owner(cluster, strcmp(key, "{3}") == 0 ? "{0}" : "{3}");
}

static void move(const char *key, int to)
{
	cluster_move_begin(cluster, key, to);
	cluster_move_keys(cluster, key, to);
	cluster_move_end(cluster, key, to);
}

static void leads_to_owner(void)
{
	static const char *const keys[] = {"{0}", "{1}", "{2}", "{3}"};
	bool used[CLUSTER_NODES] = {false};
	struct redis *r = client_open(world);
	int n = 0;

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		int owner = cluster_owner(cluster, keys[i]);

		turn_to(r, keys[i]);
		check_at(r, owner);
		n += !used[owner];
		used[owner] = true;
	}
	redis_close(r);
	CHECK_INT(n, 3);
}

/* They name the owner's port, as nodes that serve other slots do; nobody listens on port 1. */
static void nodes_of_all_kinds(void)
{
	for (int node = 0; node < CLUSTER_NODES; node++) {
		char *url = url_of(1, cluster_port(cluster, node));
		struct redis *r = client_open_at(url, TIMEOUT_MS);

		turn_to(r, "{2}");
		check_at(r, cluster_owner(cluster, "{2}"));
		redis_close(r);
		free(url);
	}
}

static void nobody_answers(void)
{
	char *url = url_of(1, 1);
	struct err err = ERR_INIT;
	struct redis *r;

	CHECK_INT(redis_open(url, TIMEOUT_MS, &r, &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK_STR(err.message, "node 127.0.0.1:1: Redis: connect: Connection refused; "
			       "node 127.0.0.1:1: Redis: connect: Connection refused");
	free(url);
}

static void silent_node(void)
{
	char *url = url_of(cluster_port(cluster, 0), cluster_port(cluster, 1));
	pid_t pid = cluster_pid(cluster, 0);
	int owner = cluster_owner(cluster, "{2}");
	struct err err = ERR_INIT;
	struct redis *r = NULL;
	int rc;

	CHECK(owner != 0);
	kill(pid, SIGSTOP);
	rc = redis_open(url, 1000, &r, &err);
	if (rc == 0)
		rc = redis_turn_to(r, "{2}", &err);
	kill(pid, SIGCONT);
	CHECK_STR(err.message, "");
	CHECK_INT(rc, 0);
	check_at(r, owner);
	redis_close(r);
	free(url);
}

/* Of everything that belongs to a shard, whose scripts and transactions have several keys. */
static void shard_is_one_slot(void)
{
	static const char *const whats[] = {"replay", "aside", "floor"};

	for (unsigned shard = 0; shard < 300; shard += 99) {
		char stream[128], key[128];
		int slot;

		event_key(stream, sizeof(stream), "umavez", "purchases", shard);
		slot = cluster_slot(cluster, stream);
		for (size_t i = 0; i < sizeof(whats) / sizeof(whats[0]); i++) {
			event_key(key, sizeof(key), "umavez", whats[i], shard);
			CHECK_INT(cluster_slot(cluster, key), slot);
		}
		snprintf(key, sizeof(key), "umavez:aside:{%u}:1767225600000", shard);
		CHECK_INT(cluster_slot(cluster, key), slot);
	}
}

static void logs_in_at_each(void)
{
	int here = cluster_owner(cluster, "{3}"), there = cluster_owner(cluster, "{0}");
	char *url = text_format("redis+cluster://only:p@127.0.0.1:%d", cluster_port(cluster, here));
	struct err err = ERR_INIT;
	struct redis *r;

	cluster_run(cluster, here, "ACL SETUSER only on >p ~* +@all");
	r = client_open_at(url, TIMEOUT_MS);
	turn_to(r, "{3}");
	check_text_of(r, "ACL WHOAMI", "only");
	CHECK_INT(redis_turn_to(r, "{0}", &err), -1);
	CHECK(redis_broken(r));
	CHECK(strstr(err.message, "WRONGPASS") != NULL);
	cluster_run(cluster, there, "ACL SETUSER only on >p ~* +@all");
	turn_to(r, "{0}");
	check_text_of(r, "ACL WHOAMI", "only");
	redis_close(r);
	cluster_run(cluster, here, "ACL DELUSER only");
	cluster_run(cluster, there, "ACL DELUSER only");
	free(url);
}

static void moved(void)
{
	int from = cluster_owner(cluster, "{1}"), to = elsewhere("{1}");
	struct redis *r = client_open(world);

	turn_to(r, "{1}");
	client_command(r, "SET {1} here");
	move("{1}", to);
	check_fails(r, "GET {1}", "Redis: GET: MOVED ");
	CHECK(redis_broken(r));
	turn_to(r, "{1}");
	check_at(r, to);
	check_text_of(r, "GET {1}", "here");
	move("{1}", from);
	redis_close(r);
}

/* Keys that are there already or nowhere are asked for at the other node, the rest at this one. */
static void asked_elsewhere(void)
{
	int from = cluster_owner(cluster, "{1}"), to = elsewhere("{1}");
	struct redis *r = client_open(world);

	turn_to(r, "{1}");
	client_command(r, "SET {1}:old 1");
	cluster_move_begin(cluster, "{1}", to);
	check_text_of(r, "GET {1}:old", "1");
	check_text_of(r, "GET {1}:new", "(nil)");
	client_command(r, "SET {1}:new 2");
	check_text_of(r, "GET {1}:new", "2");
	turn_to(r, "{1}:new");
	check_at(r, from);
	cluster_move_keys(cluster, "{1}", to);
	check_text_of(r, "GET {1}:old", "1");
	check_text_of(r, "GET {1}:new", "2");
	cluster_move_end(cluster, "{1}", to);
	check_fails(r, "GET {1}:old", "MOVED");
	turn_to(r, "{1}");
	check_text_of(r, "GET {1}:new", "2");
	move("{1}", from);
	redis_close(r);
}

static int64_t eval(struct redis *r, const struct redis_script *s, const char *key)
{
	const char *argv[] = {key, "7"};
	struct err err = ERR_INIT;
	redisReply *reply = NULL;
	int64_t n;

	if (redis_eval(r, s, 1, 2, argv, NULL, &reply, &err) < 0)
		CU_FAIL_FATAL(err.message);
	n = reply->integer;
	freeReplyObject(reply);
	return n;
}

/* The other node does not know it either. */
static void script_elsewhere(void)
{
	int from = cluster_owner(cluster, "{1}"), to = elsewhere("{1}");
	struct redis *r = client_open(world);
	struct redis_script s;

	redis_script_init(&s, "return redis.call('INCRBY', KEYS[1], ARGV[1])");
	turn_to(r, "{1}:n");
	cluster_move_begin(cluster, "{1}", to);
	cluster_run(cluster, from, "SCRIPT FLUSH");
	cluster_run(cluster, to, "SCRIPT FLUSH");
	CHECK_INT(eval(r, &s, "{1}:n"), 7);
	CHECK_INT(eval(r, &s, "{1}:n"), 14);
	cluster_move_keys(cluster, "{1}", to);
	cluster_move_end(cluster, "{1}", to);
	turn_to(r, "{1}:n");
	check_text_of(r, "GET {1}:n", "14");
	move("{1}", from);
	redis_close(r);
}

/* While its keys are at two nodes. */
static void no_half_transaction(void)
{
	int from = cluster_owner(cluster, "{1}"), to = elsewhere("{1}");
	struct redis *r = client_open(world);
	struct err err = ERR_INIT;

	turn_to(r, "{1}");
	client_command(r, "SET {1}:here 1");
	cluster_move_begin(cluster, "{1}", to);
	CHECK_INT(redis_multi(r, &err), 0);
	client_command(r, "SET {1}:here 2");
	check_fails(r, "SET {1}:there 2", "ASK");
	CHECK(redis_broken(r));
	turn_to(r, "{1}");
	CHECK_INT(redis_multi(r, &err), 0);
	client_command(r, "SET {1}:here 3");
	CHECK_INT(redis_exec(r, &err), 0);
	check_text_of(r, "GET {1}:here", "3");
	check_text_of(r, "GET {1}:there", "(nil)");
	check_fails(r, "DEL {1}:here {1}:there", "TRYAGAIN");
	CHECK(!redis_broken(r));
	cluster_move_keys(cluster, "{1}", to);
	cluster_move_end(cluster, "{1}", to);
	move("{1}", from);
	redis_close(r);
}

/* Each of two nodes is told that the other one has the slot. */
static void loops_end(void)
{
	int here = cluster_owner(cluster, "{empty}"), there = elsewhere("{empty}");
	int slot = cluster_slot(cluster, "{empty}");
	redisReply *id = cluster_ask(cluster, there, "CLUSTER MYID");
	struct redis *r = client_open(world);
	struct err err = ERR_INIT;

	client_command(r, "PING");
	cluster_run(cluster, here, "CLUSTER SETSLOT %d NODE %s", slot, id->str);
	CHECK_INT(redis_turn_to(r, "{empty}", &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK(strstr(err.message, "Redis: EXISTS: each node names another one") != NULL);
	freeReplyObject(id);
	id = cluster_ask(cluster, here, "CLUSTER MYID");
	cluster_run(cluster, here, "CLUSTER SETSLOT %d NODE %s", slot, id->str);
	freeReplyObject(id);
	turn_to(r, "{empty}");
	redis_close(r);
}

static void slot_of_nobody(void)
{
	int owner = cluster_owner(cluster, "{empty}"), slot = cluster_slot(cluster, "{empty}");
	struct redis *r = client_open(world), *other = client_open(world);
	struct err err = ERR_INIT;

	turn_to(r, "{empty}");
	cluster_run(cluster, owner, "CLUSTER DELSLOTS %d", slot);
	check_fails(r, "GET {empty}", "CLUSTERDOWN");
	CHECK(redis_broken(r));
	CHECK_INT(redis_turn_to(r, "{empty}", &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	turn_to(other, "{3}"); /* which is not concerned */
	cluster_run(cluster, owner, "CLUSTER ADDSLOTS %d", slot);
	turn_to(r, "{empty}");
	redis_close(other);
	redis_close(r);
}

/* A URL of one server leads to a node, or one of a cluster to a server that is none. */
static void wrong_scheme(void)
{
	int owner = cluster_owner(cluster, "{1}");
	char *url = text_format("redis://127.0.0.1:%d", cluster_port(cluster, owner));
	struct redis *r = client_open_at(url, TIMEOUT_MS);

	turn_to(r, "{3}");
	check_at(r, owner);
	check_fails(r, "GET {3}", "(the URL of a cluster begins with redis+cluster://)");
	redis_close(r);
	free(url);
}

static const struct check checks[] = {
    {"leads to the owner of each key", leads_to_owner},
    {"nodes of all kinds", nodes_of_all_kinds},
    {"nobody answers", nobody_answers},
    {"a silent node", silent_node},
    {"all keys of a shard are in one slot", shard_is_one_slot},
    {"logs in at each node", logs_in_at_each},
    {"MOVED", moved},
    {"ASK", asked_elsewhere},
    {"ASK for a script", script_elsewhere},
    {"no half transaction, and TRYAGAIN", no_half_transaction},
    {"redirections that never end", loops_end},
    {"a slot that nobody serves", slot_of_nobody},
    {"the URL of one server", wrong_scheme},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(0);
	cluster = world_redis_add_cluster(world);
	status = check_main("common redis_cluster", checks, argc, argv);
	world_close(world);
	return status;
}
