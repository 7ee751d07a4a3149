/*
 * A connection is opened as the URL's user, to its database, and to a master only.
 */
#include "common/redis.h"
#include "tests/common/client.h"
#include "tests/support/check.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <stdlib.h>
#include <string.h>

static struct world *world;

static char *with_user(const char *user_password, int db)
{
	const char *path = world_redis_url(world) + strlen("unix://");

	return text_format(
	    "unix://%s@%.*s?db=%d", user_password, (int)strcspn(path, "?"), path, db);
}

static void users_and_databases(void)
{
	struct err err = ERR_INIT;
	redisReply *reply;
	struct redis *r;
	char *url;

	world_redis_run(world, "ACL SETUSER app on >p@ss:/%% ~* +@all");
	url = with_user("app:p%40ss%3a%2F%25", 3);
	r = client_open_at(url, 5000);
	CHECK_INT(redis_command(r, &reply, &err, "ACL WHOAMI"), 0);
	CHECK_STR(reply->str, "app");
	freeReplyObject(reply);
	client_command(r, "SET here 1");
	redis_close(r);
	free(url);
	world_redis_run(world, "SWAPDB 0 3");
	r = client_open(world);
	CHECK_INT(redis_command(r, &reply, &err, "GET here"), 0);
	CHECK_INT(reply->type, REDIS_REPLY_STRING);
	freeReplyObject(reply);
	redis_close(r);

	url = with_user("app:hunter2", 0);
	CHECK_INT(redis_open(url, 1000, &r, &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK(strstr(err.message, "WRONGPASS") && !strstr(err.message, "hunter2"));
	CHECK(strstr(err.message, "(schema/redis.acl ") != NULL);
	free(url);
}

/* What redis.acl is about is told with its name. */
static void nobody_in_particular(void)
{
	struct redis *r = client_open(world), *other;
	struct err err = ERR_INIT;

	client_command(r, "ACL SETUSER default off");
	CHECK_INT(redis_open(world_redis_url(world), 1000, &other, &err), -1);
	client_command(r, "ACL SETUSER default on");
	CHECK(strncmp(err.message, "server ", 7) == 0);
	CHECK(strstr(err.message, "NOAUTH") && strstr(err.message, "(the URL has no user "));
	redis_close(r);
}

static void check_denied_within_a_script(struct redis *r)
{
	const char *argv[] = {"umavez:purchases:{0}"};
	struct redis_script trim;
	struct err err = ERR_INIT;

	redis_script_init(&trim, "return redis.call('XTRIM', KEYS[1], 'MAXLEN', 0)");
	CHECK_INT(redis_eval(r, &trim, 1, 1, argv, NULL, NULL, &err), -1);
	CHECK_INT(err.kind, ERR_USAGE);
	CHECK(strstr(err.message, "schema/redis.acl") != NULL);
}

/* A user with few rights: ROLE is not among them. */
static void user_without_role(void)
{
	struct err err = ERR_INIT;
	struct redis *r;
	char *url;

	world_redis_run(world,
	    "ACL SETUSER reader on >pw ~umavez:* +xread +xinfo +xgroup|create +xgroup|setid"
	    " +evalsha +script|load");
	url = with_user("reader:pw", 0);
	r = client_open_at(url, 5000);
	client_command(r, "XREAD STREAMS umavez:purchases:{0} 0");
	CHECK_INT(redis_command(r, NULL, &err, "XTRIM umavez:purchases:{0} MAXLEN 0"), -1);
	CHECK_INT(err.kind, ERR_USAGE);
	CHECK(redis_failed_with(r, "NOPERM") && strstr(err.message, "schema/redis.acl"));
	check_denied_within_a_script(r);
	redis_close(r);
	free(url);
}

static void replicas_are_left(void)
{
	struct redis *r = client_open(world), *other;
	struct err err = ERR_INIT;

	client_command(r, "SET k v");
	world_redis_run(world, "REPLICAOF 127.0.0.1 1");
	CHECK_INT(redis_open(world_redis_url(world), 1000, &other, &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK(strstr(err.message, "Redis: ROLE: not a master") != NULL);
	CHECK_INT(redis_command(r, NULL, &err, "SET k v"), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK(redis_broken(r));
	CHECK_INT(redis_command(r, NULL, &err, "GET k"), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	world_redis_run(world, "REPLICAOF NO ONE");
	redis_close(r);
	redis_close(client_open(world));
}

static const struct check checks[] = {
    {"users and databases", users_and_databases},
    {"no user at all", nobody_in_particular},
    {"a user without ROLE", user_without_role},
    {"B50: replicas are left", replicas_are_left},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(0);
	status = check_main("common redis open", checks, argc, argv);
	world_close(world);
	return status;
}
