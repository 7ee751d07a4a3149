/*
 * schema/008: partitions are made ahead, and ticks are a chain although no key can span them.
 */
#include "tests/schema/past.h"
#include "tests/support/check.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct world *world;

static void check_refused(const char *values, const char *sqlstate)
{
	PGconn *conn = world_pg(world);
	char sql[200];
	PGresult *res;

	snprintf(sql, sizeof(sql),
	    "INSERT INTO intake.tick (shard, previous_tick, tick, snapshot) VALUES (%s, '9:9:')",
	    values);
	res = PQexec(conn, sql);
	CHECK_STR(PQresultErrorField(res, PG_DIAG_SQLSTATE), sqlstate);
	PQclear(res);
	PQfinish(conn);
}

/* What UNIQUE (shard, tick) would say, and more. */
static void check_chain(void)
{
	past_make(world);
	world_sql(world, "INSERT INTO intake.tick (shard, previous_tick, tick, snapshot)"
			 " VALUES (0, 1, 10, '9:9:'), (0, 10, 20, '9:9:')");
	check_refused("0, 10, 30", "23505"); /* a second successor */
	check_refused("0, 15, 20", "23503"); /* a second tick of this name, after nothing */
	check_refused("0, 20, 20", "23514"); /* not after its predecessor */
	check_refused("0, 0, 20", "23503");  /* a second root */
	check_refused("1, 10, 20", "23503"); /* after another shard's tick */
}

static int64_t made(void)
{
	return world_int(world, "SELECT intake.make_partitions()");
}

static void check_makes(void)
{
	past_make(world);
	CHECK(made() >= 15);
	CHECK_INT(made(), 0);
	CHECK_INT(world_int(world, "SELECT days_ahead FROM intake.retention_health()"), 14);
	CHECK_INT(
	    world_int(world, "SELECT count(*) FROM intake.partition WHERE parent = 'outbox' AND"
			     " first_day >= (now() AT TIME ZONE 'UTC')::date"),
	    15);
}

/* Whatever session of the owner's makes them: its dates may look as they like. */
static void check_dates(void)
{
	static const char *const styles[] = {"SQL, YMD", "Postgres, YMD", "German"};
	PGconn *conn = world_pg(world);

	for (size_t i = 0; i < sizeof(styles) / sizeof(styles[0]); i++) {
		char *set = text_format(
		    "SET DateStyle = '%s'; SET TimeZone = 'Pacific/Kiritimati'", styles[i]);
		PGresult *res;

		past_make(world);
		PQclear(PQexec(conn, set));
		res = PQexec(conn, "SELECT intake.make_partitions()");
		CHECK_INT(PQresultStatus(res), PGRES_TUPLES_OK);
		PQclear(res);
		CHECK_INT(made(), 0);
		free(set);
	}
	PQfinish(conn);
}

/* All partitions of tick were dropped while DEFAULT was too large for new ones. */
static void check_only_default(void)
{
	past_make(world);
	world_sql(world,
	    "DO $$ DECLARE name text; BEGIN"
	    " FOR name IN SELECT relation::regclass FROM intake.partition WHERE parent = 'tick'"
	    " LOOP EXECUTE 'DROP TABLE ' || name; END LOOP; END $$");
	world_sql(world, "INSERT INTO intake.tick (shard, previous_tick, tick, snapshot)"
			 " VALUES (0, 0, 10, '9:9:'), (0, 10, 20, '9:9:')");
	CHECK(made() > 0);
	CHECK_INT(made(), 0);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.tick_default"), 2);
	CHECK(world_int(world, "SELECT days_ahead FROM intake.retention_health()") >= 14);
}

static void *make_them(void *ret)
{
	PGconn *conn = world_pg(world);
	PGresult *res = PQexec(conn, "SELECT intake.make_partitions()");

	*(bool *)ret = PQresultStatus(res) == PGRES_TUPLES_OK;
	if (!*(bool *)ret)
		fprintf(stderr, "%s", PQerrorMessage(conn));
	PQclear(res);
	PQfinish(conn);
	return NULL;
}

static void check_all_at_once(void)
{
	enum { MAKERS = 6 };
	pthread_t threads[MAKERS];
	bool fine[MAKERS];

	past_make(world);
	for (int i = 0; i < MAKERS; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, make_them, &fine[i]), 0);
	for (int i = 0; i < MAKERS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < MAKERS; i++)
		CHECK(fine[i]);
	CHECK_INT(made(), 0);
}

/* Days that DEFAULT has rows of stay there; the others get their partitions. */
static void check_default(void)
{
	past_make(world);
	past_row(world, 0, -2, "the day after tomorrow");
	CHECK_INT(world_int(world, "SELECT default_rows FROM intake.retention_health()"), 1);
	CHECK(made() >= 14);
	CHECK_INT(made(), 0);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox"), 1);
}

static const struct check checks[] = {
    {"P8 ticks are a chain, of different names", check_chain},
    {"partitions are made ahead, once", check_makes},
    {"partitions are made whatever dates look like", check_dates},
    {"partitions are made when there is only DEFAULT", check_only_default},
    {"partitions are made by all at once", check_all_at_once},
    {"what is in DEFAULT stays in DEFAULT", check_default},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(2);
	status = check_main("schema partitions", checks, argc, argv);
	world_close(world);
	return status;
}
