#include "common/clock.h"
#include "common/redis.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/world.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct world *world;

static struct redis *open_at(const char *url, int64_t timeout_ms)
{
	struct err err = ERR_INIT;
	struct redis *r;

	if (redis_open(url, timeout_ms, &r, &err) < 0)
		CU_FAIL_FATAL(err.message);
	return r;
}

static struct redis *open_ok(void)
{
	return open_at(world_redis_url(world), 5000);
}

/* A command whose reply does not matter, by a plain connection of the test's own. */
static void admin(const char *command)
{
	redisContext *c = world_redis(world);
	redisReply *reply = redisCommand(c, command);

	if (!reply || reply->type == REDIS_REPLY_ERROR)
		CU_FAIL_FATAL(reply ? reply->str : c->errstr);
	freeReplyObject(reply);
	redisFree(c);
}

static void command(struct redis *r, const char *text)
{
	struct err err = ERR_INIT;

	if (redis_command(r, NULL, &err, text) < 0)
		CU_FAIL_FATAL(err.message);
}

static void commands(void)
{
	struct redis *r = open_ok();
	const char *argv[] = {"SET", "k", "a\0b"};
	const size_t lens[] = {3, 1, 3};
	struct err err = ERR_INIT;
	redisReply *reply;

	CHECK_INT(redis_argv(r, 0, 3, argv, lens, NULL, &err), 0);
	CHECK_INT(redis_command(r, &reply, &err, "GET %s", "k"), 0);
	CHECK_INT(reply->len, 3);
	CHECK_INT(memcmp(reply->str, "a\0b", 3), 0);
	freeReplyObject(reply);
	CHECK(!redis_broken(r));
	redis_close(r);
	redis_close(NULL);
}

static void error_replies(void)
{
	struct redis *r = open_ok();
	struct err err = ERR_INIT;

	command(r, "SET text x");
	CHECK_INT(redis_command(r, NULL, &err, "XADD text * a b"), -1);
	CHECK_INT(err.kind, ERR_REJECT);
	CHECK(strncmp(err.message, "Redis: XADD: WRONGTYPE", 22) == 0);
	CHECK(redis_failed_with(r, "WRONGTYPE"));
	CHECK(!redis_failed_with(r, "WRONGPASS") && !redis_failed_with(r, "Redis"));
	CHECK_INT(redis_command(r, NULL, &err, "NOSUCH x"), -1);
	CHECK(redis_failed_with(r, "ERR unknown command"));
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK(!redis_broken(r));
	command(r, "PING");
	CHECK(!redis_failed_with(r, "ERR"));
	redis_close(r);
}

static void long_messages(void)
{
	enum { SIZE = 4 << 20 };
	struct redis *r = open_ok();
	char *value = malloc(SIZE);
	const char *argv[] = {"SET", "long", value};
	const size_t lens[] = {3, 4, SIZE};
	struct err err = ERR_INIT;
	redisReply *reply;

	memset(value, 'x', SIZE);
	CHECK_INT(redis_argv(r, 0, 3, argv, lens, NULL, &err), 0);
	CHECK_INT(redis_command(r, &reply, &err, "GET long"), 0);
	CHECK_INT(reply->len, SIZE);
	freeReplyObject(reply);
	command(r, "DEL long");
	free(value);
	redis_close(r);
}

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

	admin("ACL SETUSER app on >p@ss:/%% ~* +@all");
	url = with_user("app:p%40ss%3a%2F%25", 3);
	r = open_at(url, 5000);
	CHECK_INT(redis_command(r, &reply, &err, "ACL WHOAMI"), 0);
	CHECK_STR(reply->str, "app");
	freeReplyObject(reply);
	command(r, "SET here 1");
	redis_close(r);
	free(url);
	admin("SWAPDB 0 3");
	r = open_ok();
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
	struct redis *r = open_ok(), *other;
	struct err err = ERR_INIT;

	command(r, "ACL SETUSER default off");
	CHECK_INT(redis_open(world_redis_url(world), 1000, &other, &err), -1);
	command(r, "ACL SETUSER default on");
	CHECK(strstr(err.message, "NOAUTH") && strstr(err.message, "(schema/redis.acl "));
	redis_close(r);
}

/* A user with few rights: ROLE is not among them. */
static void user_without_role(void)
{
	struct err err = ERR_INIT;
	struct redis *r;
	char *url;

	admin("ACL SETUSER reader on >pw ~umavez:* +xread +xinfo +xgroup|create +xgroup|setid");
	url = with_user("reader:pw", 0);
	r = open_at(url, 5000);
	command(r, "XREAD STREAMS umavez:purchases:{0} 0");
	CHECK_INT(redis_command(r, NULL, &err, "XTRIM umavez:purchases:{0} MAXLEN 0"), -1);
	CHECK(redis_failed_with(r, "NOPERM") && strstr(err.message, "(schema/redis.acl "));
	redis_close(r);
	free(url);
}

static void replicas_are_left(void)
{
	struct redis *r = open_ok(), *other;
	struct err err = ERR_INIT;

	command(r, "SET k v");
	admin("REPLICAOF 127.0.0.1 1");
	CHECK_INT(redis_open(world_redis_url(world), 1000, &other, &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK_STR(err.message, "Redis: ROLE: not a master");
	CHECK_INT(redis_command(r, NULL, &err, "SET k v"), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK(redis_broken(r));
	CHECK_INT(redis_command(r, NULL, &err, "GET k"), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	admin("REPLICAOF NO ONE");
	redis_close(r);
	redis_close(open_ok());
}

static int read_blocking(struct redis *r, const char *block_ms, int64_t extra_ms,
    redisReply **ret_reply, struct err *err)
{
	const char *argv[] = {"XREAD", "BLOCK", block_ms, "STREAMS", "nosuch", "$"};

	return redis_argv(r, extra_ms, 6, argv, NULL, ret_reply, err);
}

static void b51_stopped_server(void)
{
	struct redis *r = open_at(world_redis_url(world), 600), *other;
	struct err err = ERR_INIT;

	kill(world_redis_pid(world), SIGSTOP);
	int64_t began_us = clock_mono_us();
	CHECK_INT(read_blocking(r, "300", 300, NULL, &err), -1);
	int64_t took_us = clock_mono_us() - began_us;
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK_STR(err.message, "Redis: receive: timed out");
	CHECK(took_us >= 900000 && took_us < 10000000);
	CHECK(redis_broken(r));

	began_us = clock_mono_us();
	CHECK_INT(redis_open(world_redis_url(world), 300, &other, &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK(clock_mono_us() - began_us < 10000000);
	kill(world_redis_pid(world), SIGCONT);
	redis_close(r);
	redis_close(open_ok());
}

static void b51_timeouts_do_not_mix(void)
{
	struct redis *r = open_at(world_redis_url(world), 600);
	struct err err = ERR_INIT;
	redisReply *reply;

	/* Longer than the connect timeout, and fine. */
	CHECK_INT(read_blocking(r, "1200", 10000, &reply, &err), 0);
	CHECK_INT(reply->type, REDIS_REPLY_NIL);
	freeReplyObject(reply);
	command(r, "PING");
	redis_close(r);
}

static void b51_killed_and_restarted(void)
{
	enum { CYCLES = 200 };

	for (int i = 0; i < CYCLES; i++) {
		struct redis *r = open_ok();
		struct err err = ERR_INIT;

		world_redis_stop(world, false);
		CHECK_INT(redis_command(r, NULL, &err, "PING"), -1);
		CHECK_INT(err.kind, ERR_RETRY);
		CHECK(redis_broken(r));
		redis_close(r);
		CHECK_INT(redis_open(world_redis_url(world), 1000, &r, &err), -1);
		CHECK_INT(err.kind, ERR_RETRY);
		world_redis_start(world, false);
	}
}

/* A server that answers ROLE, and then one byte at a time, without end. */
static void *drip(void *arg)
{
	static const char role[] = "*1\r\n$6\r\nmaster\r\n";
	char request[1000];
	int fd = accept(*(int *)arg, NULL, NULL);

	if (read(fd, request, sizeof(request)) > 0 &&
	    send(fd, role, strlen(role), MSG_NOSIGNAL) > 0 &&
	    read(fd, request, sizeof(request)) > 0) {
		while (send(fd, "+", 1, MSG_NOSIGNAL) == 1)
			usleep(20000);
	}
	close(fd);
	return NULL;
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 5) < 0)
		die("listen: %s", strerror(errno));
	return fd;
}

static void b51_deadline_covers_the_whole_reply(void)
{
	char *path = text_format("%s/drip", world_dir(world));
	char *url = text_format("unix://%s", path);
	int fd = listen_at(path);
	struct err err = ERR_INIT;
	struct redis *r;
	pthread_t thread;

	CHECK_INT(pthread_create(&thread, NULL, drip, &fd), 0);
	r = open_at(url, 600);
	int64_t began_us = clock_mono_us();
	CHECK_INT(redis_command(r, NULL, &err, "PING"), -1);
	CHECK_STR(err.message, "Redis: receive: timed out");
	CHECK(clock_mono_us() - began_us < 10000000);
	redis_close(r);
	pthread_join(thread, NULL);
	close(fd);
	free(url);
	free(path);
}

static void b51_accepts_and_never_answers(void)
{
	char *path = text_format("%s/silent", world_dir(world));
	char *url = text_format("unix://u:p@%s?db=1", path);
	int fd = listen_at(path);
	struct err err = ERR_INIT;
	struct redis *r;
	int64_t began_us = clock_mono_us();

	CHECK_INT(redis_open(url, 300, &r, &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK(clock_mono_us() - began_us < 10000000);
	close(fd);
	free(url);
	free(path);
}

static const char script_text[] =
    "if ARGV[1] == 'fail' then return redis.error_reply('WRONGTYPE made up') end "
    "return {KEYS[1], ARGV[1], ARGV[2]}";

static void eval_ok(struct redis *r, const struct redis_script *s)
{
	const char *argv[] = {"key", "a", "\0b"};
	const size_t lens[] = {3, 1, 2};
	struct err err = ERR_INIT;
	redisReply *reply;

	if (redis_eval(r, s, 1, 3, argv, lens, &reply, &err) < 0)
		CU_FAIL_FATAL(err.message);
	CHECK_INT(reply->elements, 3);
	CHECK_STR(reply->element[0]->str, "key");
	CHECK_INT(reply->element[2]->len, 2);
	freeReplyObject(reply);
}

static void scripts(void)
{
	const char *failing[] = {"key", "fail"};
	struct redis *r = open_ok();
	struct err err = ERR_INIT;
	struct redis_script s;

	redis_script_init(&s, script_text);
	CHECK_INT(strlen(s.sha1), 40);
	eval_ok(r, &s);
	eval_ok(r, &s);
	admin("SCRIPT FLUSH");
	eval_ok(r, &s);
	CHECK_INT(redis_eval(r, &s, 1, 2, failing, NULL, NULL, &err), -1);
	CHECK_INT(err.kind, ERR_REJECT);
	eval_ok(r, &s);
	redis_close(r);
}

static void scripts_in_two_halves(void)
{
	const char *argv[] = {"key", "a", "b"};
	struct redis *r = open_ok();
	struct err err = ERR_INIT;
	struct redis_script s;
	redisReply *reply;

	redis_script_init(&s, script_text);
	admin("SCRIPT FLUSH");
	kill(world_redis_pid(world), SIGSTOP);
	CHECK_INT(redis_eval_send(r, &s, 1, 3, argv, NULL, &err), 0);
	CHECK_INT(redis_wait(r, 50), 0);
	kill(world_redis_pid(world), SIGCONT);
	CHECK_INT(redis_wait(r, 5000), 1);
	CHECK_INT(redis_wait(r, 0), 1);
	CHECK_INT(redis_eval_receive(r, &reply, &err), 0);
	CHECK_STR(reply->element[1]->str, "a");
	freeReplyObject(reply);
	redis_close(r);
}

static void script_lost_with_its_server(void)
{
	const char *argv[] = {"key", "a", "b"};
	struct redis *r = open_ok();
	struct err err = ERR_INIT;
	struct redis_script s;

	redis_script_init(&s, script_text);
	kill(world_redis_pid(world), SIGSTOP);
	CHECK_INT(redis_eval_send(r, &s, 1, 3, argv, NULL, &err), 0);
	world_redis_stop(world, false);
	CHECK(redis_wait(r, 5000) != 0);
	CHECK_INT(redis_eval_receive(r, NULL, &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK_INT(redis_wait(r, 0), -1);
	CHECK_INT(redis_eval_send(r, &s, 1, 3, argv, NULL, &err), -1);
	redis_close(r);
	world_redis_start(world, false);
}

static void fields(void)
{
	struct redis *r = open_ok();
	struct err err = ERR_INIT;
	const redisReply *field;
	redisReply *reply;

	command(r, "XADD s 5-3 a b");
	CHECK_INT(redis_command(r, &reply, &err, "XINFO STREAM s"), 0);
	field = redis_field(reply, "last-generated-id");
	CHECK_STR(field ? field->str : "none", "5-3");
	CHECK(redis_field(reply, "nosuch") == NULL);
	CHECK(redis_field(field, "last-generated-id") == NULL);
	freeReplyObject(reply);
	redis_close(r);
}

/* The text of a reply, or "none", malloc'd. */
static char *text_of(const char *wire)
{
	redisReader *reader = redisReaderCreate();
	void *reply = NULL;
	char *text;

	redisReaderFeed(reader, wire, strlen(wire));
	CHECK_INT(redisReaderGetReply(reader, &reply), REDIS_OK);
	text = strdup(redis_text(reply) ? redis_text(reply) : "none");
	freeReplyObject(reply);
	redisReaderFree(reader);
	return text;
}

static void texts(void)
{
	static const struct {
		const char *wire, *text;
	} cases[] = {{"$6\r\nmaster\r\n", "master"}, {"+OK\r\n", "OK"}, {"$-1\r\n", "none"},
	    {":1\r\n", "none"}, {"*0\r\n", "none"}, {"-ERR x\r\n", "none"}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *text = text_of(cases[i].wire);
		CHECK_STR(text, cases[i].text);
		free(text);
	}
}

static const struct check checks[] = {
    {"commands", commands},
    {"texts", texts},
    {"error replies", error_replies},
    {"long messages", long_messages},
    {"users and databases", users_and_databases},
    {"no user at all", nobody_in_particular},
    {"a user without ROLE", user_without_role},
    {"B50: replicas are left", replicas_are_left},
    {"B51: a stopped server", b51_stopped_server},
    {"B51: timeouts do not mix", b51_timeouts_do_not_mix},
    {"B51: the deadline covers the whole reply", b51_deadline_covers_the_whole_reply},
    {"B51: accepts and never answers", b51_accepts_and_never_answers},
    {"B51: killed and restarted 200 times", b51_killed_and_restarted},
    {"scripts", scripts},
    {"scripts in two halves", scripts_in_two_halves},
    {"a script lost with its server", script_lost_with_its_server},
    {"fields by name", fields},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(0);
	status = check_main("common redis", checks, argc, argv);
	world_close(world);
	return status;
}
