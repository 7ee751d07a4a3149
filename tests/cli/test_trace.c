/*
 * umavez trace: every stage of a message's way, by every kind of ID, as the operator's role.
 */
#include "tests/cli/story.h"
#include "tests/schema/notes.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world *world;

static void clean(void)
{
	redisContext *redis = world_redis(world);

	freeReplyObject(redisCommand(redis, "FLUSHALL"));
	redisFree(redis);
	world_sql(world, "TRUNCATE intake.notification, intake.purchase, intake.outbox,"
			 " effects.inbox, effects.cursor, effects.shard_lease");
	world_sql(world, "DELETE FROM intake.tick WHERE tick > 1");
	world_sql(world, "UPDATE intake.shard_lease SET holder = NULL, expires_at = NULL");
}

static json_t *trace(const char *id)
{
	const char *const args[] = {"trace", "--json", id, NULL};

	return story_umavez(world, args);
}

static void check_stuck(const char *id, const char *outcome, const char *stuck)
{
	json_t *json = trace(id);

	CHECK_STR(story_get(json, "outcome"), outcome);
	CHECK_STR(story_get(json, "stuck"), stuck);
	json_decref(json);
}

static void check_outcome(const char *id, const char *outcome)
{
	json_t *json = trace(id);

	CHECK_STR(story_get(json, "outcome"), outcome);
	json_decref(json);
}

/* "received committed ticked" */
static void check_steps(const char *id, const char *want)
{
	json_t *json = trace(id), *step;
	char *steps = text_format("%s", ""), *longer;
	size_t i;

	json_array_foreach (json_object_get(json, "steps"), i, step) {
		longer = text_format("%s%s%s", steps, i ? " " : "", story_get(step, "step"));
		free(steps);
		steps = longer;
	}
	CHECK_STR(steps, want);
	free(steps);
	json_decref(json);
}

static void check_stages(void)
{
	char want[200];
	int64_t row, tick;

	clean();
	row = story_receive(world, "app_store", "n1", "p1");
	check_stuck("n1", "unpublished", "not ticked: no relay holds shard 0");
	check_steps("n1", "received committed");

	tick = story_tick(world, 0);
	snprintf(want, sizeof(want),
	    "ticked as %" PRId64 "-%" PRId64 ", not published: no relay holds shard 0", tick, row);
	check_stuck("n1", "unpublished", want);
	check_steps("n1", "received committed ticked");

	story_publish(world, 0, tick, row);
	check_stuck("n1", "pending", "published, no consumer has read shard 0 yet");
	story_cursor(world, "entitlements", 0);
	check_stuck("n1", "pending",
	    "published, the consumer entitlements has not got to it: lag 1 entry, nobody holds "
	    "the"
	    " lease");
	check_steps("n1", "received committed ticked published");
	story_consumer_lease(world, "entitlements", 0, "consumer-1");
	check_stuck("n1", "pending",
	    "published, the consumer entitlements has not got to it: lag 1 entry, consumer-1 "
	    "holds"
	    " the lease");

	story_apply(world, "entitlements", 0, tick, row);
	check_stuck("n1", "applied", "null");
	check_steps("n1", "received committed ticked published delivered applied");
	/* Another consumer has its own opinion. */
	story_cursor(world, "mailer", 0);
	check_stuck("n1", "pending",
	    "published, the consumer mailer has not got to it: lag 1 entry, nobody holds the "
	    "lease");
}

static void check_relay_at_work(void)
{
	json_t *json;

	clean();
	story_receive(world, "app_store", "n1", "p1");
	story_relay_lease(world, 0, "relay-1");
	json = trace("n1");
	CHECK(strncmp(story_get(json, "stuck"), "not ticked: the relay relay-1 holds shard 0",
		  43) == 0);
	json_decref(json);
	story_tick(world, 0);
	json = trace("n1");
	CHECK(strstr(story_get(json, "stuck"), "not published: the relay relay-1 has got to 0-0") !=
	      NULL);
	json_decref(json);
}

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

	clean();
	story_cursor(world, "entitlements", 0);
	tick = live("app_store", "n1", "p1");
	snprintf(position, sizeof(position), "%" PRId64 "-%" PRId64, tick,
	    world_int(world, "SELECT id FROM intake.outbox"));
	json = trace("n1");
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
	json_t *json = trace(id);

	CHECK_STR(story_get(json, "notification_id"), notification);
	json_decref(json);
}

static void check_ids(void)
{
	char position[60];
	int64_t tick;

	clean();
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
	check_stuck("n1", "applied", "null");
}

static void check_not_found(void)
{
	static const char *const ids[] = {"nobody", "stripe/n1", "1-1", "app_store/", "/", "",
	    "00000000000000000000000000000000"};
	char *err = NULL;

	clean();
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

	clean();
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

static void check_quarantined(void)
{
	struct note odd = {
	    .store = "stripe", .id = "sha256:ab", .kind = "unrecognized", .remark = "no id"};
	PGconn *conn = world_pg(world);
	json_t *json;

	clean();
	notes_receive(conn, &odd, 1, NULL);
	PQfinish(conn);
	check_stuck("sha256:ab", "quarantined", "no id");
	check_steps("sha256:ab", "received committed");
	json = trace("sha256:ab");
	CHECK(strcmp(story_get(json, "steps/1/at"), "null") != 0);
	json_decref(json);
}

static void check_emitted(void)
{
	int64_t row, tick;
	json_t *json;

	clean();
	world_sql(world,
	    "INSERT INTO intake.emitter VALUES ('postgres', 'billing') ON CONFLICT DO NOTHING");
	row = world_int(
	    world, "SELECT intake.emit('billing', 'm1', 'invoice.paid', 'customer/1', '{}')");
	check_stuck("m1", "unpublished", "not ticked: no relay holds shard 0");
	story_cursor(world, "entitlements", 0);
	tick = story_tick(world, 0);
	story_publish(world, 0, tick, row);
	story_apply(world, "entitlements", 0, tick, row);
	check_stuck("billing/m1", "applied", "null");
	check_steps("m1", "committed ticked published delivered applied");
	json = trace("m1");
	CHECK_STR(story_get(json, "source"), "billing");
	CHECK_STR(story_get(json, "message_id"), "m1");
	CHECK_STR(story_get(json, "type"), "invoice.paid");
	CHECK_STR(story_get(json, "store"), "(missing)");
	CHECK_STR(story_get(json, "notification_id"), "(missing)");
	json_decref(json);
	/* Once more under the same id: one message still. */
	world_sql(world, "SELECT intake.emit('billing', 'm1', 'invoice.paid', 'customer/1', '{}')");
	check_stuck("m1", "applied", "null");
	story_check_says(world, (const char *const[]){"trace", "m1", NULL}, 0,
	    "billing/m1  invoice.paid (emitted by an application)\n", "");
}

/* Its inbox row keeps the reason, whatever another consumer has made of it. */
static void check_discarded(void)
{
	int64_t row, tick;
	json_t *json;

	clean();
	story_cursor(world, "entitlements", 0);
	story_cursor(world, "shop", 0);
	row = story_receive(world, "app_store", "n1", "p1");
	tick = story_tick(world, 0);
	story_publish(world, 0, tick, row);
	story_apply(world, "entitlements", 0, tick, row);
	world_sql(world, "UPDATE effects.inbox SET discarded = 'a test' WHERE message_id = 'n1'");
	check_outcome("n1", "pending");
	json = trace("n1");
	CHECK_STR(story_get(json, "steps/5/step"), "discarded");
	CHECK_STR(story_get(json, "steps/5/reason"), "a test");
	json_decref(json);
	story_check_says(world, (const char *const[]){"trace", "n1", NULL}, 0, ": a test  by ", "");
}

/* After a repair it stands twice, and each time is told. */
static void check_published_again(void)
{
	int64_t row, tick, repair;

	clean();
	row = story_receive(world, "app_store", "n1", "p1");
	tick = story_tick(world, 0);
	story_publish(world, 0, tick, row);
	repair = world_int(world,
	    "INSERT INTO intake.tick (shard, previous_tick, tick, snapshot, from_tick, from_id, "
	    "replay)"
	    " VALUES (0, %" PRId64 ", %" PRId64 " + 1000000, pg_current_snapshot(), 1, 0, true)"
	    " RETURNING tick",
	    tick, tick);
	story_publish(world, 0, repair, row);
	check_steps("n1", "received committed ticked published ticked published");
}

/* The rule is reconcile's: past the cursor, and neither applied nor parked. */
static void check_lost(void)
{
	const char *const human[] = {"trace", "n1", NULL};
	json_t *json;

	clean();
	story_cursor(world, "entitlements", 0);
	story_cursor(world, "shop", 0);
	int64_t row = story_receive(world, "app_store", "n1", "p1"), tick = story_tick(world, 0);
	story_publish(world, 0, tick, row);
	story_apply(world, "entitlements", 0, tick, row);
	story_apply(world, "shop", 0, tick, row);
	check_stuck("n1", "applied", "null");
	world_sql(world, "DELETE FROM effects.inbox WHERE consumer = 'shop'");
	json = trace("n1");
	CHECK_STR(story_get(json, "outcome"), "lost");
	CHECK_STR(story_get(json, "consumers/entitlements"), "applied");
	CHECK_STR(story_get(json, "consumers/shop"), "lost");
	json_decref(json);
	story_check_says(world, human, 0, "\nlost: the cursor of shop is at ", "");
	story_check_says(world, human, 0, " shop\n", "");
	/* It comes again by another row, and is applied from that. */
	CHECK_INT(world_int(world, "SELECT intake.republish(ARRAY[%" PRId64 "])", row), 1);
	row = world_int(world, "SELECT max(id) FROM intake.outbox");
	tick = story_tick(world, 0);
	story_publish(world, 0, tick, row);
	story_apply(world, "shop", 0, tick, row);
	check_stuck("n1", "applied", "null");
	check_steps("n1",
	    "received committed ticked published republished delivered applied delivered applied");
	char *position = text_format("%" PRId64 "-%" PRId64, tick, row);
	story_check_says(world, (const char *const[]){"trace", position, NULL}, 0,
	    " (republished, first as ", "");
	free(position);
}

static void check_trimmed(void)
{
	redisContext *redis = world_redis(world);
	int64_t row, tick, next;

	clean();
	story_cursor(world, "entitlements", 0);
	row = story_receive(world, "app_store", "n1", "p1");
	tick = story_tick(world, 0);
	next = story_receive(world, "app_store", "n2", "p2");
	story_publish(world, 0, tick, row);
	story_publish(world, 0, story_tick(world, 0), next);
	freeReplyObject(redisCommand(redis, "XTRIM umavez:purchases:{0} MAXLEN 1"));
	redisFree(redis);
	check_steps("n1", "received committed ticked published");
	check_outcome("n1", "missed");
	story_check_says(world, (const char *const[]){"trace", "n1", NULL}, 0,
	    "trimmed from the stream since\n", "");
	story_apply(world, "entitlements", 0, tick, row);
	check_stuck("n1", "applied", "null");
}

static void check_without_redis(void)
{
	const char *const args[] = {
	    "trace", "--json", "n1", "--redis-url", "unix:///nowhere/redis.sock", NULL};
	json_t *json;

	clean();
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

	clean();
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

	clean();
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
    {"every stage, and where it is stuck", check_stages},
    {"a relay at work", check_relay_at_work},
    {"the JSON shape", check_shape},
    {"every kind of ID", check_ids},
    {"an unknown ID", check_not_found},
    {"a purchase: all its notifications, newest last", check_purchase},
    {"quarantined", check_quarantined},
    {"an emitted event", check_emitted},
    {"a discarded one, and why", check_discarded},
    {"published again", check_published_again},
    {"lost, then republished", check_lost},
    {"trimmed", check_trimmed},
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
