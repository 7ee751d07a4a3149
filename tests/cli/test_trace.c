/*
 * umavez trace: what it is asked by, every kind of ID, and how it tells, as the operator's role.
 */
#include "tests/cli/story.h"
#include "tests/cli/traced.h"
#include "tests/schema/notes.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world *world;

/* A whole life: what each step says. */
static int64_t live(const char *store, const char *id, const char *purchase)
{
	int64_t row = story_receive(world, store, id, purchase), tick = story_tick(world, 0);

	story_publish(world, 0, tick, row);
	story_apply(world, "entitlements", 0, tick, row);
	return tick;
}

static void check_shape(void)
{
	char position[60];
	int64_t tick;
	json_t *json;

	story_clean(world);
	story_cursor(world, "entitlements", 0);
	tick = live("app_store", "n1", "p1");
	snprintf(position, sizeof(position), "%" PRId64 "-%" PRId64, tick,
	    world_int(world, "SELECT id FROM intake.outbox"));
	json = traced(world, "n1");
	CHECK_STR(story_get(json, "store"), "app_store");
	CHECK_STR(story_get(json, "notification_id"), "n1");
	CHECK_STR(story_get(json, "trace_id"), STORY_TRACE);
	CHECK_STR(story_get(json, "purchase/store_purchase_id"), "p1");
	CHECK_STR(story_get(json, "purchase/version"), "1");
	CHECK_STR(story_get(json, "steps/0/at"), "2026-01-01T00:00:11.000Z");
	CHECK_STR(story_get(json, "steps/0/after_ms"), "null");
	CHECK_STR(story_get(json, "steps/0/by"), "null");
	CHECK_TEXT(world, "SELECT xid FROM intake.notification", story_get(json, "steps/1/xid"));
	CHECK_STR(story_get(json, "steps/2/stream_id"), position);
	CHECK_STR(story_get(json, "steps/3/stream_id"), position);
	CHECK_STR(story_get(json, "steps/3/by"), "relay-1");
	CHECK_STR(story_get(json, "steps/3/at"), "2026-01-01T00:00:20.500Z");
	CHECK_STR(story_get(json, "steps/4/by"), "consumer-1");
	CHECK_STR(story_get(json, "steps/4/after_ms"), "500");
	CHECK_STR(story_get(json, "steps/5/consumer"), "entitlements");
	CHECK_TEXT(world, "SELECT xid FROM effects.inbox", story_get(json, "steps/5/xid"));
	CHECK_STR(story_get(json, "consumers/entitlements"), "applied");
	CHECK_INT((int64_t)json_object_size(json), 8);
	json_decref(json);
}

static void check_found(const char *id, const char *notification)
{
	json_t *json = traced(world, id);

	CHECK_STR(story_get(json, "notification_id"), notification);
	json_decref(json);
}

static void check_ids(void)
{
	char position[60];
	int64_t tick;

	story_clean(world);
	story_cursor(world, "entitlements", 0);
	tick = live("app_store", "n1", "p1");
	snprintf(position, sizeof(position), "%" PRId64 "-%" PRId64, tick,
	    world_int(world, "SELECT id FROM intake.outbox"));
	check_found("n1", "n1");
	check_found("app_store/n1", "n1");
	check_found("p1", "n1");
	check_found("app_store/p1", "n1");
	check_found(STORY_TRACE, "n1");
	check_found(position, "n1");
	/* Once the row is gone, the entry still tells who it is. */
	world_sql(world, "TRUNCATE intake.outbox");
	check_found(position, "n1");
	traced_check_stuck(world, "n1", "applied", "null");
}

static void check_not_found(void)
{
	static const char *const ids[] = {"nobody", "stripe/n1", "1-1", "app_store/", "/", "",
	    "00000000000000000000000000000000"};
	char *err = NULL;

	story_clean(world);
	story_receive(world, "app_store", "n1", "p1");
	for (size_t i = 0; i < sizeof(ids) / sizeof(ids[0]); i++) {
		const char *const args[] = {"trace", ids[i], NULL};

		CHECK_INT(world_run_all(world, "umavez", args, NULL, NULL, &err), 1);
		CHECK(strstr(err, "nothing is called") != NULL);
		free(err);
	}
}

/* Newest last, each an object of its own. */
static void check_purchase(void)
{
	const char *const args[] = {"trace", "--json", "google_play/tok", NULL};
	char *out = NULL;

	story_clean(world);
	story_receive(world, "google_play", "b", "tok");
	story_receive(world, "google_play", "a", "tok");
	story_receive(world, "stripe", "c", "tok");
	CHECK_INT(world_run(world, &out, "umavez", args), 0);
	const char *a = strstr(out, "\"notification_id\":\"a\"");
	const char *b = strstr(out, "\"notification_id\":\"b\"");
	CHECK(a && b && a < b && strchr(a, '\n') < b);
	CHECK(strstr(out, "\"notification_id\":\"c\"") == NULL);
	free(out);
}

static void check_without_redis(void)
{
	const char *const args[] = {
	    "trace", "--json", "n1", "--redis-url", "unix:///nowhere/redis.sock", NULL};
	json_t *json;

	story_clean(world);
	story_cursor(world, "entitlements", 0);
	live("app_store", "n1", "p1");
	json = story_umavez(world, args);
	CHECK_STR(story_get(json, "outcome"), "applied");
	CHECK_STR(story_get(json, "steps/3/step"), "published");
	json_decref(json);
	world_sql(world, "TRUNCATE effects.inbox; UPDATE effects.cursor SET stream_id = '0-0'");
	json = story_umavez(world, args);
	CHECK_STR(story_get(json, "outcome"), "unpublished");
	CHECK(strstr(story_get(json, "stuck"), "whether it is in the stream cannot be said: ") !=
	      NULL);
	json_decref(json);
}

static void check_consumer_option(void)
{
	const char *const args[] = {"trace", "--json", "n1", "--consumer", "mailer", NULL};
	json_t *json;

	story_clean(world);
	story_cursor(world, "entitlements", 0);
	live("app_store", "n1", "p1");
	json = story_umavez(world, args);
	CHECK_STR(story_get(json, "outcome"), "pending");
	CHECK(strstr(story_get(json, "stuck"), "the consumer mailer") != NULL);
	json_decref(json);
}

/* For people: aligned, no colour in a pipe, nothing raw from outside. */
static void check_human(void)
{
	const char *const args[] = {"trace", "purchase\033[2J\u202e", NULL};
	char *out = NULL;

	story_clean(world);
	story_receive(world, "app_store", "evil\033]0;x\007", "purchase\033[2J\u202e");
	CHECK_INT(world_run(world, &out, "umavez", args), 0);
	CHECK(strchr(out, '\033') == NULL);
	CHECK(strstr(out, "\u202e") == NULL);
	CHECK(strstr(out, "app_store/evil\\u{1b}]0;x\\u{7}  purchase.renewed") != NULL);
	CHECK(strstr(out, "\n  received   2026-01-01T00:00:11.000Z\n") != NULL);
	CHECK(strstr(out, "unpublished: not ticked: no relay holds shard 0\n") != NULL);
	free(out);
}

static const struct check checks[] = {
    {"the JSON shape", check_shape},
    {"every kind of ID", check_ids},
    {"an unknown ID", check_not_found},
    {"a purchase: all its notifications, newest last", check_purchase},
    {"without Redis", check_without_redis},
    {"--consumer", check_consumer_option},
    {"for people", check_human},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(1);
	status = check_main("cli trace", checks, argc, argv);
	world_close(world);
	return status;
}
