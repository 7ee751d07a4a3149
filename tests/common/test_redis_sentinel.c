/* redis_open() by way of real sentinels. */
#include "common/clock.h"
#include "common/redis.h"
#include "tests/support/check.h"
#include "tests/support/sentinels.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_MS 10000

static struct world *world;

static int master_port(void)
{
	return world_redis_port(world);
}

/* The port of the server that the URL leads to, or 0 and the error. */
static int port_behind(const char *url, int64_t timeout_ms, struct err *err)
{
	redisReply *reply = NULL;
	struct redis *r = NULL;
	int port = 0;

	if (redis_open(url, timeout_ms, &r, err) == 0 &&
	    redis_command(r, &reply, err, "CONFIG GET port") == 0)
		port = (int)strtol(reply->element[1]->str, NULL, 10);
	freeReplyObject(reply);
	redis_close(r);
	return port;
}

static int port_through(const char *servers, const char *rest, int64_t timeout_ms, struct err *err)
{
	char *url = text_format("redis-sentinel://%s/%s", servers, rest);
	int port = port_behind(url, timeout_ms, err);

	free(url);
	return port;
}

static void check_leads_to_master(const char *servers, const char *rest)
{
	struct err err = ERR_INIT;
	int port = port_through(servers, rest, TIMEOUT_MS, &err);

	CHECK_STR(err.message, "");
	CHECK_INT(port, master_port());
}

static void check_refused(const char *servers, const char *rest, const char *why)
{
	struct err err = ERR_INIT;

	CHECK_INT(port_through(servers, rest, TIMEOUT_MS, &err), 0);
	CHECK_INT(err.kind, ERR_RETRY);
	if (!strstr(err.message, why))
		CHECK_STR(err.message, why);
	CHECK(!strstr(err.message, "redis.acl")); /* which has no sentinel's users */
}

static int port_of(int sentinel)
{
	return sentinels_port(world_sentinels(world), sentinel);
}

/* "127.0.0.1:port" of two. */
static char *pair(int first_port, int second_port)
{
	return text_format("127.0.0.1:%d,127.0.0.1:%d", first_port, second_port);
}

static void asked_at_every_open(void)
{
	struct err err = ERR_INIT;
	int before = master_port();

	CHECK_INT(port_behind(world_redis_url(world), TIMEOUT_MS, &err), before);
	world_redis_failover(world);
	CHECK(master_port() != before);
	CHECK_INT(port_behind(world_redis_url(world), TIMEOUT_MS, &err), master_port());
}

static void unknown_name(void)
{
	char *one = text_format("127.0.0.1:%d", port_of(0));
	char *why = text_format("sentinel %s: Redis: SENTINEL: it knows no master \"nobody\"", one);

	check_refused(one, "nobody", why);
	free(why);
	free(one);
}

/* The first is no sentinel, or nobody at all. */
static void first_is_none(void)
{
	char *servers = pair(master_port(), port_of(1)), *nowhere = pair(1, port_of(1));

	check_leads_to_master(servers, SENTINELS_MASTER);
	check_leads_to_master(nowhere, SENTINELS_MASTER);
	free(nowhere);
	nowhere = pair(1, 1);
	check_refused(nowhere, SENTINELS_MASTER,
	    "sentinel 127.0.0.1:1: Redis: connect: Connection refused; "
	    "sentinel 127.0.0.1:1: Redis: connect: Connection refused");
	free(nowhere);
	free(servers);
}

static void silent(void)
{
	char *servers = pair(port_of(0), port_of(1));
	pid_t first = sentinels_pid(world_sentinels(world), 0);
	pid_t second = sentinels_pid(world_sentinels(world), 1);
	struct err one = ERR_INIT, both = ERR_INIT;
	int64_t took_us;
	int port, none;

	kill(first, SIGSTOP);
	port = port_through(servers, SENTINELS_MASTER, 3000, &one);
	kill(second, SIGSTOP);
	took_us = -clock_mono_us();
	none = port_through(servers, SENTINELS_MASTER, 400, &both);
	took_us += clock_mono_us();
	kill(first, SIGCONT);
	kill(second, SIGCONT);
	free(servers);
	CHECK_STR(one.message, "");
	CHECK_INT(port, master_port());
	CHECK_INT(none, 0);
	CHECK(strstr(both.message, "Redis: receive: timed out; sentinel") != NULL);
	CHECK(took_us >= 400000 && took_us < 10000000);
}

/* They do not agree about the master's place, as after a failover that one has not seen. */
static void first_is_behind(void)
{
	int replica = world_redis_replica_port(world);
	char *servers = pair(port_of(0), port_of(1)), *one = pair(port_of(0), 1);

	sentinels_run(world_sentinels(world), 0, "SENTINEL MONITOR behind 127.0.0.1 %d 2", replica);
	sentinels_run(
	    world_sentinels(world), 1, "SENTINEL MONITOR behind 127.0.0.1 %d 2", master_port());
	check_leads_to_master(servers, "behind");
	check_refused(one, "behind", "Redis: ROLE: not a master; sentinel");
	sentinels_run(world_sentinels(world), 0, "SENTINEL REMOVE behind");
	sentinels_run(world_sentinels(world), 1, "SENTINEL REMOVE behind");
	free(one);
	free(servers);
}

static void no_sentinel(void)
{
	char *server = text_format("127.0.0.1:%d", master_port());

	check_refused(
	    server, SENTINELS_MASTER, "this is no sentinel; for a server itself use redis://");
	free(server);
}

static void sentinel_login(void)
{
	char *one = text_format("127.0.0.1:%d", port_of(0));

	sentinels_run(world_sentinels(world), 0, "ACL SETUSER asker on >p@ss +@all");
	sentinels_run(
	    world_sentinels(world), 0, "ACL SETUSER default -sentinel|get-master-addr-by-name");
	check_leads_to_master(
	    one, SENTINELS_MASTER "?sentinel_username=asker&sentinel_password=p%40ss");
	check_refused(one, SENTINELS_MASTER, "NOPERM");
	check_refused(
	    one, SENTINELS_MASTER "?sentinel_username=asker&sentinel_password=x", "WRONGPASS");
	sentinels_run(
	    world_sentinels(world), 0, "ACL SETUSER default +sentinel|get-master-addr-by-name");
	check_leads_to_master(one, SENTINELS_MASTER);
	free(one);
}

static const struct check checks[] = {
    {"an unknown name", unknown_name},
    {"the first is no sentinel", first_is_none},
    {"a server in place of sentinels", no_sentinel},
    {"silent sentinels", silent},
    {"the first is behind", first_is_behind},
    {"the sentinel's own login", sentinel_login},
    {"asked at every open", asked_at_every_open},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(0);
	world_redis_add_replica(world);
	status = check_main("common redis_sentinel", checks, argc, argv);
	world_close(world);
	return status;
}
