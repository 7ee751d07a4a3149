/*
 * schema/010: what is old, acknowledged and seen goes, and that nothing is lost by it.
 */
#include "common/clock.h"
#include "tests/schema/notes.h"
#include "tests/schema/past.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

/* Beyond the lock timeout of 100 ms: what a loaded machine adds. */
#define MOST_MS 400

static struct world *world;

static void run(PGconn *conn, const char *sql)
{
	PGresult *res = PQexec(conn, sql);

	if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK)
		fprintf(stderr, "%s: %s", sql, PQerrorMessage(conn));
	CHECK(PQresultStatus(res) == PGRES_COMMAND_OK || PQresultStatus(res) == PGRES_TUPLES_OK);
	PQclear(res);
}

/* As the relay does, until there is no more to drop; how many went. */
static int drop_all(void)
{
	int n = 0;

	for (;;) {
		char *dropped;

		world_sql(world, "SELECT intake.lift_retained()");
		dropped = world_text(
		    world, "SELECT dropped FROM intake.drop_expired(7 * 86400000::bigint)");
		if (!dropped)
			return n;
		free(dropped);
		n++;
	}
}

static int64_t rows(void)
{
	return world_int(world, "SELECT count(*) FROM intake.outbox");
}

/* Of the days before the last seven, in outbox. */
static int64_t old_partitions(void)
{
	return world_int(world, "SELECT count(*) FROM intake.partition WHERE parent = 'outbox' AND"
				" end_day <= (now() AT TIME ZONE 'UTC')::date - 7");
}

static char *reason(void)
{
	return world_text(world, "SELECT reason FROM intake.drop_expired(7 * 86400000::bigint)");
}

static void check_reason(const char *part)
{
	char *text = reason();

	if (!text || !strstr(text, part))
		CHECK_STR(text, part);
	free(text);
}

static void acknowledge_all(void)
{
	past_acknowledge(world, 0);
	past_acknowledge(world, 1);
}

static void tick_all(int days_ago)
{
	past_tick(world, 0, days_ago);
	past_tick(world, 1, days_ago);
}

/* Rows of 9 days ago and of now, all acknowledged but for the last tick. */
static void check_drops(void)
{
	past_make(world);
	past_row(world, 0, 9, "old");
	tick_all(9);
	past_row(world, 0, 0, "new");
	past_row(world, 1, 0, "new too");
	tick_all(0);
	acknowledge_all();
	CHECK_INT(old_partitions(), PAST_OLD);
	CHECK(drop_all() > PAST_OLD);
	CHECK_INT(old_partitions(), 0);
	CHECK_INT(rows(), 2);
	CHECK_INT(drop_all(), 0);
	/* The floor's predecessor and what follows: here the last two. */
	CHECK_INT(world_int(world, "SELECT min(n) FROM (SELECT count(*) AS n FROM intake.tick"
				   " WHERE tick >= (SELECT previous_tick FROM intake.retained AS r"
				   " WHERE r.shard = tick.shard) GROUP BY shard) AS s"),
	    2);
}

static void check_no_group(void)
{
	past_make(world);
	past_row(world, 0, 9, "old");
	tick_all(9);
	tick_all(0);
	CHECK_INT(drop_all(), 0);
	check_reason("no group has ever read");
	past_acknowledge(world, 0);
	CHECK_INT(drop_all(), 0);
	check_reason("shard 1: no group has ever read");
	past_acknowledge(world, 1);
	CHECK(drop_all() > 0);
	CHECK_INT(rows(), 0);
}

/* B41: whatever its age says, and in whatever zone. */
static void check_unpublished(void)
{
	world_sql(world, "ALTER ROLE postgres SET timezone = 'Asia/Tokyo'");
	PGconn *conn = world_pg(world);

	past_make(world);
	tick_all(35);
	acknowledge_all();
	past_row(world, 0, 30, "never ticked");
	for (int i = 0; i < 2 * PAST_OLD + 8; i++)
		run(conn,
		    "SELECT intake.lift_retained(), intake.drop_expired(7 * 86400000::bigint)");
	CHECK_INT(rows(), 1);
	tick_all(0);
	drop_all();
	CHECK_INT(rows(), 1); /* ticked, not acknowledged */
	check_reason("shard 0: group g has acknowledged");
	acknowledge_all();
	drop_all();
	CHECK_INT(rows(), 1); /* the floor tick is the one that it stands in */
	tick_all(0);
	acknowledge_all();
	drop_all();
	CHECK_INT(rows(), 0);
	PQfinish(conn);
	world_sql(world, "ALTER ROLE postgres RESET timezone");
}

/* Its transaction is older than every tick, and it is committed after them. */
static void check_long_transaction(void)
{
	PGconn *conn = world_pg(world);

	past_make(world);
	run(conn, "BEGIN");
	run(conn, "INSERT INTO intake.outbox (shard, source, message_id, type, subject, time, data,"
		  " created_at) VALUES (0, 'app', 'late', 't', 'app/1', now(), '{}',"
		  " clock_timestamp() - 20 * interval '24 hours')");
	tick_all(10);
	tick_all(0);
	tick_all(0);
	acknowledge_all();
	world_sql(world, "SELECT intake.lift_retained()");
	drop_all();
	CHECK_INT(old_partitions(), PAST_OLD); /* it holds a lock on the outbox */
	check_reason("a transaction uses");
	run(conn, "COMMIT");
	drop_all();
	CHECK_INT(rows(), 1);
	tick_all(0);
	tick_all(0);
	acknowledge_all();
	drop_all();
	CHECK_INT(rows(), 0);
	PQfinish(conn);
}

/* Shard 1 had one row, long ago; since then only empty ticks. */
static void check_idle_shard(void)
{
	past_make(world);
	past_row(world, 1, 30, "lonely");
	tick_all(30);
	acknowledge_all();
	for (int day = 9; day >= 0; day--) {
		past_row(world, 0, day, "busy");
		tick_all(day);
	}
	past_acknowledge(world, 0);
	CHECK(drop_all() > 0);
	CHECK_INT(old_partitions(), 0);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox WHERE shard = 1"), 0);
	CHECK(world_int(world, "SELECT count(*) FROM intake.tick WHERE shard = 1") < 20);
	CHECK(world_int(world, "SELECT count(*) FROM intake.tick WHERE shard = 1") >= 2);
}

/* A replay that its consumer has not followed to the end needs what it starts from. */
static void check_replay(void)
{
	past_make(world);
	past_row(world, 0, 30, "again");
	tick_all(30);
	tick_all(20);
	world_sql(world,
	    "INSERT INTO intake.tick (shard, previous_tick, tick, snapshot, from_tick, from_id,"
	    " replay) SELECT 0, max(tick), max(tick) + 1, pg_current_snapshot(), 1, 0, true"
	    " FROM intake.tick WHERE shard = 0");
	acknowledge_all();
	CHECK_INT(world_int(world, "SELECT (SELECT count(*) FROM intake.outbox AS o WHERE"
				   " intake.in_tick(0::smallint, t.tick, o.id, o.xid)) FROM"
				   " intake.tick AS t WHERE replay"),
	    1);
	drop_all();
	CHECK_INT(rows(), 1);
	tick_all(0);
	tick_all(0);
	acknowledge_all();
	drop_all();
	CHECK_INT(rows(), 0);
}

/* The clock has stepped back behind what was dropped. */
static void check_clock_back(void)
{
	past_make(world);
	tick_all(20);
	tick_all(0);
	acknowledge_all();
	drop_all();
	past_row(world, 0, 30, "before the flood");
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox_default"), 1);
	CHECK_INT(world_int(world, "SELECT intake.sweep_default(7 * 86400000::bigint, 1000)"), 0);
	tick_all(0);
	CHECK_INT(world_int(world, "SELECT intake.sweep_default(7 * 86400000::bigint, 1000)"), 0);
	tick_all(0);
	acknowledge_all();
	CHECK_INT(world_int(world, "SELECT intake.sweep_default(7 * 86400000::bigint, 1000)"), 1);
}

/* How long one insert takes while others want the outbox for themselves. */
static int64_t insert_ms(void)
{
	int64_t began_us = clock_mono_us();

	past_row(world, 0, 0, "quick");
	return (clock_mono_us() - began_us) / 1000;
}

static void *drop_them(void *ret)
{
	PGconn *conn = world_pg(world);

	for (int i = 0; i < 5; i++) {
		PQclear(PQexec(conn, "SELECT intake.drop_expired(7 * 86400000::bigint)"));
		PQclear(PQexec(conn, "SELECT intake.make_partitions()"));
	}
	PQfinish(conn);
	*(bool *)ret = true;
	return NULL;
}

/* An emit that is left open holds the outbox: nobody queues behind whoever waits for it. */
static void check_inserts_go_on(void)
{
	PGconn *conn = world_pg(world);
	int64_t worst = 0;
	bool done = false;
	pthread_t thread;

	past_make(world);
	tick_all(20);
	tick_all(0);
	acknowledge_all();
	run(conn,
	    "BEGIN; INSERT INTO intake.outbox (shard, source, message_id, type, subject, time,"
	    " data) VALUES (0, 'app', 'open', 't', 'app/1', now(), '{}');"
	    "SELECT count(*) FROM intake.outbox");
	CHECK_INT(pthread_create(&thread, NULL, drop_them, &done), 0);
	for (int i = 0; i < 100; i++) {
		int64_t ms = insert_ms();

		worst = ms > worst ? ms : worst;
	}
	pthread_join(thread, NULL);
	if (worst > MOST_MS)
		fprintf(stderr, "an insert took %lld ms\n", (long long)worst);
	CHECK(worst <= MOST_MS);
	CHECK_INT(old_partitions(), PAST_OLD);
	run(conn, "COMMIT");
	PQfinish(conn);
}

static void notification(const char *id, const char *kind, int days_ago)
{
	world_sql(world,
	    "INSERT INTO intake.notification (store, notification_id, kind, rank, occurred_at,"
	    " received_at, body) VALUES ('stripe', '%s', '%s', 1, now(),"
	    " clock_timestamp() - %d * interval '24 hours', 'x')",
	    id, kind, days_ago);
}

static int64_t forget(int at_most)
{
	return world_int(world, "SELECT intake.forget_bodies(90 * 86400000::bigint, %d)", at_most);
}

static void check_bodies(void)
{
	world_sql(world, "TRUNCATE intake.notification");
	notification("a", "renewed", 100);
	notification("b", "renewed", 95);
	notification("c", "renewed", 91);
	notification("d", "renewed", 80);
	notification("e", "unrecognized", 100);
	CHECK_INT(forget(2), 2);
	CHECK_TEXT(world,
	    "SELECT string_agg(notification_id, ' ' ORDER BY notification_id)"
	    " FROM intake.notification WHERE body IS NOT NULL",
	    "c d e");
	CHECK_INT(forget(2), 1);
	CHECK_INT(forget(2), 0);
	/* Reprocessed: it is like any other now. */
	world_sql(
	    world, "UPDATE intake.notification SET kind = 'renewed' WHERE notification_id = 'e'");
	CHECK_INT(forget(2), 1);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.notification"), 5);
}

static const struct check checks[] = {
    {"what is old and acknowledged goes", check_drops},
    {"without every shard's group nothing goes", check_no_group},
    {"B41 an unpublished row of 30 days ago stays", check_unpublished},
    {"a long transaction's row stays", check_long_transaction},
    {"an idle shard holds nothing back", check_idle_shard},
    {"a replay under way keeps what it needs", check_replay},
    {"a clock that steps back", check_clock_back},
    {"no insert waits longer than a lock timeout", check_inserts_go_on},
    {"bodies go, keys and quarantined ones stay", check_bodies},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(2);
	status = check_main("schema retention", checks, argc, argv);
	world_close(world);
	return status;
}
