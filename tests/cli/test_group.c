/*
 * umavez group and umavez stream, beside the real relay: trimming waits for what is registered, and
 * a stream that cannot be used comes back whole.
 */
#include "tests/cli/story.h"
#include "tests/support/check.h"
#include "tests/support/invariants.h"
#include "tests/support/world.h"

#include <stdarg.h>

#define STREAM "umavez:purchases:{0}"

static struct world *world;
static struct proc *relay;

#define SAYS(status, out, err, ...) STORY_SAYS(world, status, out, err, __VA_ARGS__)

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

static bool is_published(void *ctx)
{
	witness_streams(ctx);
	return world_int(ctx, "SELECT count(*) FROM witness.stream_missing") == 0;
}

static void check_list(void)
{
	const char *const args[] = {"group", "list", "--json", NULL};
	json_t *json;

	story_receive_all(world, "a", 3);
	CHECK(await(is_published, world, STORY_WAIT_MS));
	redis("XGROUP CREATE " STREAM " mailer 0");
	CHECK(story_await_registered(world, "mailer", 1));
	json = story_umavez(world, args);
	CHECK_STR(story_get(json, "groups/0/name"), "mailer");
	CHECK_STR(story_get(json, "groups/0/registered"), "true");
	CHECK_STR(story_get(json, "groups/0/in_stream"), "true");
	CHECK_STR(story_get(json, "groups/0/acknowledged"), "0-0");
	CHECK_STR(story_get(json, "groups/0/delivered"), "0-0");
	CHECK_STR(story_get(json, "groups/1"), "(missing)");
	json_decref(json);
	redis("XREADGROUP GROUP mailer me COUNT 2 STREAMS " STREAM " >");
	SAYS(0, ", 2 pending\n", "", "group", "list");
	redis("XGROUP DESTROY " STREAM " mailer");
	SAYS(0, "missing: nothing is trimmed\n", "", "group", "list");
}

static void check_drop(void)
{
	SAYS(1, "", "no such group is registered", "group", "drop", "nobody");
	/* Missing in the stream: it blocks trimming until it is dropped. */
	SAYS(2, "would be forgotten in shard 0: what stands after ", "nothing was done: give --yes",
	    "group", "drop", "mailer");
	SAYS(2, "{\"group\":\"mailer\",\"done\":false,\"destroy\":false,\"groups\":[{\"shard\":0,",
	    "nothing was done: give --yes", "group", "drop", "mailer", "--json");
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.stream_group"), 1);
	SAYS(0, "forgotten in shard 0: what stands after ", "", "group", "drop", "mailer", "--yes");
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.stream_group"), 0);
	redis("XGROUP CREATE " STREAM " mailer 0");
	CHECK(story_await_registered(world, "mailer", 1));
	SAYS(1, "", "no such group", "group", "drop", "mailer", "--shard", "1");
	SAYS(1, "",
	    "it is still in 1 stream, where relays would register it again: stop what reads there",
	    "group", "drop", "mailer", "--yes");
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.stream_group"), 1);
	story_cursor(world, "mailer", 0);
	SAYS(1, "", "it is a consumer's, which umavez consumer forget ends", "group", "drop",
	    "mailer", "--yes");
	SAYS(2, "",
	    "mailer is a consumer, with cursors and an inbox: umavez consumer forget ends it",
	    "group", "drop", "mailer", "--destroy");
	story_consumer_lease(world, "mailer", 0, "consumer-1");
	SAYS(1, "",
	    "it is a consumer's, which umavez consumer forget ends; and it is alive: stop "
	    "consumer-1",
	    "group", "drop", "mailer", "--destroy", "--yes");
	CHECK_INT(redis("XINFO GROUPS " STREAM), 1);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.stream_group"), 1);
	world_sql(world, "DELETE FROM effects.shard_lease; DELETE FROM effects.cursor");
	SAYS(2, "would be destroyed in " STREAM ", at 0-0 with 0 pending\nwould be forgotten",
	    "nothing was done: give --yes", "group", "drop", "mailer", "--destroy");
	CHECK_INT(redis("XINFO GROUPS " STREAM), 1);
	SAYS(0, "destroyed in " STREAM, "", "group", "drop", "mailer", "--destroy", "--yes");
	CHECK_INT(redis("XINFO GROUPS " STREAM), 0);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.stream_group"), 0);
	SAYS(2, "", "say list, or drop", "group", "drop");
	SAYS(2, "", "say list, or drop", "group");
	SAYS(1, "", "Redis: connect", "group", "drop", "x", "--destroy", "--redis-url",
	    "unix:///nowhere/redis.sock");
}

static void check_reset(void)
{
	SAYS(2, STREAM " is a stream of 3 entries, ", "nothing was done: give --yes", "stream",
	    "reset", "0");
	SAYS(2, "{\"shard\":0,\"key\":\"" STREAM "\",\"type\":\"stream\",\"aside\":\"umavez:aside:",
	    "nothing was done: give --yes", "stream", "reset", "0", "--json");
	redis("SET " STREAM " x");
	story_receive_all(world, "b", 3);
	CHECK(proc_await_log(relay, "`umavez stream reset`", STORY_WAIT_MS));
	SAYS(2, STREAM " is a string\nwould be renamed to umavez:aside:{0}:", "give --yes",
	    "stream", "reset", "0");
	CHECK_INT(redis("STRLEN " STREAM), 1);
	SAYS(0, "\nrenamed to umavez:aside:{0}:", "", "stream", "reset", "0", "--yes");
	CHECK(await(is_published, world, STORY_WAIT_MS));
	CHECK_INT(redis("KEYS umavez:aside:{0}:*"), 1);
	CHECK_INT(invariants_broken(world, INVARIANTS_STREAM), 0);
}

static void check_reset_far_future(void)
{
	redis("XGROUP CREATE " STREAM " mailer 0");
	redis("XADD " STREAM " 9999999999999-1 not ours");
	story_receive_all(world, "c", 3);
	CHECK(proc_await_log(relay, "more than a day in the future", STORY_WAIT_MS));
	SAYS(0, "  group mailer at 0-0 goes with it\n", "", "stream", "reset", "0", "--yes");
	CHECK(await(is_published, world, STORY_WAIT_MS));
	CHECK_INT(redis("XLEN " STREAM), world_int(world, "SELECT count(*) FROM intake.outbox"));
	CHECK_INT(invariants_broken(world, INVARIANTS_STREAM), 0);
}

static void check_reset_refused(void)
{
	SAYS(2, "", "there is no shard 7", "stream", "reset", "7");
	SAYS(2, "", "say reset", "stream", "reset", "x");
	SAYS(2, "", "say reset", "stream", "reset");
	redis("DEL umavez:purchases:{1}");
	SAYS(1, "", "does not exist", "stream", "reset", "1");
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
	int status;

	world = world_open(2);
	witness_install(world);
	story_one_shard(world);
	relay = story_relay(world);
	status = check_main("cli group", checks, argc, argv);
	world_close(world);
	return status;
}
