/*
 * Who has which shard: those that live have all of them, in equal shares.
 */
#include "common/clock.h"
#include "tests/common/keepers.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/pause.h"

#include <signal.h>

static struct world *world;
static struct keepers keepers;

static void one_takes_all_and_gives_all_back(void)
{
	struct keeper *a = keepers_start(&keepers);

	CHECK(keeper_await_share(a, SHARDS));
	CHECK_INT(keepers_presence(&keepers), 1);
	int64_t began_us = clock_mono_us();
	CHECK_INT(keeper_stop(a), 0);
	CHECK(clock_mono_us() - began_us < LEASE_MS * 1000);
	CHECK(keepers_await_free(&keepers, SHARDS));
	CHECK_INT(keepers_presence(&keepers), 0);
	CHECK_INT(keeper_running(a), 0);
	CHECK_INT(file_count(a->events, "start "), SHARDS);
}

static void shared_evenly(void)
{
	struct keeper *a = keepers_start(&keepers);

	CHECK(keeper_await_share(a, SHARDS));
	struct keeper *b = keepers_start(&keepers);
	CHECK(keeper_await_share(a, 2) && keeper_await_share(b, 2));
	struct keeper *c = keepers_start(&keepers), *d = keepers_start(&keepers);
	CHECK(keeper_await_share(a, 1) && keeper_await_share(b, 1) && keeper_await_share(c, 1) &&
	      keeper_await_share(d, 1));
	/* Nobody is without a shard that has one: terms stand still now. */
	int64_t terms = world_int(world, "SELECT sum(term) FROM %s.shard_lease WHERE %s",
	    a->side->schema, a->side->predicate);
	sleep_ms(2 * LEASE_MS);
	CHECK_INT(world_int(world, "SELECT sum(term) FROM %s.shard_lease WHERE %s", a->side->schema,
		      a->side->predicate),
	    terms);
	CHECK_INT(keeper_stop(a), 0);
	CHECK_INT(keeper_stop(b), 0);
	CHECK(keeper_await_share(c, 2) && keeper_await_share(d, 2));
}

static void killed(void)
{
	struct keeper *a = keepers_start(&keepers);

	CHECK(keeper_await_share(a, SHARDS));
	struct keeper *b = keepers_start(&keepers);
	CHECK(keeper_await_share(b, 2));
	kill(a->pid, SIGKILL);
	CHECK_INT(keeper_reap(a), 128 + SIGKILL);
	CHECK(keeper_await_share(b, SHARDS));
	CHECK(world_await_int(world, 1, PATIENCE_MS, "SELECT count(*) FROM %s.instance WHERE %s",
	    a->side->schema, a->side->predicate));
}

/* Taken over when the leases end, not when they would be looked at next; here the last of them ends
 * after the presence. */
static void dead_for_less_than_a_look(void)
{
	int64_t began_us = clock_mono_us();

	world_sql(world,
	    "INSERT INTO intake.instance SELECT 'dead', clock_timestamp() + interval '1 s';"
	    "UPDATE intake.shard_lease SET holder = 'dead', term = 1,"
	    " expires_at = clock_timestamp() + interval '1.2 s'");
	struct keeper *a =
	    keepers_start_job(&keepers, (struct keeper_job){.lease_ms = 3 * 2 * PATIENCE_MS});
	CHECK(keeper_await_share(a, SHARDS));
	CHECK(clock_mono_us() - began_us >= 1200 * 1000);
}

/* Stopped past its lease, it must notice by itself that it holds nothing any more. */
static void zombie(void)
{
	struct keeper *a = keepers_start(&keepers);

	CHECK(keeper_await_share(a, SHARDS));
	kill(a->pid, SIGSTOP);
	struct keeper *b = keepers_start(&keepers);
	CHECK(keeper_await_share(b, SHARDS));
	kill(a->pid, SIGCONT);
	CHECK(keeper_await_share(a, 2) && keeper_await_share(b, 2));
	CHECK(file_count(a->events, "stop ") >= SHARDS);
	CHECK(world_int(world, "SELECT min(term) FROM %s.shard_lease WHERE %s", a->side->schema,
		  a->side->predicate) >= 2);
}

/* Rows of a claim whose answer never arrived are its own again at once. */
static void forgotten_claim(void)
{
	world_sql(world, "UPDATE intake.shard_lease SET holder = 'k0', term = 41,"
			 " expires_at = now() + interval '1 hour' WHERE shard = 2");
	struct keeper *a = keepers_start(&keepers);
	CHECK(keeper_await_share(a, SHARDS));
	CHECK_INT(world_int(world, "SELECT term FROM intake.shard_lease WHERE shard = 2"), 42);
}

static void taken_by_force(void)
{
	struct keeper *a = keepers_start(&keepers);

	CHECK(keeper_await_share(a, SHARDS));
	world_sql(world, "UPDATE intake.shard_lease SET holder = 'thief', term = term + 1,"
			 " expires_at = now() + interval '1 hour' WHERE shard = 1");
	CHECK(keeper_await_running(a, SHARDS - 1));
	CHECK_INT(file_count(a->log, "lease taken by another"), 1);
}

static void rows_of_the_dead_are_cleared(void)
{
	world_sql(world, "INSERT INTO intake.instance SELECT 'dead' || n, now() - interval '1 s'"
			 " FROM generate_series(1, 250) n");
	struct keeper *a = keepers_start(&keepers);
	CHECK(keeper_await_share(a, SHARDS));
	CHECK(world_await_int(world, 1, PATIENCE_MS, "SELECT count(*) FROM intake.instance"));
}

static void consumers_do_not_mix(void)
{
	static const struct side other_side = {"effects", "other", "consumer = 'other'"};
	struct keeper *a = keepers_start(&keepers);

	keepers.side = &other_side;
	struct keeper *b = keepers_start(&keepers);
	CHECK(keeper_await_share(b, SHARDS));
	CHECK(keeper_await_share(a, SHARDS));
	CHECK_INT(
	    world_int(world, "SELECT count(*) FROM effects.shard_lease"), INT64_C(2) * SHARDS);
}

KEEPERS_RUN(keepers, relay, one_takes_all_and_gives_all_back)
KEEPERS_RUN(keepers, relay, shared_evenly)
KEEPERS_RUN(keepers, relay, killed)
KEEPERS_RUN(keepers, relay, dead_for_less_than_a_look)
KEEPERS_RUN(keepers, relay, zombie)
KEEPERS_RUN(keepers, relay, forgotten_claim)
KEEPERS_RUN(keepers, relay, taken_by_force)
KEEPERS_RUN(keepers, relay, rows_of_the_dead_are_cleared)
KEEPERS_RUN(keepers, consumer, one_takes_all_and_gives_all_back)
KEEPERS_RUN(keepers, consumer, shared_evenly)
KEEPERS_RUN(keepers, consumer, killed)
KEEPERS_RUN(keepers, consumer, zombie)
KEEPERS_RUN(keepers, consumer, consumers_do_not_mix)

static const struct check checks[] = {
    {"relay: one takes all and gives all back", relay_one_takes_all_and_gives_all_back},
    {"relay: shared evenly", relay_shared_evenly},
    {"relay: killed", relay_killed},
    {"relay: dead for less than a look", relay_dead_for_less_than_a_look},
    {"relay: a zombie", relay_zombie},
    {"relay: a forgotten claim", relay_forgotten_claim},
    {"relay: taken by force", relay_taken_by_force},
    {"relay: rows of the dead are cleared", relay_rows_of_the_dead_are_cleared},
    {"consumer: one takes all and gives all back", consumer_one_takes_all_and_gives_all_back},
    {"consumer: shared evenly", consumer_shared_evenly},
    {"consumer: killed", consumer_killed},
    {"consumer: a zombie", consumer_zombie},
    {"consumer: consumers do not mix", consumer_consumers_do_not_mix},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(SHARDS);
	keepers.world = world;
	status = check_main("common lease", checks, argc, argv);
	world_close(world);
	return status;
}
