/*
 * umavez doctor, of Redis and of those who work: each thing is broken, seen, and put right again.
 */
#include "tests/cli/diagnosis.h"
#include "tests/cli/story.h"
#include "tests/support/check.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <stdlib.h>
#include <string.h>

static struct world *world;

static void check_redis(void)
{
	static const char *const nowhere[] = {"--redis-url", "unix:///nowhere/redis.sock", NULL};

	diagnosis_check_finds(world, NULL, "maxmemory-policy noeviction", "ok eviction");
	world_redis_run(world, "CONFIG SET maxmemory-policy allkeys-lru");
	diagnosis_check_finds(world, NULL, "maxmemory-policy allkeys-lru", "fail eviction");
	world_redis_run(world, "CONFIG SET maxmemory-policy noeviction");
	world_redis_run(world, "CONFIG SET maxmemory 100");
	diagnosis_check_finds(world, NULL, "bytes are used", "warn memory");
	world_redis_run(world, "CONFIG SET maxmemory 0");
	diagnosis_check_finds(world, NULL, "appendonly no", "warn persistence");
	world_redis_run(world, "CONFIG SET appendonly yes");
	diagnosis_check_finds(world, NULL, "appendonly yes", "ok persistence");
	world_redis_run(world, "CONFIG SET appendonly no");
	diagnosis_check_finds(world, nowhere, "No such file or directory", "fail redis");
	world_redis_run(world, "SET umavez:purchases:{1} x");
	diagnosis_check_finds(world, NULL, "umavez:purchases:{1} is a string", "fail streams");
	world_redis_run(world, "DEL umavez:purchases:{1}");
	world_redis_run(world, "XADD umavez:purchases:{0} 9999999999999-1 a b");
	diagnosis_check_finds(world, NULL, "lies far in the future", "fail streams");
	world_redis_run(world, "DEL umavez:purchases:{0}");
	diagnosis_check_healthy(world);
}

static void check_groups(void)
{
	int64_t row = story_receive(world, "stripe", "n1", "sub_1"), tick;
	int shard = (int)world_int(world, "SELECT shard FROM intake.outbox");

	tick = story_tick(world, shard);
	world_sql(
	    world, "INSERT INTO intake.stream_group (shard, name) VALUES (%d, 'mailer')", shard);
	diagnosis_check_finds(world, NULL, "group mailer is missing in shard", "warn groups");
	/* Young, or read lately: of an old backlog something was acknowledged a moment ago. */
	diagnosis_check_finds(world, NULL, "none of 1 registered groups lags", "ok groups");
	world_sql(world, "UPDATE intake.stream_group SET at = at - interval '6 min'");
	diagnosis_check_finds(world, NULL, "none of 1 registered groups lags", "ok groups");
	world_sql(world, "UPDATE intake.outbox SET created_at = created_at - interval '6 min';"
			 "UPDATE intake.stream_group SET at = clock_timestamp()");
	diagnosis_check_finds(world, NULL, "none of 1 registered groups lags", "ok groups");
	world_sql(world, "UPDATE intake.stream_group SET at = at - interval '6 min'");
	diagnosis_check_finds(
	    world, NULL, " has not acknowledged 1 message after 0-0 for over 5 min", "warn groups");
	world_sql(world,
	    "UPDATE intake.stream_group SET acknowledged_tick = %lld, acknowledged_id = %lld",
	    (long long)tick, (long long)row);
	diagnosis_check_finds(world, NULL, "none of 1 registered groups lags", "ok groups");
	world_sql(world, "DELETE FROM intake.stream_group");
}

/* It holds the shard, and does neither of its two works; leaves the shard ticked. */
static void check_stuck_relay(int shard)
{
	char *unticked =
	    text_format("the relay relay-1 holds shard %d, where 1 message waits to be ticked, "
			"the oldest for ",
		shard);
	char *unpublished =
	    text_format("the relay relay-1 holds shard %d, where 2 messages wait to be "
			"published, the oldest for ",
		shard);

	world_sql(world, "UPDATE intake.outbox SET created_at = clock_timestamp() - interval '70 s'"
			 " WHERE message_id = 'n2'");
	diagnosis_check_finds(world, NULL, unticked, "fail relays");
	story_tick(world, shard);
	diagnosis_check_finds(world, NULL, "a relay holds every shard", "ok relays");
	diagnosis_check_finds(world, NULL, unpublished, "fail relays");
	free(unpublished);
	free(unticked);
}

/* Relays and consumers that are away are told at once, and by their right names. */
static void check_work(void)
{
	int shard;

	diagnosis_check_finds(
	    world, NULL, "no relay holds shards 0, 1, where 0 messages wait", "warn relays");
	diagnosis_check_finds(world, NULL, "no consumer has begun yet", "warn consumers");
	story_receive(world, "stripe", "n2", "sub_1");
	shard = (int)world_int(world, "SELECT shard FROM intake.outbox ORDER BY id DESC LIMIT 1");
	diagnosis_check_finds(
	    world, NULL, "no relay holds shards 0, 1, where 1 message waits", "fail relays");
	story_relay_lease(world, 1 - shard, "relay-1");
	diagnosis_check_finds(world, NULL, "no relay holds shard ", "fail relays");
	story_relay_lease(world, shard, "relay-1");
	diagnosis_check_finds(world, NULL, "a relay holds every shard", "ok relays");
	check_stuck_relay(shard);
	story_cursor(world, "shop", shard);
	diagnosis_check_finds(
	    world, NULL, "consumer shop: nobody holds shards 0, 1, where ", "fail consumers");
	world_sql(world,
	    "INSERT INTO intake.stream_group (shard, name) VALUES (%d, 'shop'), (%d, 'mailer')",
	    shard, shard);
	diagnosis_check_finds(
	    world, NULL, "after 0-0, and nobody reads: nothing from there", "warn groups");
	STORY_SAYS(world, 1, "consumer forget shop, if it will never come back", "", "doctor");
	STORY_SAYS(world, 1, "if one runs, its log says why it holds no shard; or", "", "doctor");
	STORY_SAYS(world, 1, "group drop mailer --destroy, if nobody ever will", "", "doctor");
	story_consumer_lease(world, "shop", shard, "consumer-1");
	diagnosis_check_finds(world, NULL, "none of 2 registered groups lags", "ok groups");
	diagnosis_check_finds(world, NULL, "consumer shop: nobody holds shard ", "warn consumers");
	world_sql(world, "UPDATE intake.stream_group SET at = at - interval '6 min'");
	diagnosis_check_finds(world, NULL, "group shop in shard ", "warn groups");
	STORY_SAYS(world, 1, "look at the log of consumer-1, which holds the shard", "", "doctor");
	story_consumer_lease(world, "shop", 1 - shard, "consumer-1");
	diagnosis_check_finds(world, NULL, "consumer shop: every shard is held", "ok consumers");
	world_sql(world, "DELETE FROM intake.stream_group;"
			 "UPDATE intake.outbox SET created_at = clock_timestamp()");
}

static void check_human(void)
{
	const char *const args[] = {"doctor", NULL};
	char *out = NULL, *err = NULL;

	world_redis_run(world, "CONFIG SET maxmemory-policy allkeys-lru");
	CHECK_INT(world_run_all(world, "umavez", args, NULL, &out, &err), 1);
	CHECK_STR(err, "umavez doctor: 1 check fails\n");
	world_redis_run(world, "CONFIG SET maxmemory-policy noeviction");
	CHECK(strstr(out, "PostgreSQL of intake: database ") == out);
	CHECK(strstr(out, ", as role w_operator\n") != NULL);
	CHECK(strstr(out, "\n\nschema effects\n") != NULL);
	/* Both schemas are on one server, which is looked at once. */
	CHECK(strstr(strstr(out, " fsync "), "\nok    fsync") == NULL);
	CHECK(strstr(out, "\nok    constraint notification_pkey") != NULL);
	CHECK(strstr(out, "\nfail  eviction ") != NULL);
	CHECK(strstr(out, " CONFIG SET maxmemory-policy noeviction: any other") != NULL);
	CHECK(strchr(out, '\033') == NULL);
	free(out);
	free(err);
}

static const struct check checks[] = {
    {"redis", check_redis},
    {"groups", check_groups},
    {"relays and consumers", check_work},
    {"for people", check_human},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = diagnosis_world();
	status = check_main("cli doctor work", checks, argc, argv);
	world_close(world);
	return status;
}
