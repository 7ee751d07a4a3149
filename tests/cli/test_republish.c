/*
 * umavez republish, beside the real relay and consumer: what was lost comes back, what was applied
 * stays applied once.
 */
#include "tests/cli/story.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/invariants.h"
#include "tests/support/world.h"

#include <stdlib.h>

#define WAIT_MS 20000

static struct world *world;

static void check_says(
    const char *const *more, int status, const char *out_has, const char *err_has)
{
	const char *args[16] = {"republish"};
	int n = 1;

	for (; *more; more++)
		args[n++] = *more;
	story_check_says(world, args, status, out_has, err_has);
}

static int64_t inbox(void)
{
	return world_int(world, "SELECT count(*) FROM effects.inbox");
}

/* Until every row's first position lies at or before the consumer's cursor. */
static bool await_read(void)
{
	return world_await_int(world, 0, WAIT_MS,
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
	check_says((const char *const[]){"--message", "m1", NULL}, 0, "republished 1 of 1", "");
	tick = world_text(world, "SELECT stream_id FROM effects.inbox");
	position = world_text(
	    world, "SELECT first_position FROM intake.outbox WHERE first_position IS NOT NULL");
	/* Where it was applied is where it first stood. */
	CHECK_STR(position, tick);
	CHECK(await_read());
	CHECK_INT(inbox(), 1);
	/* Again, and lost this time. */
	world_sql(world, "DELETE FROM effects.inbox");
	check_says(
	    (const char *const[]){"--message", "m1", "--source", "app_store", "--json", NULL}, 0,
	    "{\"found\":1,\"republished\":1,\"dry_run\":false}", "");
	CHECK(world_await_int(world, 1, WAIT_MS, "SELECT count(*) FROM effects.inbox"));
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
	const char *const range[] = {"--since", since, "--until", until, NULL};
	const char *const dry[] = {"--since", since, "--until", until, "--dry-run", NULL};

	rows = world_int(world, "SELECT count(*) FROM intake.outbox");
	check_says(dry, 0, "would republish 1200 messages\n", "");
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox"), rows);
	world_sql(world, "DELETE FROM effects.inbox WHERE message_id LIKE 'e1%%'");
	check_says(range, 0, "republished 1200 of 1200 messages\n", "");
	CHECK(world_await_int(world, before + 1200, WAIT_MS, "SELECT count(*) FROM effects.inbox"));
	/* What was republished is not in the range itself. */
	check_says(dry, 0, "would republish 1200 messages\n", "");
	free(since);
	free(until);
}

static void check_purchase(void)
{
	story_receive(world, "stripe", "r1", "sub_1");
	story_receive(world, "stripe", "r2", "sub_1");
	story_receive(world, "app_store", "r3", "sub_1");
	CHECK(await_read());
	check_says((const char *const[]){"--purchase", "stripe/sub_1", NULL}, 0,
	    "republished 2 of 2 messages\n", "");
	CHECK(await_read());
	CHECK_INT(invariants_broken(world, INVARIANTS_EFFECTS | INVARIANTS_STREAM), 0);
}

/* What no tick has seen is on its way. */
static void check_unticked(void)
{
	PGconn *conn = world_pg(world);

	PQclear(PQexec(conn, "BEGIN; LOCK TABLE intake.tick IN SHARE ROW EXCLUSIVE MODE"));
	story_receive(world, "stripe", "u1", "sub_2");
	check_says((const char *const[]){"--message", "u1", NULL}, 0,
	    "republished 0 of 1 message; the others are not ticked yet\n", "");
	PQfinish(conn);
	CHECK(await_read());
}

static void check_refusals(void)
{
	story_receive(world, "stripe", "same", "sub_3");
	story_receive(world, "app_store", "same", "sub_3");
	CHECK(await_read());
	check_says((const char *const[]){NULL}, 2, "", "give one of --message");
	check_says((const char *const[]){"--message", "a", "--purchase", "b/c", NULL}, 2, "",
	    "give one of --message");
	check_says((const char *const[]){"--since", "2026-01-01", NULL}, 2, "", "go together");
	check_says((const char *const[]){"--since", "2026-01-01", "--until", "yesteryear", NULL}, 2,
	    "", "--since, --until: ");
	check_says((const char *const[]){"--purchase", "sub_1", NULL}, 2, "", "STORE/ID");
	check_says((const char *const[]){"--message", "same", NULL}, 2, "", "2 sources");
	check_says((const char *const[]){"--message", "nothing", NULL}, 1, "republished 0 of 0",
	    "no such message");
	check_says((const char *const[]){"--message", "same", "--source", "stripe", NULL}, 0,
	    "republished 1 of 1", "");
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
