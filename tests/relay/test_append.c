/* append.lua by itself: compare, then all or nothing. */
#include "common/stream_id.h"
#include "relay/script.h"
#include "relay_text.h"
#include "tests/support/check.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY "s"
#define HUGE_ID "9223372036854775807-9223372036854775806"
#define MAX_ARGS 9100

/* World, connection and script of one check. */
struct bench {
	struct world *w;
	redisContext *plain;
	struct redis *redis;
	struct script append;
};

static void setup(struct bench *b)
{
	struct err err = ERR_INIT;

	b->w = world_open(0);
	b->plain = world_redis(b->w);
	CHECK_INT(redis_open(world_redis_url(b->w), 5000, &b->redis, &err), 0);
	script_init(&b->append, relay_append_lua);
}

static void teardown(struct bench *b)
{
	script_done(&b->append);
	redis_close(b->redis);
	redisFree(b->plain);
	world_close(b->w);
}

static void plain(struct bench *b, const char *command)
{
	redisReply *reply = redisCommand(b->plain, command);

	CHECK(reply != NULL && reply->type != REDIS_REPLY_ERROR);
	freeReplyObject(reply);
}

static int64_t length(struct bench *b)
{
	redisReply *reply = redisCommand(b->plain, "XLEN " KEY);
	int64_t n = reply->integer;

	freeReplyObject(reply);
	return n;
}

/* Entries of these IDs, each with the value `data`. The first number of the answer; -1: an error,
 * in *err. ret_last: the ID in the answer, malloc'd. */
static int64_t append(struct bench *b, const char *expected, bool setback, const char *const *ids,
    const char *data, char **ret_last, struct err *err)
{
	static const char *argv[MAX_ARGS];
	redisReply *reply = NULL;
	int n = 0;
	int64_t verdict;

	argv[n++] = KEY;
	argv[n++] = expected;
	argv[n++] = "relay";
	argv[n++] = "2026-01-01T00:00:00.000Z";
	argv[n++] = "3";
	argv[n++] = setback ? "1" : "0";
	for (; *ids; ids++) {
		const char *const values[] = {
		    *ids, "id", "app", "type", "subject", "time", "", data, ""};

		for (int i = 0; i < 9; i++)
			argv[n++] = values[i];
	}
	if (script_run(b->redis, &b->append, 1, n, argv, &reply, err) < 0)
		return -1;
	verdict = reply->element[0]->integer;
	if (ret_last)
		*ret_last = text_format("%s", reply->element[1]->str);
	freeReplyObject(reply);
	return verdict;
}

#define IDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void appends_after_the_expected(void)
{
	struct err err = ERR_INIT;
	struct bench b;
	char *last;

	setup(&b);
	CHECK_INT(append(&b, "0-0", false, IDS("5-1", "5-2"), "{}", &last, &err), 1);
	CHECK_STR(last, "5-2");
	free(last);
	CHECK_INT(append(&b, "5-2", false, IDS("5-10", "6-1"), "{}", &last, &err), 1);
	CHECK_STR(last, "6-1");
	free(last);
	CHECK_INT(length(&b), 4);
	teardown(&b);
}

static void adds_nothing_elsewhere(void)
{
	struct err err = ERR_INIT;
	struct bench b;
	char *last;

	setup(&b);
	CHECK_INT(append(&b, "4-4", false, IDS("5-1"), "{}", &last, &err), 0);
	CHECK_STR(last, "0-0");
	free(last);
	CHECK_INT(length(&b), 0);
	plain(&b, "XADD " KEY " 7-7 a b");
	CHECK_INT(append(&b, "6-1", false, IDS("8-1"), "{}", &last, &err), 0);
	CHECK_STR(last, "7-7");
	free(last);
	plain(&b, "XDEL " KEY " 7-7"); /* the last ID stays */
	CHECK_INT(append(&b, "0-0", false, IDS("8-1"), "{}", &last, &err), 0);
	free(last);
	CHECK_INT(append(&b, "7-7", false, IDS("8-1"), "{}", &last, &err), 1);
	free(last);
	teardown(&b);
}

/* Numbers that differ only beyond a double's 53 bits, and in their count of digits. */
static void compares_64_bits(void)
{
	struct err err = ERR_INIT;
	struct bench b;

	setup(&b);
	plain(&b, "XADD " KEY " " HUGE_ID " a b");
	CHECK_INT(append(&b, "9223372036854775807-9223372036854775807", false,
		      IDS("9223372036854775807-9223372036854775808"), "{}", NULL, &err),
	    0);
	CHECK_INT(append(&b, HUGE_ID, false,
		      IDS("9223372036854775807-9223372036854775807",
			  "9223372036854775807-9223372036854775808"),
		      "{}", NULL, &err),
	    1);
	plain(&b, "DEL " KEY);
	CHECK_INT(append(&b, "0-0", false, IDS("9-9", "9-10", "10-1"), "{}", NULL, &err), 1);
	teardown(&b);
}

static void refuses_ids_that_do_not_ascend(void)
{
	struct err err = ERR_INIT;
	struct bench b;

	setup(&b);
	CHECK_INT(append(&b, "0-0", false, IDS("5-1", "5-3", "5-2"), "{}", NULL, &err), -1);
	CHECK_INT(append(&b, "0-0", false, IDS("5-1", "5-1"), "{}", NULL, &err), -1);
	CHECK_INT(append(&b, "0-0", false, IDS("0-0"), "{}", NULL, &err), -1);
	CHECK_INT(length(&b), 0);
	teardown(&b);
}

/* However near the limit it begins, nothing or everything is there. */
static void all_or_nothing_at_maxmemory(void)
{
	const char *ids[101] = {NULL};
	char text[100][16], *data = text_format("%*s", 3000, ""), expected[32] = "0-0";
	int64_t verdict, n = 0;
	struct err err = ERR_INIT;
	struct bench b;
	int tick;

	setup(&b);
	plain(&b, "CONFIG SET maxmemory-policy noeviction");
	plain(&b, "CONFIG SET maxmemory 4mb");
	for (tick = 1;; tick++) {
		for (int i = 0; i < 100; i++) {
			snprintf(text[i], sizeof(text[i]), "%d-%d", tick, i);
			ids[i] = text[i];
		}
		verdict = append(&b, expected, true, ids, data, NULL, &err);
		if (verdict < 0)
			break;
		n += 100;
		snprintf(expected, sizeof(expected), "%d-99", tick);
		CHECK_INT(length(&b), n);
	}
	CHECK(strstr(err.message, "OOM") != NULL);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK(n > 0);
	CHECK_INT(length(&b), n);
	plain(&b, "CONFIG SET maxmemory 0");
	CHECK_INT(append(&b, expected, true, ids, data, NULL, &err), 1);
	CHECK_INT(length(&b), n + 100);
	free(data);
	teardown(&b);
}

static char *position_of(struct bench *b, const char *group)
{
	redisReply *groups = redisCommand(b->plain, "XINFO GROUPS " KEY);
	char *id = NULL;

	for (size_t i = 0; i < groups->elements; i++) {
		const redisReply *name = redis_field(groups->element[i], "name");

		if (strcmp(name->str, group) == 0)
			id = text_format(
			    "%s", redis_field(groups->element[i], "last-delivered-id")->str);
	}
	freeReplyObject(groups);
	return id;
}

static void check_position(struct bench *b, const char *group, const char *expected)
{
	char *id = position_of(b, group);

	CHECK_STR(id, expected);
	free(id);
}

static void sets_groups_back(void)
{
	struct err err = ERR_INIT;
	struct bench b;

	setup(&b);
	plain(&b, "XADD " KEY " 5-5 a b");
	plain(&b, "XGROUP CREATE " KEY " ahead 9-9");
	plain(&b, "XGROUP CREATE " KEY " at 5-5");
	plain(&b, "XGROUP CREATE " KEY " behind 3-3");
	CHECK_INT(append(&b, "4-4", true, IDS("6-1"), "{}", NULL, &err), 0);
	check_position(&b, "ahead", "9-9");
	CHECK_INT(append(&b, "5-5", false, IDS("6-1"), "{}", NULL, &err), 1);
	check_position(&b, "ahead", "9-9");
	CHECK_INT(append(&b, "6-1", true, IDS("7-1", "7-2"), "{}", NULL, &err), 1);
	check_position(&b, "ahead", "6-1");
	check_position(&b, "at", "5-5");
	check_position(&b, "behind", "3-3");
	teardown(&b);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"P6 appends after the expected entry", appends_after_the_expected},
	    {"P6 adds nothing anywhere else", adds_nothing_elsewhere},
	    {"compares 64-bit numbers", compares_64_bits},
	    {"refuses IDs that do not ascend", refuses_ids_that_do_not_ascend},
	    {"B50 all or nothing at maxmemory", all_or_nothing_at_maxmemory},
	    {"sets back groups that are beyond the end", sets_groups_back},
	    {NULL, NULL},
	};
	return check_main("relay append", checks, argc, argv);
}
