/*
 * Many messages at once leave what they would leave one after the other; and a user's handler may
 * have a form for many, too.
 */
#include "test_consumer_apply_batch_text.h"
#include "tests/consumer/stage.h"

#include <stdio.h>

#define TICK INT64_C(1767225600000)
#define ROUNDS 300

static void random_batches(void)
{
	struct world *w = world_open(1);
	PGconn *conn = world_pg(w);
	double seed = (double)(check_seed() % 1000000) / 1000000;
	char sql[64];
	PGresult *res;

	world_sql(w, "%s", tests_consumer_apply_batch_sql);
	snprintf(sql, sizeof(sql), "SELECT setseed(%f)", seed);
	PQclear(PQexec(conn, sql));
	snprintf(sql, sizeof(sql), "SELECT * FROM odds.run(%d)", ROUNDS);
	res = PQexec(conn, sql);
	CHECK_STR(PQresultErrorMessage(res), "");
	printf("\n  %d batches, %s refused", ROUNDS, PQgetvalue(res, 0, 1));
	if (!PQgetisnull(res, 0, 2))
		fprintf(stderr, "%s\n", PQgetvalue(res, 0, 2));
	CHECK_STR(PQgetvalue(res, 0, 0), "0");
	PQclear(res);
	PQfinish(conn);
	world_close(w);
}

/* Each of its calls leaves how many events it was given, beside what stage.apply() leaves. */
static void add_form_for_many(struct stage *s)
{
	world_sql(s->w,
	    "CREATE TABLE stage.call (events integer);"
	    "GRANT INSERT ON stage.call TO umavez_consumer;"
	    "CREATE FUNCTION stage.apply_batch(events json[]) RETURNS void LANGUAGE plpgsql AS $$"
	    " BEGIN INSERT INTO stage.call VALUES (cardinality(events));"
	    " PERFORM stage.apply(e) FROM unnest(events) AS e; END $$");
}

/* While the log is locked, the consumer waits with what it has read, and the rest comes together.
 */
static void add_together(struct stage *s, int first, int last)
{
	PGconn *other = world_pg(s->w);

	PQclear(PQexec(other, "BEGIN; LOCK stage.log IN EXCLUSIVE MODE"));
	stage_add_many(s, TICK + first, first, last);
	PQfinish(other);
}

static void many_go_to_the_form_for_many(void)
{
	struct stage *s = stage_open(1);

	add_form_for_many(s);
	stage_add_many(s, TICK, 1, 10);
	stage_consumer(s, NULL, NULL);
	CHECK(stage_await_effects(s, 10));
	/* The first batch of an owner goes one by one. */
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM stage.call"), 0);
	add_together(s, 11, 30);
	CHECK(stage_await_effects(s, 30));
	stage_check_effects(s, 30);
	CHECK(world_int(s->w, "SELECT sum(events) FROM stage.call") >= 19);
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM stage.call WHERE events < 2"), 0);
	stage_close(s);
}

/* The message that failed is parked, and what it says is the handler's own word. */
static void what_it_refuses_goes_one_by_one(void)
{
	static const char *const args[] = {"--max-attempts", "1", NULL};
	struct stage *s = stage_open(1);

	add_form_for_many(s);
	stage_consumer(s, args, NULL);
	stage_add_many(s, TICK, 1, 3);
	CHECK(stage_await_effects(s, 3));
	stage_poison(s, 7);
	stage_add_apart(s, TICK + 1, 4, 20);
	CHECK(stage_await_effects(s, 19));
	CHECK(stage_await_parked(s, "failed m7"));
	CHECK_INT(world_int(s->w,
		      "SELECT count(*) FROM effects.parked WHERE error LIKE '%%message 7 is poison'"
		      " AND context NOT LIKE '%%apply_batch(json[])%%'"),
	    1);
	stage_close(s);
}

static const struct check checks[] = {
    {"random batches", random_batches},
    {"many go to the form for many", many_go_to_the_form_for_many},
    {"what it refuses goes one by one", what_it_refuses_goes_one_by_one},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer apply batch", checks, argc, argv);
}
