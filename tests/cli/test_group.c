/*
 * umavez group and umavez stream, beside the real relay: trimming waits for what is registered, and
 * a stream that cannot be used comes back whole.
 */
#include "tests/cli/story.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/invariants.h"
#include "tests/support/world.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define WAIT_MS 20000
#define STREAM "umavez:purchases:{0}"

static struct world *world;
static struct proc *relay;

static int64_t redis(const char *fmt, ...)
{
	redisContext *c = world_redis(world);
	redisReply *reply;
	va_list args;
	int64_t n;

	va_start(args, fmt);
	reply = redisvCommand(c, fmt, args);
	va_end(args);
	CHECK(reply != NULL && reply->type != REDIS_REPLY_ERROR);
	n = reply->type == REDIS_REPLY_INTEGER ? reply->integer : (int64_t)reply->elements;
	freeReplyObject(reply);
	redisFree(c);
	return n;
}

static void check_says(
    const char *const *args, int status, const char *out_has, const char *err_has)
{
	story_check_says(world, args, status, out_has, err_has);
}

static void receive(const char *prefix, int n)
{
	for (int i = 0; i < n; i++) {
		char *id = text_format("%s%d", prefix, i);

		story_receive(world, "stripe", id, "sub_1");
		free(id);
	}
}

static bool is_published(void *ctx)
{
	witness_streams(ctx);
	return world_int(ctx, "SELECT count(*) FROM witness.stream_missing") == 0;
}

static bool await_registered(const char *name, int64_t n)
{
	return world_await_int(
	    world, n, WAIT_MS, "SELECT count(*) FROM intake.stream_group WHERE name = '%s'", name);
}

static void check_list(void)
{
	const char *const args[] = {"group", "list", "--json", NULL};
	json_t *json;

	receive("a", 3);
	CHECK(await(is_published, world, WAIT_MS));
	redis("XGROUP CREATE " STREAM " mailer 0");
	CHECK(await_registered("mailer", 1));
	json = story_umavez(world, args);
	CHECK_STR(story_get(json, "groups/0/name"), "mailer");
	CHECK_STR(story_get(json, "groups/0/registered"), "true");
	CHECK_STR(story_get(json, "groups/0/in_stream"), "true");
	CHECK_STR(story_get(json, "groups/0/acknowledged"), "0-0");
	CHECK_STR(story_get(json, "groups/0/delivered"), "0-0");
	CHECK_STR(story_get(json, "groups/1"), "(missing)");
	json_decref(json);
	redis("XREADGROUP GROUP mailer me COUNT 2 STREAMS " STREAM " >");
	check_says((const char *const[]){"group", "list", NULL}, 0, ", 2 pending\n", "");
	redis("XGROUP DESTROY " STREAM " mailer");
	check_says(
	    (const char *const[]){"group", "list", NULL}, 0, "missing: nothing is trimmed\n", "");
}

static void check_drop(void)
{
	check_says((const char *const[]){"group", "drop", "nobody", NULL}, 1, "",
	    "no such group is registered");
	/* Missing in the stream: it blocks trimming until it is dropped. */
	check_says((const char *const[]){"group", "drop", "mailer", NULL}, 2,
	    "would be forgotten in shard 0: what stands after ", "nothing was done: give --yes");
	check_says((const char *const[]){"group", "drop", "mailer", "--json", NULL}, 2,
	    "{\"group\":\"mailer\",\"done\":false,\"destroy\":false,\"groups\":[{\"shard\":0,",
	    "nothing was done: give --yes");
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.stream_group"), 1);
	check_says((const char *const[]){"group", "drop", "mailer", "--yes", NULL}, 0,
	    "forgotten in shard 0: what stands after ", "");
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.stream_group"), 0);
	redis("XGROUP CREATE " STREAM " mailer 0");
	CHECK(await_registered("mailer", 1));
	check_says((const char *const[]){"group", "drop", "mailer", "--shard", "1", NULL}, 1, "",
	    "no such group");
	check_says((const char *const[]){"group", "drop", "mailer", "--yes", NULL}, 1, "",
	    "it is still in 1 stream, where relays would register it again: stop what reads there");
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.stream_group"), 1);
	story_cursor(world, "mailer", 0);
	check_says((const char *const[]){"group", "drop", "mailer", "--yes", NULL}, 1, "",
	    "it is a consumer's, which umavez consumer forget ends");
	check_says((const char *const[]){"group", "drop", "mailer", "--destroy", NULL}, 2, "",
	    "mailer is a consumer, with cursors and an inbox: umavez consumer forget ends it");
	world_sql(world, "DELETE FROM effects.cursor");
	check_says((const char *const[]){"group", "drop", "mailer", "--destroy", NULL}, 2,
	    "would be destroyed in " STREAM ", at 0-0 with 0 pending\nwould be forgotten",
	    "nothing was done: give --yes");
	CHECK_INT(redis("XINFO GROUPS " STREAM), 1);
	check_says((const char *const[]){"group", "drop", "mailer", "--destroy", "--yes", NULL}, 0,
	    "destroyed in " STREAM, "");
	CHECK_INT(redis("XINFO GROUPS " STREAM), 0);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.stream_group"), 0);
	check_says((const char *const[]){"group", "drop", NULL}, 2, "", "say list, or drop");
	check_says((const char *const[]){"group", NULL}, 2, "", "say list, or drop");
	check_says((const char *const[]){"group", "drop", "x", "--destroy", "--redis-url",
		       "unix:///nowhere/redis.sock", NULL},
	    1, "", "Redis: connect");
}

static void check_reset(void)
{
	check_says((const char *const[]){"stream", "reset", "0", NULL}, 2,
	    STREAM " is a stream of 3 entries, ", "nothing was done: give --yes");
	check_says((const char *const[]){"stream", "reset", "0", "--json", NULL}, 2,
	    "{\"shard\":0,\"key\":\"" STREAM "\",\"type\":\"stream\",\"aside\":\"umavez:aside:",
	    "nothing was done: give --yes");
	redis("SET " STREAM " x");
	receive("b", 3);
	CHECK(proc_await_log(relay, "`umavez stream reset`", WAIT_MS));
	check_says((const char *const[]){"stream", "reset", "0", NULL}, 2,
	    STREAM " is a string\nrenamed to umavez:aside:{0}:", "give --yes");
	CHECK_INT(redis("STRLEN " STREAM), 1);
	check_says((const char *const[]){"stream", "reset", "0", "--yes", NULL}, 0,
	    "stream lacks\ndone\n", "");
	CHECK(await(is_published, world, WAIT_MS));
	CHECK_INT(redis("KEYS umavez:aside:{0}:*"), 1);
	CHECK_INT(invariants_broken(world, INVARIANTS_STREAM), 0);
}

static void check_reset_far_future(void)
{
	redis("XGROUP CREATE " STREAM " mailer 0");
	redis("XADD " STREAM " 9999999999999-1 not ours");
	receive("c", 3);
	CHECK(proc_await_log(relay, "more than a day in the future", WAIT_MS));
	check_says((const char *const[]){"stream", "reset", "0", "--yes", NULL}, 0,
	    "  group mailer at 0-0 goes with it\n", "");
	CHECK(await(is_published, world, WAIT_MS));
	CHECK_INT(redis("XLEN " STREAM), world_int(world, "SELECT count(*) FROM intake.outbox"));
	CHECK_INT(invariants_broken(world, INVARIANTS_STREAM), 0);
}

static void check_reset_refused(void)
{
	check_says(
	    (const char *const[]){"stream", "reset", "7", NULL}, 2, "", "there is no shard 7");
	check_says((const char *const[]){"stream", "reset", "x", NULL}, 2, "", "say reset");
	check_says((const char *const[]){"stream", "reset", NULL}, 2, "", "say reset");
	redis("DEL umavez:purchases:{1}");
	check_says((const char *const[]){"stream", "reset", "1", NULL}, 1, "", "does not exist");
}

static const struct check checks[] = {
    {"group list", check_list},
    {"group drop", check_drop},
    {"stream reset: another type", check_reset},
    {"stream reset: far in the future", check_reset_far_future},
    {"stream reset: refused", check_reset_refused},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	static const char *const args[] = {
	    "--trim-interval", "100ms", "--poll-interval", "50ms", NULL};
	int status;

	world = world_open(2);
	witness_install(world);
	world_sql(world,
	    "CREATE OR REPLACE FUNCTION intake.shard_of_subject(subject text, shards integer)"
	    " RETURNS smallint LANGUAGE sql IMMUTABLE AS 'SELECT 0::smallint'");
	relay = world_relay(world, args, NULL);
	status = check_main("cli group", checks, argc, argv);
	world_close(world);
	return status;
}
