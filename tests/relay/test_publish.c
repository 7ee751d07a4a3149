/* Rows in, entries out: order and completeness while transactions are long, aborted and nested. */
#include "common/clock.h"
#include "tests/relay/stack.h"
#include "tests/support/die.h"
#include "tests/support/pause.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define WRITERS 8
#define WRITE_MS 4000

static void exec(PGconn *conn, const char *sql)
{
	PGresult *res = PQexec(conn, sql);

	if (PQresultStatus(res) != PGRES_COMMAND_OK && PQresultStatus(res) != PGRES_TUPLES_OK)
		die("%s: %s", sql, PQerrorMessage(conn));
	PQclear(res);
}

static bool in_stream(struct world *w, const char *message_id)
{
	witness_streams(w);
	return world_int(w, "SELECT count(*) FROM witness.entry WHERE message_id = '%s'",
		   message_id) == 1;
}

static void rows_become_entries(void)
{
	struct world *w = stack_open(4);
	struct proc *relay = stack_relay(w, NULL, NULL);

	stack_emit(w, "m", 200);
	stack_check(w, 0);
	CHECK(proc_await_ready(relay, WAIT_MS));
	CHECK(stack_await_metric(relay, "umavez_leases_held ", 4, WAIT_MS));
	world_close(w);
}

/* What the columns become, and what is left out. */
static void an_entry_is_its_row(void)
{
	static const char *const expected[] = {"id", "m\xc3\xa9", "source", "app", "type", "t",
	    "subject", "s", "time", "2026-01-01T00:00:00.123456Z", "traceparent",
	    "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "data", "{ \"a\" : 1.00 }",
	    "shard", "0", "relay", "me", "published_at"};
	struct world *w = stack_open(1);
	redisContext *redis = world_redis(w);
	redisReply *reply;

	world_sql(w, "SELECT intake.emit('app', 'm\xc3\xa9', 't', 's', '{ \"a\" : 1.00 }', "
		     "'2026-01-01 01:00:00.123456+01', '00-0af7651916cd43dd8448eb211c80319c-"
		     "b7ad6b7169203331-01')");
	world_sql(w, "SELECT intake.emit('app', 'n', 't', 's', '[]', 'infinity')");
	stack_relay(w, (const char *const[]){"--instance", "me", NULL}, NULL);
	stack_check(w, 0);

	reply = redisCommand(redis, "XRANGE umavez:purchases:{0} - +");
	CHECK_INT((int64_t)reply->elements, 2);
	const redisReply *first = reply->element[0]->element[1];
	const redisReply *second = reply->element[1]->element[1];
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		CHECK_STR(first->element[i]->str, expected[i]);
	CHECK_INT((int64_t)first->elements, 20);
	CHECK_INT((int64_t)second->elements, 18);
	CHECK_STR(second->element[9]->str, "infinity");
	freeReplyObject(reply);
	redisFree(redis);
	world_close(w);
}

/* The entry's time is what PostgreSQL's to_char() makes of the row's, far from today too. */
static void a_time_is_written_by_its_digits(void)
{
	static const char *const times[] = {"1970-01-01 00:00:00+00",
	    "1999-12-31 23:59:59.999999+00", "2000-02-29 12:00:00.000001+00",
	    "1969-12-31 23:59:59.5+00", "0001-01-01 00:00:00+00", "0044-03-15 00:00:00+00 BC",
	    "12345-06-07 08:09:10+00", "-infinity"};
	struct world *w = stack_open(1);
	size_t n = sizeof(times) / sizeof(times[0]);

	for (size_t i = 0; i < n; i++)
		world_sql(
		    w, "SELECT intake.emit('app', 'm%zu', 't', 's', '{}', '%s')", i, times[i]);
	stack_relay(w, NULL, NULL);
	CHECK(stack_await_published(w, WAIT_MS));
	CHECK_INT(world_int(w, "SELECT count(*) FROM witness.entry AS e JOIN intake.outbox AS o "
			       "USING (message_id) WHERE e.time = coalesce(to_char(o.time AT TIME "
			       "ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"'), o.time::text)"),
	    (int64_t)n);
	world_close(w);
}

static void lower_id_commits_later(void)
{
	struct world *w = stack_open(1);
	PGconn *a = world_pg(w);

	stack_relay(w, NULL, NULL);
	exec(a, "BEGIN; SELECT intake.emit('app', 'late', 't', 'a', '{}')");
	world_sql(w, "SELECT intake.emit('app', 'early', 't', 'b', '{}')");
	CHECK(stack_await_published(w, WAIT_MS));
	CHECK(in_stream(w, "early"));
	exec(a, "COMMIT");
	CHECK(stack_await_published(w, WAIT_MS));
	CHECK(in_stream(w, "late"));

	exec(a, "BEGIN; SELECT intake.emit('app', 'never', 't', 'a', '{}')");
	world_sql(w, "SELECT intake.emit('app', 'before', 't', 'b', '{}')");
	exec(a, "ROLLBACK");
	world_sql(w, "SELECT intake.emit('app', 'after', 't', 'b', '{}')");
	stack_check(w, 0);
	CHECK_INT(world_int(w, "SELECT count(*) FROM witness.entry"), 4);
	PQfinish(a);
	world_close(w);
}

static PGconn *connect_elsewhere(struct world *w)
{
	const char *const keys[] = {"dbname", "dbname", NULL};
	const char *const values[] = {world_admin_url(w), "elsewhere", NULL};
	PGconn *conn;

	world_sql(w, "CREATE DATABASE elsewhere");
	conn = PQconnectdbParams(keys, values, 1);
	CHECK_INT(PQstatus(conn), CONNECTION_OK);
	return conn;
}

static void idle_elsewhere(void)
{
	struct world *w = stack_open(1);
	PGconn *a = connect_elsewhere(w), *b = world_pg(w);
	struct proc *relay = stack_relay(w, NULL, NULL);

	exec(a, "BEGIN; SELECT pg_current_xact_id()");
	exec(b, "BEGIN; SELECT intake.emit('app', 'long', 't', 'a', '{}')");
	for (int i = 0; i < 5; i++) {
		char prefix[8];

		snprintf(prefix, sizeof(prefix), "%c", 'a' + i);
		stack_emit(w, prefix, 10);
		CHECK(stack_await_published(w, 2000));
	}
	CHECK(stack_metric(relay, "umavez_outbox_lag_seconds{shard=\"0\"}") < 2);
	exec(b, "COMMIT");
	CHECK(stack_await_published(w, 2000));
	exec(a, "COMMIT");
	stack_check(w, 0);
	PQfinish(a);
	PQfinish(b);
	world_close(w);
}

static void parts_rolled_back(void)
{
	struct world *w = stack_open(1);

	stack_relay(w, NULL, NULL);
	world_sql(w, "BEGIN; SELECT intake.emit('app', 'a', 't', 's', '{}');"
		     "SAVEPOINT one; SELECT intake.emit('app', 'b', 't', 's', '{}');"
		     "ROLLBACK TO one; SELECT intake.emit('app', 'c', 't', 's', '{}');"
		     "SAVEPOINT two; SELECT intake.emit('app', 'd', 't', 's', '{}');"
		     "RELEASE two; COMMIT");
	stack_check(w, 0);
	CHECK_INT(world_int(w, "SELECT count(*) FROM witness.entry"), 3);
	CHECK(!in_stream(w, "b"));
	world_close(w);
}

struct writer {
	struct world *w;
	pthread_t thread;
	int n;
	uint64_t seed;
};

static void emit_some(PGconn *conn, struct rng *rng, int writer, int *ret_n)
{
	for (uint64_t i = rng_next(rng) % 4; i > 0; i--) {
		char sql[200];

		snprintf(sql, sizeof(sql),
		    "SELECT intake.emit('app', '%d-%d', 't', 'app/%d', '{}')", writer, ++*ret_n,
		    (int)(rng_next(rng) % 40));
		PQclear(PQexec(conn, sql)); /* a deadlock aborts the transaction: fine too */
	}
}

static void write_once(PGconn *conn, struct rng *rng, int writer, int *ret_n)
{
	PQclear(PQexec(conn, "BEGIN"));
	emit_some(conn, rng, writer, ret_n);
	if (rng_next(rng) % 3 == 0) {
		PQclear(PQexec(conn, "SAVEPOINT s"));
		emit_some(conn, rng, writer, ret_n);
		PQclear(PQexec(conn, rng_next(rng) % 2 ? "RELEASE s" : "ROLLBACK TO s"));
		emit_some(conn, rng, writer, ret_n);
	}
	if (rng_next(rng) % 50 == 0)
		PQclear(PQexec(conn, "SELECT pg_sleep(0.5)"));
	PQclear(PQexec(conn, rng_next(rng) % 5 ? "COMMIT" : "ROLLBACK"));
}

static void *write_on(void *arg)
{
	struct writer *writer = arg;
	int64_t until_ms = now_ms() + WRITE_MS;
	PGconn *conn = world_pg(writer->w);
	struct rng rng;
	int n = 0;

	rng_seed(&rng, writer->seed);
	PQclear(PQexec(conn, "SET deadlock_timeout = '20ms'"));
	while (now_ms() < until_ms)
		write_once(conn, &rng, writer->n, &n);
	PQfinish(conn);
	return NULL;
}

static void write_from_all_sides(struct world *w)
{
	struct writer writers[WRITERS];

	for (int i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){.w = w, .n = i, .seed = check_seed() + (uint64_t)i};
		pthread_create(&writers[i].thread, NULL, write_on, &writers[i]);
	}
	for (int i = 0; i < WRITERS; i++)
		pthread_join(writers[i].thread, NULL);
}

static void writers_of_all_kinds(void)
{
	struct world *w = stack_open(2);

	stack_relay(w, NULL, NULL);
	write_from_all_sides(w);
	stack_check(w, 0);
	CHECK(world_int(w, "SELECT count(*) FROM witness.entry") > 100);
	world_close(w);
}

static void two_relays_without_leases(void)
{
	const char *const args[] = {"--lease-off", "--append-batch", "7", NULL};
	struct world *w = stack_open(1);
	struct proc *relays[] = {stack_relay(w, args, NULL), stack_relay(w, args, NULL)};
	double appended = 0;

	write_from_all_sides(w);
	stack_check(w, 0);
	for (int i = 0; i < 2; i++) {
		double n = stack_metric(relays[i], "umavez_appended_total{shard=\"0\"}");

		CHECK(n > 0);
		appended += n;
	}
	CHECK_INT((int64_t)appended, world_int(w, "SELECT count(*) FROM intake.outbox"));
	CHECK_INT(world_int(w, "SELECT count(*) FROM intake.tick WHERE from_tick IS NOT NULL"), 0);
	world_close(w);
}

static void wake_up(void)
{
	struct world *w = stack_open(1);
	struct proc *relay =
	    stack_relay(w, (const char *const[]){"--poll-interval", "60s", NULL}, NULL);

	CHECK(proc_await_ready(relay, WAIT_MS));
	for (int i = 0; i < 5; i++) {
		stack_emit(w, "m", 1);
		world_sql(w, "NOTIFY umavez_outbox");
		CHECK(stack_await_published(w, 5000));
	}
	/* It is told of other shards, and looks at none of its own accord. */
	stack_emit(w, "n", 1);
	world_sql(w, "NOTIFY umavez_outbox, 'e'");
	CHECK(!stack_await_metric(relay, "umavez_appended_total{shard=\"0\"}", 6, 300));
	world_sql(w, "NOTIFY umavez_outbox, 'f'");
	CHECK(stack_await_published(w, 5000));
	world_close(w);
}

/* How many transactions ended within ms; sessions report theirs with a second's delay. */
static int64_t transactions_within(struct world *w, int64_t ms)
{
	const char *const count = "SELECT xact_commit + xact_rollback FROM pg_stat_database "
				  "WHERE datname = current_database()";
	int64_t before = world_int(w, "%s", count), started = now_ms();

	while (now_ms() - started < ms)
		sleep_ms(50);
	return world_int(w, "%s", count) - before;
}

/* Ticks, polls and leases of one shard, with the intervals of production. */
static void idle_costs_little(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = world_relay(w, NULL, NULL);

	stack_emit(w, "m", 3);
	stack_check(w, 0);
	CHECK(proc_await_ready(relay, WAIT_MS));
	transactions_within(w, 2000);
	CHECK(transactions_within(w, 5000) <= 5 * 5);
	world_close(w);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"rows become entries", rows_become_entries},
	    {"an entry is its row", an_entry_is_its_row},
	    {"a time is written by its digits", a_time_is_written_by_its_digits},
	    {"B32 a lower id commits later, or never", lower_id_commits_later},
	    {"B33 a transaction idles, here and in another database", idle_elsewhere},
	    {"savepoints: what was rolled back is not published", parts_rolled_back},
	    {"long, aborted and nested transactions from all sides", writers_of_all_kinds},
	    {"two relays on one shard, no leases", two_relays_without_leases},
	    {"a wake-up beats the poll", wake_up},
	    {"an idle shard costs a few statements a second", idle_costs_little},
	    {NULL, NULL},
	};
	return check_main("relay publish", checks, argc, argv);
}
