/*
 * umavez republish, beside the real relay and consumer: what was lost comes back, what was applied
 * stays applied once.
 */
#include "tests/cli/story.h"
#include "tests/support/check.h"
#include "tests/support/invariants.h"
#include "tests/support/world.h"

#include <stdlib.h>

static struct world *world;

#define SAYS(status, out, err, ...) STORY_SAYS(world, status, out, err, "republish", __VA_ARGS__)

static int64_t inbox(void)
{
	return world_int(world, "SELECT count(*) FROM effects.inbox");
}

/* Until every row's first position lies at or before the consumer's cursor. */
static bool await_read(void)
{
	return world_await_int(world, 0, STORY_WAIT_MS,
	    "SELECT count(*) FROM intake.outbox AS o LEFT JOIN effects.cursor AS c USING (shard)"
	    " WHERE intake.stands_after(o.shard, o.id, o.xid,"
	    " split_part(coalesce(c.stream_id, '0-0'), '-', 1)::bigint,"
	    " split_part(coalesce(c.stream_id, '0-0'), '-', 2)::bigint)");
}

static void check_message(void)
{
	int64_t first = story_receive(world, "app_store", "m1", "p1");
	char *position, *tick;

	CHECK(await_read());
	CHECK_INT(inbox(), 1);
	SAYS(0, "republished 1 of 1", "", "--message", "m1");
	tick = world_text(world, "SELECT stream_id FROM effects.inbox");
	position = world_text(
	    world, "SELECT first_position FROM intake.outbox WHERE first_position IS NOT NULL");
	/* Where it was applied is where it first stood. */
	CHECK_STR(position, tick);
	CHECK(await_read());
	CHECK_INT(inbox(), 1);
	/* Again, and lost this time. */
	world_sql(world, "DELETE FROM effects.inbox");
	SAYS(0, "{\"found\":1,\"republished\":1,\"dry_run\":false}", "", "--message", "m1",
	    "--source", "app_store", "--json");
	CHECK(world_await_int(world, 1, STORY_WAIT_MS, "SELECT count(*) FROM effects.inbox"));
	CHECK_INT(world_int(world, "SELECT count(DISTINCT first_position) FROM intake.outbox"
				   " WHERE first_position IS NOT NULL"),
	    1);
	CHECK(first > 0);
	free(position);
	free(tick);
}

static void check_range(void)
{
	char *since = world_text(world, "SELECT clock_timestamp()");
	char *until;
	int64_t rows, before = inbox();

	for (int i = 0; i < 1200; i += 400)
		world_sql(world,
		    "DO $$ BEGIN FOR i IN %d..%d LOOP PERFORM intake.emit('app', 'e' || i, 't',"
		    " 'app/' || i %% 7, '{}'); END LOOP; END $$",
		    i, i + 399);
	CHECK(await_read());
	CHECK_INT(inbox(), before + 1200);
	until = world_text(world, "SELECT clock_timestamp()");

	rows = world_int(world, "SELECT count(*) FROM intake.outbox");
	SAYS(0, "would republish 1200 messages\n", "", "--since", since, "--until", until,
	    "--dry-run");
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox"), rows);
	world_sql(world, "DELETE FROM effects.inbox WHERE message_id LIKE 'e1%%'");
	SAYS(0, "republished 1200 of 1200 messages\n", "", "--since", since, "--until", until);
	CHECK(world_await_int(
	    world, before + 1200, STORY_WAIT_MS, "SELECT count(*) FROM effects.inbox"));
	/* What was republished is not in the range itself. */
	SAYS(0, "would republish 1200 messages\n", "", "--since", since, "--until", until,
	    "--dry-run");
	free(since);
	free(until);
}

static void check_purchase(void)
{
	story_receive(world, "stripe", "r1", "sub_1");
	story_receive(world, "stripe", "r2", "sub_1");
	story_receive(world, "app_store", "r3", "sub_1");
	CHECK(await_read());
	SAYS(0, "republished 2 of 2 messages\n", "", "--purchase", "stripe/sub_1");
	CHECK(await_read());
	CHECK_INT(invariants_broken(world, INVARIANTS_EFFECTS | INVARIANTS_STREAM), 0);
}

/* What no tick has seen is on its way. */
static void check_unticked(void)
{
	PGconn *conn = world_pg(world);

	PQclear(PQexec(conn, "BEGIN; LOCK TABLE intake.tick IN SHARE ROW EXCLUSIVE MODE"));
	story_receive(world, "stripe", "u1", "sub_2");
	SAYS(0, "republished 0 of 1 message; the others are not ticked yet\n", "", "--message",
	    "u1");
	PQfinish(conn);
	CHECK(await_read());
}

static void check_refusals(void)
{
	story_receive(world, "stripe", "same", "sub_3");
	story_receive(world, "app_store", "same", "sub_3");
	CHECK(await_read());
	SAYS(2, "", "give one of --message", NULL);
	SAYS(2, "", "give one of --message", "--message", "a", "--purchase", "b/c");
	SAYS(2, "", "go together", "--since", "2026-01-01");
	SAYS(2, "", "--since, --until: ", "--since", "2026-01-01", "--until", "yesteryear");
	SAYS(2, "", "STORE/ID", "--purchase", "sub_1");
	SAYS(2, "", "2 sources", "--message", "same");
	SAYS(1, "republished 0 of 0", "no such message", "--message", "nothing");
	SAYS(0, "republished 1 of 1", "", "--message", "same", "--source", "stripe");
}

static const struct check checks[] = {
    {"a message", check_message},
    {"a purchase", check_purchase},
    {"a time range", check_range},
    {"not ticked yet", check_unticked},
    {"refusals", check_refusals},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(2);
	witness_install(world);
	world_sql(
	    world, "INSERT INTO intake.emitter (role_name, source) VALUES ('postgres', 'app')");
	world_relay(world, NULL, NULL);
	world_consumer(world, NULL, NULL);
	status = check_main("cli republish", checks, argc, argv);
	world_close(world);
	return status;
}
