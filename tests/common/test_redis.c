/*
 * Commands and scripts on a connection, and what becomes of their replies.
 */
#include "common/redis.h"
#include "tests/common/client.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static struct world *world;

static void commands(void)
{
	struct redis *r = client_open(world);
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
	struct redis *r = client_open(world);
	struct err err = ERR_INIT;

	client_command(r, "SET text x");
	CHECK_INT(redis_command(r, NULL, &err, "XADD text * a b"), -1);
	CHECK_INT(err.kind, ERR_REJECT);
	CHECK(strncmp(err.message, "Redis: XADD: WRONGTYPE", 22) == 0);
	CHECK(redis_failed_with(r, "WRONGTYPE"));
	CHECK(!redis_failed_with(r, "WRONGPASS") && !redis_failed_with(r, "Redis"));
	CHECK_INT(redis_command(r, NULL, &err, "NOSUCH x"), -1);
	CHECK(redis_failed_with(r, "ERR unknown command"));
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK(!redis_broken(r));
	client_command(r, "PING");
	CHECK(!redis_failed_with(r, "ERR"));
	redis_close(r);
}

static void long_messages(void)
{
	enum { SIZE = 4 << 20 };
	struct redis *r = client_open(world);
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
	client_command(r, "DEL long");
	free(value);
	redis_close(r);
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
	struct redis *r = client_open(world);
	struct err err = ERR_INIT;
	struct redis_script s;

	redis_script_init(&s, script_text);
	CHECK_INT(strlen(s.sha1), 40);
	eval_ok(r, &s);
	eval_ok(r, &s);
	world_redis_run(world, "SCRIPT FLUSH");
	eval_ok(r, &s);
	CHECK_INT(redis_eval(r, &s, 1, 2, failing, NULL, NULL, &err), -1);
	CHECK_INT(err.kind, ERR_REJECT);
	eval_ok(r, &s);
	redis_close(r);
}

static void scripts_in_two_halves(void)
{
	const char *argv[] = {"key", "a", "b"};
	struct redis *r = client_open(world);
	struct err err = ERR_INIT;
	struct redis_script s;
	redisReply *reply;

	redis_script_init(&s, script_text);
	world_redis_run(world, "SCRIPT FLUSH");
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
	struct redis *r = client_open(world);
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
	struct redis *r = client_open(world);
	struct err err = ERR_INIT;
	const redisReply *field;
	redisReply *reply;

	client_command(r, "XADD s 5-3 a b");
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
