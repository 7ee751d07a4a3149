/*
 * umavez trace: every stage of a message's way, and where it is stuck, as the operator's role.
 */
#include "tests/cli/story.h"
#include "tests/cli/traced.h"
#include "tests/schema/notes.h"
#include "tests/support/check.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct world *world;

static void check_stages(void)
{
	char want[200];
	int64_t row, tick;

	story_clean(world);
	row = story_receive(world, "app_store", "n1", "p1");
	traced_check_stuck(world, "n1", "unpublished", "not ticked: no relay holds shard 0");
	traced_check_steps(world, "n1", "received committed");

	tick = story_tick(world, 0);
	snprintf(want, sizeof(want),
	    "ticked as %" PRId64 "-%" PRId64 ", not published: no relay holds shard 0", tick, row);
	traced_check_stuck(world, "n1", "unpublished", want);
	traced_check_steps(world, "n1", "received committed ticked");

	story_publish(world, 0, tick, row);
	traced_check_stuck(world, "n1", "pending", "published, no consumer has read shard 0 yet");
	story_cursor(world, "entitlements", 0);
	traced_check_stuck(world, "n1", "pending",
	    "published, the consumer entitlements has not got to it: lag 1 entry,"
	    " nobody holds the lease");
	traced_check_steps(world, "n1", "received committed ticked published");
	story_consumer_lease(world, "entitlements", 0, "consumer-1");
	traced_check_stuck(world, "n1", "pending",
	    "published, the consumer entitlements has not got to it: lag 1 entry,"
	    " consumer-1 holds the lease; if that lasts, its log and its /readyz say why");

	story_apply(world, "entitlements", 0, tick, row);
	traced_check_stuck(world, "n1", "applied", "null");
	traced_check_steps(world, "n1", "received committed ticked published delivered applied");
	/* Another consumer has its own opinion. */
	story_cursor(world, "mailer", 0);
	traced_check_stuck(world, "n1", "pending",
	    "published, the consumer mailer has not got to it: lag 1 entry,"
	    " nobody holds the lease");
}

static void check_relay_at_work(void)
{
	json_t *json;

	story_clean(world);
	story_receive(world, "app_store", "n1", "p1");
	story_relay_lease(world, 0, "relay-1");
	json = traced(world, "n1");
	CHECK(strncmp(story_get(json, "stuck"), "not ticked: the relay relay-1 holds shard 0",
		  43) == 0);
	json_decref(json);
	story_tick(world, 0);
	json = traced(world, "n1");
	CHECK(strstr(story_get(json, "stuck"), "not published: the relay relay-1 has got to 0-0") !=
	      NULL);
	json_decref(json);
}

static void check_quarantined(void)
{
	struct note odd = {
	    .store = "stripe", .id = "sha256:ab", .kind = "unrecognized", .remark = "no id"};
	PGconn *conn = world_pg(world);
	json_t *json;

	story_clean(world);
	notes_receive(conn, &odd, 1, NULL);
	PQfinish(conn);
	traced_check_stuck(world, "sha256:ab", "quarantined", "no id");
	traced_check_steps(world, "sha256:ab", "received committed");
	json = traced(world, "sha256:ab");
	CHECK(strcmp(story_get(json, "steps/1/at"), "null") != 0);
	json_decref(json);
}

static void check_emitted(void)
{
	int64_t row, tick;
	json_t *json;

	story_clean(world);
	world_sql(world,
	    "INSERT INTO intake.emitter VALUES ('postgres', 'billing') ON CONFLICT DO NOTHING");
	row = world_int(
	    world, "SELECT intake.emit('billing', 'm1', 'invoice.paid', 'customer/1', '{}')");
	traced_check_stuck(world, "m1", "unpublished", "not ticked: no relay holds shard 0");
	story_cursor(world, "entitlements", 0);
	tick = story_tick(world, 0);
	story_publish(world, 0, tick, row);
	story_apply(world, "entitlements", 0, tick, row);
	traced_check_stuck(world, "billing/m1", "applied", "null");
	traced_check_steps(world, "m1", "committed ticked published delivered applied");
	json = traced(world, "m1");
	CHECK_STR(story_get(json, "source"), "billing");
	CHECK_STR(story_get(json, "message_id"), "m1");
	CHECK_STR(story_get(json, "type"), "invoice.paid");
	CHECK_STR(story_get(json, "store"), "(missing)");
	CHECK_STR(story_get(json, "notification_id"), "(missing)");
	json_decref(json);
	/* Once more under the same id: one message still. */
	world_sql(world, "SELECT intake.emit('billing', 'm1', 'invoice.paid', 'customer/1', '{}')");
	traced_check_stuck(world, "m1", "applied", "null");
	STORY_SAYS(
	    world, 0, "billing/m1  invoice.paid (emitted by an application)\n", "", "trace", "m1");
}

/* Its inbox row keeps the reason, whatever another consumer has made of it. */
static void check_discarded(void)
{
	int64_t row, tick;
	json_t *json;

	story_clean(world);
	story_cursor(world, "entitlements", 0);
	story_cursor(world, "shop", 0);
	row = story_receive(world, "app_store", "n1", "p1");
	tick = story_tick(world, 0);
	story_publish(world, 0, tick, row);
	story_apply(world, "entitlements", 0, tick, row);
	world_sql(world, "UPDATE effects.inbox SET discarded = 'a test' WHERE message_id = 'n1'");
	traced_check_outcome(world, "n1", "pending");
	json = traced(world, "n1");
	CHECK_STR(story_get(json, "steps/5/step"), "discarded");
	CHECK_STR(story_get(json, "steps/5/reason"), "a test");
	json_decref(json);
	STORY_SAYS(world, 0, ": a test  by ", "", "trace", "n1");
}

/* After a repair it stands twice, and each time is told. */
static void check_published_again(void)
{
	int64_t row, tick, repair;

	story_clean(world);
	row = story_receive(world, "app_store", "n1", "p1");
	tick = story_tick(world, 0);
	story_publish(world, 0, tick, row);
	repair = world_int(world,
	    "INSERT INTO intake.tick (shard, previous_tick, tick, snapshot, from_tick, from_id,"
	    " replay)"
	    " VALUES (0, %" PRId64 ", %" PRId64 " + 1000000, pg_current_snapshot(), 1, 0, true)"
	    " RETURNING tick",
	    tick, tick);
	story_publish(world, 0, repair, row);
	traced_check_steps(world, "n1", "received committed ticked published ticked published");
}

/* The rule is reconcile's: past the cursor, and neither applied nor parked. */
static void check_lost(void)
{
	json_t *json;

	story_clean(world);
	story_cursor(world, "entitlements", 0);
	story_cursor(world, "shop", 0);
	int64_t row = story_receive(world, "app_store", "n1", "p1"), tick = story_tick(world, 0);
	story_publish(world, 0, tick, row);
	story_apply(world, "entitlements", 0, tick, row);
	story_apply(world, "shop", 0, tick, row);
	traced_check_stuck(world, "n1", "applied", "null");
	world_sql(world, "DELETE FROM effects.inbox WHERE consumer = 'shop'");
	json = traced(world, "n1");
	CHECK_STR(story_get(json, "outcome"), "lost");
	CHECK_STR(story_get(json, "consumers/entitlements"), "applied");
	CHECK_STR(story_get(json, "consumers/shop"), "lost");
	json_decref(json);
	STORY_SAYS(world, 0, "\nlost: the cursor of shop is at ", "", "trace", "n1");
	STORY_SAYS(world, 0, " shop\n", "", "trace", "n1");
	/* It comes again by another row, and is applied from that. */
	CHECK_INT(world_int(world, "SELECT intake.republish(ARRAY[%" PRId64 "])", row), 1);
	row = world_int(world, "SELECT max(id) FROM intake.outbox");
	tick = story_tick(world, 0);
	story_publish(world, 0, tick, row);
	story_apply(world, "shop", 0, tick, row);
	traced_check_stuck(world, "n1", "applied", "null");
	traced_check_steps(world, "n1",
	    "received committed ticked published republished delivered applied delivered applied");
	char *position = text_format("%" PRId64 "-%" PRId64, tick, row);
	STORY_SAYS(world, 0, " (republished, first as ", "", "trace", position);
	free(position);
}

/* Published at a time that is not known, rather than when it first was. */
static void check_applied_then_republished(void)
{
	story_clean(world);
	story_cursor(world, "entitlements", 0);
	int64_t row = story_receive(world, "app_store", "n1", "p1"), tick = story_tick(world, 0);
	story_publish(world, 0, tick, row);
	story_apply(world, "entitlements", 0, tick, row);
	CHECK_INT(world_int(world, "SELECT intake.republish(ARRAY[%" PRId64 "])", row), 1);
	row = world_int(world, "SELECT max(id) FROM intake.outbox");
	tick = story_tick(world, 0);
	story_publish(world, 0, tick, row);
	world_sql(world, "UPDATE effects.inbox SET processed_at = processed_at - interval '1 s'");
	story_apply(world, "entitlements", 0, tick, row);
	STORY_SAYS(world, 0, "\n  republished  ? ", "", "trace", "n1");
	traced_check_steps(
	    world, "n1", "received committed ticked published republished delivered applied");
}

static void check_trimmed(void)
{
	int64_t row, tick, next;

	story_clean(world);
	story_cursor(world, "entitlements", 0);
	row = story_receive(world, "app_store", "n1", "p1");
	tick = story_tick(world, 0);
	next = story_receive(world, "app_store", "n2", "p2");
	story_publish(world, 0, tick, row);
	story_publish(world, 0, story_tick(world, 0), next);
	world_redis_run(world, "XTRIM umavez:purchases:{0} MAXLEN 1");
	traced_check_steps(world, "n1", "received committed ticked published");
	traced_check_outcome(world, "n1", "missed");
	STORY_SAYS(world, 0, "trimmed from the stream since\n", "", "trace", "n1");
	story_apply(world, "entitlements", 0, tick, row);
	traced_check_stuck(world, "n1", "applied", "null");
}

static const struct check checks[] = {
    {"every stage, and where it is stuck", check_stages},
    {"a relay at work", check_relay_at_work},
    {"quarantined", check_quarantined},
    {"an emitted event", check_emitted},
    {"a discarded one, and why", check_discarded},
    {"published again", check_published_again},
    {"lost, then republished", check_lost},
    {"applied, then republished", check_applied_then_republished},
    {"trimmed", check_trimmed},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(1);
	status = check_main("cli trace stages", checks, argc, argv);
	world_close(world);
	return status;
}
