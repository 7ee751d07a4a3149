/*
 * Transactions that stay open, abort, or roll back a part of themselves: they delay nobody else's
 * rows, and every row that was committed is published once, in the order of its subject.
 */
#include "common/clock.h"
#include "tests/crash/stack.h"
#include "tests/support/die.h"
#include "tests/support/pause.h"
#include "tests/support/text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PER_SECOND 60
#define QUIET_S 5
#define OPEN_S 20
#define WRITING_S 10

#define OPEN_ROWS 2000 /* of the open transaction, in all shards */
#define PROMPT_MS 10000

#define WRITERS 8
#define SUBJECTS 12

/*
 * tell() emits, and then notes whose turn it was: under a row lock that it takes after emit() has
 * returned, so that n is the commit order of a subject, whatever emit() does.
 */
static const char tell_sql[] =
    "INSERT INTO intake.emitter (role_name, source) VALUES ('postgres', 'app');"
    "CREATE TABLE witness.turn (subject text PRIMARY KEY, n bigint NOT NULL);"
    "CREATE TABLE witness.told (message_id text PRIMARY KEY, subject text, n bigint);"
    "CREATE FUNCTION witness.tell(message_id text, subject text) RETURNS void "
    "LANGUAGE plpgsql AS $$ BEGIN "
    "PERFORM intake.emit('app', message_id, 'app.told', subject, '{}');"
    "INSERT INTO witness.turn AS t VALUES (subject, 1) ON CONFLICT ON CONSTRAINT turn_pkey "
    "DO UPDATE SET n = t.n + 1;"
    "INSERT INTO witness.told SELECT tell.message_id, t.subject, t.n FROM witness.turn AS t "
    "WHERE t.subject = tell.subject; END $$";

/* One statement; false if PostgreSQL refused it, for which a deadlock is the only good reason. */
static bool try(PGconn *conn, const char *sql)
{
	PGresult *res = PQexec(conn, sql);
	ExecStatusType status = PQresultStatus(res);
	const char *sqlstate = PQresultErrorField(res, PG_DIAG_SQLSTATE);
	bool done = status == PGRES_TUPLES_OK || status == PGRES_COMMAND_OK;

	if (!done && (sqlstate == NULL || strcmp(sqlstate, "40P01") != 0))
		die("%s: %s", sql, PQerrorMessage(conn));
	PQclear(res);
	return done;
}

static void must(PGconn *conn, const char *sql)
{
	if (!try(conn, sql))
		die("%s: a deadlock", sql);
}

/* ------------------------------------------------------------------ open for long */

static PGconn *begin_telling(struct world *w)
{
	PGconn *conn = world_pg(w);

	must(conn, "BEGIN");
	must(conn, "SELECT witness.tell('open-' || g, 'elsewhere//open-' || g % 40) "
		   "FROM generate_series(1, 2000) AS g");
	return conn;
}

/* It never writes anything of ours; its transaction id alone holds back every snapshot. */
static PGconn *begin_elsewhere(struct world *w)
{
	const char *url = world_admin_url(w);
	char *other = text_format("%s&dbname=elsewhere", url);
	PGconn *conn;

	world_sql(w, "CREATE DATABASE elsewhere");
	conn = PQconnectdb(other);
	if (PQstatus(conn) != CONNECTION_OK)
		die("cannot connect: %s", PQerrorMessage(conn));
	must(conn, "BEGIN; SELECT pg_current_xact_id()");
	free(other);
	return conn;
}

/* From receipt to effect, of what was received between the two moments. */
static int64_t latency_ms(struct world *w, double percentile, const char *from, const char *to)
{
	return world_int(w,
	    "SELECT (1000 * percentile_disc(%f) WITHIN GROUP "
	    "(ORDER BY extract(epoch FROM i.processed_at - n.received_at)))::bigint "
	    "FROM intake.notification AS n JOIN effects.inbox AS i "
	    "ON (i.source, i.message_id) = (n.store, n.notification_id) "
	    "WHERE n.received_at BETWEEN '%s' AND '%s'",
	    percentile, from, to);
}

static void check_latency(
    struct world *w, const char *start, const char *opened, const char *committed)
{
	int64_t before = latency_ms(w, 0.5, start, opened);
	int64_t meanwhile = latency_ms(w, 0.5, opened, committed);

	printf("  median latency %lld ms before, %lld ms meanwhile; longest %lld and %lld ms\n",
	    (long long)before, (long long)meanwhile, (long long)latency_ms(w, 1, start, opened),
	    (long long)latency_ms(w, 1, opened, committed));
	CHECK(meanwhile <= 3 * before + 50);
	CHECK(latency_ms(w, 1, opened, committed) < PROMPT_MS);
}

static void open_transactions_delay_nobody(void)
{
	int seconds = QUIET_S + stack_scaled(OPEN_S);
	char *start, *opened, *committed;
	PGconn *telling, *elsewhere;
	struct load *l;
	struct stack s;

	stack_start(&s);
	world_sql(s.world, "%s", tell_sql);
	start = world_text(s.world, "SELECT clock_timestamp()");
	/* Of which nearly a third are delivered twice. */
	l = stack_load(&s, check_seed(), seconds * PER_SECOND * 10 / 13, PER_SECOND);
	CHECK(load_await_part(l, (double)QUIET_S / seconds, STACK_WAIT_MS));
	telling = begin_telling(s.world);
	elsewhere = begin_elsewhere(s.world);
	opened = world_text(s.world, "SELECT clock_timestamp()");
	CHECK(load_await_part(l, 0.98, 1000 * seconds + STACK_WAIT_MS));
	CHECK_INT(world_int(s.world, "SELECT count(*) FROM effects.inbox WHERE source = 'app'"), 0);
	committed = world_text(s.world, "SELECT clock_timestamp()");
	must(telling, "COMMIT");
	CHECK(world_await_int(s.world, OPEN_ROWS, PROMPT_MS,
	    "SELECT count(*) FROM effects.inbox WHERE source = 'app'"));
	must(elsewhere, "COMMIT");
	stack_finish(&s, l, 0);
	check_latency(s.world, start, opened, committed);
	PQfinish(telling);
	PQfinish(elsewhere);
	free(start);
	free(opened);
	free(committed);
	stack_close(&s);
}

/* ------------------------------------------------------------------ eight writers */

struct writer {
	pthread_t thread;
	struct world *world;
	unsigned number;
	int64_t until_ms;
	struct rng rng;
	unsigned subject; /* of this transaction, mostly */
	int told;
};

static unsigned pick(struct writer *writer, unsigned n)
{
	return (unsigned)(rng_next(&writer->rng) % n);
}

/* Two that tell of several subjects may deadlock, which takes PostgreSQL a second to see. */
static bool tell(struct writer *writer, PGconn *conn)
{
	unsigned subject = pick(writer, 20) == 0 ? pick(writer, SUBJECTS) : writer->subject;
	char sql[200];

	snprintf(sql, sizeof(sql), "SELECT witness.tell('w%u-%d', 'elsewhere//%u')", writer->number,
	    writer->told++, subject);
	return try(conn, sql);
}

static bool tell_some(struct writer *writer, PGconn *conn)
{
	for (unsigned n = pick(writer, 4); n > 0; n--)
		if (!tell(writer, conn))
			return false;
	return true;
}

static bool tell_and_think_again(struct writer *writer, PGconn *conn)
{
	return try(conn, "SAVEPOINT a") && tell_some(writer, conn) && try(conn, "SAVEPOINT b") &&
	       tell_some(writer, conn) && try(conn, "ROLLBACK TO a") && tell_some(writer, conn) &&
	       try(conn, "SAVEPOINT c") && tell_some(writer, conn) && try(conn, "RELEASE c");
}

/* Long ones, short ones, some in parts, some in vain. */
static bool run_transaction(struct writer *writer, PGconn *conn)
{
	writer->subject = pick(writer, SUBJECTS);
	if (!tell(writer, conn) || !tell_some(writer, conn))
		return false;
	if (pick(writer, 3) == 0 && !tell_and_think_again(writer, conn))
		return false;
	if (pick(writer, 8) == 0)
		sleep_ms(pick(writer, 400));
	return pick(writer, 6) != 0;
}

static void *write_rows(void *ctx)
{
	struct writer *writer = ctx;
	PGconn *conn = world_pg(writer->world);

	while (now_ms() < writer->until_ms) {
		must(conn, "BEGIN");
		must(conn, run_transaction(writer, conn) ? "COMMIT" : "ROLLBACK");
		sleep_ms(pick(writer, 10));
	}
	PQfinish(conn);
	return NULL;
}

static void run_writers(struct world *w)
{
	struct writer writers[WRITERS];

	for (unsigned i = 0; i < WRITERS; i++) {
		writers[i] = (struct writer){
		    .world = w, .number = i, .until_ms = now_ms() + 1000 * stack_scaled(WRITING_S)};
		rng_seed(&writers[i].rng, check_seed() + i);
		if (pthread_create(&writers[i].thread, NULL, write_rows, &writers[i]) != 0)
			die("cannot start a thread");
	}
	for (unsigned i = 0; i < WRITERS; i++)
		pthread_join(writers[i].thread, NULL);
}

/* Ticks far apart hold many transactions: within one, only ids give the order. */
static void every_committed_row_once(void)
{
	const char *const slow[] = {"--tick-interval", "100ms", NULL};
	struct load *l;
	struct stack s;

	stack_open(&s);
	stack_keep_streams(&s);
	world_sql(s.world, "%s", tell_sql);
	s.producer = stack_producer(&s, NULL, NULL);
	s.relay = stack_relay(&s, slow, NULL);
	s.consumer = stack_consumer(&s, NULL, NULL);
	l = stack_load(
	    &s, check_seed(), PER_SECOND * stack_scaled(WRITING_S) * 10 / 13, PER_SECOND);
	run_writers(s.world);
	stack_finish(&s, l, 0);

	CHECK(world_int(s.world, "SELECT count(*) FROM witness.told") > 100);
	CHECK_INT(world_int(s.world, "SELECT count(*) FROM witness.entry WHERE source = 'app'"),
	    world_int(s.world, "SELECT count(*) FROM witness.told"));
	CHECK_INT(world_int(s.world, "SELECT count(*) FROM (SELECT t.n, lag(t.n) OVER (PARTITION "
				     "BY t.subject ORDER BY e.place) AS last FROM witness.entry "
				     "AS e JOIN witness.told AS t USING (message_id)) AS o "
				     "WHERE last > n"),
	    0);
	CHECK_INT(world_int(s.world, "SELECT count(*) FROM (SELECT t.n, lag(t.n) OVER (PARTITION "
				     "BY t.subject ORDER BY e.n) AS last FROM witness.effect "
				     "AS e JOIN witness.told AS t USING (message_id)) AS o "
				     "WHERE last > n"),
	    0);
	stack_close(&s);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"B33 open transactions delay nobody", open_transactions_delay_nobody},
	    {"B32 every committed row once, in order", every_committed_row_once},
	    {NULL, NULL},
	};

	return check_main("crash long_transactions", checks, argc, argv);
}
