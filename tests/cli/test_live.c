/*
 * umavez trace and status beside the real services: what they write is what the commands read.
 */
#include "tests/cli/story.h"
#include "tests/cli/traced.h"
#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/signer.h"
#include "tests/support/world.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct world *world;
static struct proc *producer, *relay, *consumer;

static void post(const char *id)
{
	char *event = stripe_event(id, "customer.subscription.updated", 1, (int64_t)time(NULL),
	    "{\"id\":\"sub_1\",\"object\":\"subscription\",\"status\":\"active\",\"customer\":"
	    "\"cus_1\"}");

	CHECK_INT(post_stripe(proc_url(producer), event, NULL), 200);
	free(event);
}

static void check_whole_life(void)
{
	static const char *const steps[] = {
	    "received", "committed", "ticked", "published", "delivered", "applied"};
	json_t *json, *step;

	post("evt_1");
	CHECK(world_await_int(
	    world, 1, 20000, "SELECT count(*) FROM effects.inbox WHERE message_id = 'evt_1'"));
	json = traced(world, "stripe/evt_1");
	CHECK_STR(story_get(json, "outcome"), "applied");
	CHECK_STR(story_get(json, "stuck"), "null");
	CHECK_STR(story_get(json, "purchase/store_purchase_id"), "sub_1");
	CHECK_INT((int64_t)json_array_size(json_object_get(json, "steps")), 6);
	for (size_t i = 0; i < 6; i++) {
		step = json_array_get(json_object_get(json, "steps"), i);
		CHECK_STR(story_get(step, "step"), steps[i]);
		CHECK(json_is_string(json_object_get(step, "at")));
		CHECK(json_is_integer(json_object_get(step, "after_ms")) == (i > 0));
		CHECK(json_is_string(json_object_get(step, "by")) == (i > 2));
	}
	json_decref(json);
}

/* The sum over all shards of a count, or the number of holders. */
static int64_t sum(const json_t *status, const char *name)
{
	const json_t *shard;
	int64_t total = 0;
	size_t i;

	json_array_foreach (json_object_get(status, "shards"), i, shard) {
		const json_t *value = json_object_get(shard, name);
		total += json_is_string(value) ? 1 : json_integer_value(value);
	}
	return total;
}

static json_t *status(void)
{
	const char *const args[] = {"status", "--json", NULL};

	return story_umavez(world, args);
}

static void check_waiting_for_the_consumer(void)
{
	json_t *json = status();

	CHECK_INT(sum(json, "relay"), 2);
	CHECK_INT(sum(json, "unticked") + sum(json, "unpublished") + sum(json, "lag_entries"), 0);
	json_decref(json);
	proc_kill(consumer, SIGKILL);
	proc_wait(consumer, 5000);
	post("evt_2");
	post("evt_3");
	CHECK(world_await_int(world, 1, 20000,
	    "SELECT count(*) FROM intake.outbox o WHERE message_id = 'evt_3'"
	    " AND EXISTS (SELECT FROM intake.ticks_of(o.shard, o.id, o.xid))"));
	for (int i = 0; i < 200; i++) {
		json = traced(world, "evt_3");
		bool published = strcmp(story_get(json, "outcome"), "pending") == 0;
		if (published)
			break;
		json_decref(json);
		json = NULL;
	}
	CHECK(json != NULL);
	CHECK(
	    strstr(story_get(json, "stuck"),
		"published, the consumer entitlements has not got to it: lag 2 entries, ") != NULL);
	json_decref(json);
	json = status();
	CHECK_INT(sum(json, "lag_entries"), 2);
	json_decref(json);
	proc_restart(consumer);
	CHECK(world_await_int(world, 3, 20000, "SELECT count(*) FROM effects.inbox"));
	json = status();
	CHECK_INT(sum(json, "lag_entries"), 0);
	json_decref(json);
}

static void check_waiting_for_the_relay(void)
{
	json_t *json;

	proc_kill(relay, SIGTERM);
	CHECK_INT(proc_wait(relay, 10000), 0);
	post("evt_4");
	json = traced(world, "evt_4");
	CHECK_STR(story_get(json, "outcome"), "unpublished");
	CHECK(strncmp(story_get(json, "stuck"), "not ticked: no relay holds shard ", 33) == 0);
	json_decref(json);
	json = status();
	CHECK_INT(sum(json, "unticked"), 1);
	CHECK_INT(sum(json, "relay"), 0);
	json_decref(json);
}

static const struct check checks[] = {
    {"a whole life", check_whole_life},
    {"stuck at the consumer", check_waiting_for_the_consumer},
    {"stuck at the relay", check_waiting_for_the_relay},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int result;

	world = world_open(2);
	producer = world_producer(world, NULL, NULL);
	relay = world_relay(world, NULL, NULL);
	consumer = world_consumer(world, NULL, NULL);
	/* It listens before it has a database connection: until then it answers 503. */
	if (!proc_await_ready(producer, 20000))
		die("the producer is not ready");
	result = check_main("cli live", checks, argc, argv);
	world_close(world);
	return result;
}
