/*
 * What a keeper lives through and what ends it, when the trouble is its database, its rights or its
 * worker.
 */
#include "tests/common/keepers.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/pause.h"
#include "tests/support/text.h"

#include <stdlib.h>

static struct world *world;
static struct keepers keepers;

static bool is_kept_again(void *ctx)
{
	const struct keeper *k = ctx;

	return file_count(k->log, "leases are kept again") == 1;
}

static void outage(void)
{
	struct keeper *a = keepers_start(&keepers);

	CHECK(keeper_await_share(a, SHARDS));
	world_pg_stop(world, "immediate");
	CHECK(keeper_await_running(a, 0));
	sleep_ms(LEASE_MS);
	world_pg_start(world);
	CHECK(keeper_await_share(a, SHARDS));
	CHECK(await(is_kept_again, a, PATIENCE_MS));
	CHECK_INT(file_count(a->log, "leases cannot be kept"), 1);
	CHECK_INT(file_count(a->log, "lease expired"), SHARDS);
	CHECK_INT(file_count(a->log, "returned early"), 0);
	CHECK(world_int(world, "SELECT min(term) FROM %s.shard_lease WHERE %s", a->side->schema,
		  a->side->predicate) == 2);
}

struct starts {
	const struct keeper *keeper;
	int64_t want;
};

static bool has_started(void *ctx)
{
	const struct starts *s = ctx;

	return file_count(s->keeper->events, "start ") >= s->want;
}

static void worker_that_returns_is_restarted(void)
{
	struct keeper *a = keepers_start_job(&keepers, (struct keeper_job){.impatient = true});

	CHECK(keeper_await_held(a, SHARDS));
	int64_t since_ms = now_ms(), before = file_count(a->events, "start ");
	CHECK(await(has_started, &(struct starts){a, before + 4 * SHARDS}, PATIENCE_MS));
	/* Some worker's fourth start has come since, and none comes within 50 ms of the last. */
	CHECK(now_ms() - since_ms >= 3 * 50);
	CHECK(keeper_await_held(a, SHARDS));
	CHECK_INT(keeper_stop(a), 0);
	CHECK(keepers_await_free(&keepers, SHARDS));
}

static void all_needs_no_database(void)
{
	static const char nowhere[] = "postgresql:///postgres?host=/nonexistent";
	struct keeper *a =
	    keepers_start_job(&keepers, (struct keeper_job){.url = nowhere, .all = true});
	struct keeper *b =
	    keepers_start_job(&keepers, (struct keeper_job){.url = nowhere, .all = true});

	CHECK(keeper_await_running(a, SHARDS) && keeper_await_running(b, SHARDS));
	sleep_ms(2 * LEASE_MS);
	CHECK_INT(keeper_running(a), SHARDS);
	CHECK_INT(keeper_stop(a), 0);
	CHECK_INT(keeper_running(a), 0);
}

static void fatal_errors_end_the_service(void)
{
	struct keeper *a =
	    keepers_start_job(&keepers, (struct keeper_job){.url = "host=x nonsense"});

	CHECK_INT(keeper_reap(a), 2);
	CHECK_INT(file_count(a->log, "cannot go on"), 1);
}

static void a_missing_privilege_ends_the_service(void)
{
	world_sql(world, "CREATE ROLE stranger; GRANT USAGE ON SCHEMA intake TO stranger");
	char *url = text_format("%s&options=-crole%%3Dstranger", world_admin_url(world));
	struct keeper *a = keepers_start_job(&keepers, (struct keeper_job){.url = url});

	CHECK_INT(keeper_reap(a), 2);
	CHECK_INT(file_count(a->log, "permission denied for table shard_lease: connect as"), 1);
	free(url);
}

/* Later it is for somebody to give back. */
static void a_privilege_is_taken_for_a_while(void)
{
	struct keeper *a = keepers_start(&keepers);

	CHECK(keeper_await_share(a, SHARDS));
	world_sql(world, "REVOKE UPDATE ON intake.shard_lease FROM umavez_relay");
	CHECK(keeper_await_running(a, 0));
	world_sql(world, "GRANT UPDATE ON intake.shard_lease TO umavez_relay");
	CHECK(keeper_await_share(a, SHARDS));
}

KEEPERS_RUN(keepers, relay, outage)
KEEPERS_RUN(keepers, relay, worker_that_returns_is_restarted)
KEEPERS_RUN(keepers, relay, all_needs_no_database)
KEEPERS_RUN(keepers, relay, fatal_errors_end_the_service)
KEEPERS_RUN(keepers, relay, a_missing_privilege_ends_the_service)
KEEPERS_RUN(keepers, relay, a_privilege_is_taken_for_a_while)

static const struct check checks[] = {
    {"relay: an outage of the database", relay_outage},
    {"relay: a worker that returns is restarted", relay_worker_that_returns_is_restarted},
    {"relay: all needs no database", relay_all_needs_no_database},
    {"relay: fatal errors end the service", relay_fatal_errors_end_the_service},
    {"relay: a missing privilege ends the service", relay_a_missing_privilege_ends_the_service},
    {"relay: a privilege is taken for a while", relay_a_privilege_is_taken_for_a_while},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(SHARDS);
	keepers.world = world;
	status = check_main("common lease trouble", checks, argc, argv);
	world_close(world);
	return status;
}
