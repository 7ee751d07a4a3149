/*
 * umavez rebase: a dump is restored into a cluster whose transaction ids are lower. Everybody
 * refuses it, then it is adopted, and nothing is lost or doubled.
 */
#include "tests/cli/story.h"
#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/invariants.h"
#include "tests/support/signer.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WAIT_MS 30000

static struct world *world;
static struct proc *producer, *relay, *consumer;

#define SAYS(status, out, err, ...)                                                                \
	STORY_SAYS(world, status, out, err, "rebase", "--database-url", world_admin_url(world),    \
	    __VA_ARGS__)

static void shell(const char *script)
{
	const char *const args[] = {"-ec", script, "sh", world_dir(world), NULL};

	if (world_run(NULL, NULL, "/bin/sh", args) != 0)
		die("failed: %s", script);
}

static void dump(void)
{
	shell("$(pg_config --bindir)/pg_dumpall -h $1/pg -U postgres >$1/all.sql");
}

/* Another cluster in the same place, with what the old one held. */
static void restore(void)
{
	world_pg_stop(world, "fast");
	shell("user=$(stat -c %U $1/pg); mv $1/pg $1/pg.old; mkdir $1/pg; chown $user $1/pg\n"
	      "as=; [ $(id -un) = $user ] || as=\"setpriv --reuid=$user --regid=$user "
	      "--clear-groups\"\n"
	      "cd /; $as $(pg_config --bindir)/initdb -D $1/pg -U postgres -A trust -E UTF8"
	      " --locale C --no-sync >/dev/null\n"
	      "cat $1/pg.old/postgresql.conf >$1/pg/postgresql.conf");
	world_pg_start(world);
	shell("$(pg_config --bindir)/psql -qh $1/pg -U postgres postgres -f $1/all.sql"
	      " >/dev/null 2>&1");
}

static int post(const char *id)
{
	char *event = stripe_event(id, "customer.subscription.updated", 1, (int64_t)time(NULL),
	    "{\"id\":\"sub_1\",\"object\":\"subscription\",\"status\":\"active\",\"customer\":"
	    "\"cus_1\"}");
	int status = post_stripe(proc_url(producer), event, NULL);

	free(event);
	return status;
}

static void post_all(const char *prefix, int n)
{
	for (int i = 0; i < n; i++) {
		char *id = text_format("%s%d", prefix, i);

		CHECK_INT(post(id), 200);
		free(id);
	}
}

static void stop(struct proc *p)
{
	proc_kill(p, SIGTERM);
	CHECK_INT(proc_wait(p, WAIT_MS), 0);
}

static void check_before(void)
{
	world_sql(world, "DO $$ BEGIN FOR i IN 1..5000 LOOP PERFORM pg_current_xact_id(); COMMIT;"
			 " END LOOP; END $$");
	post_all("a", 10);
	CHECK(world_await_int(world, 10, WAIT_MS, "SELECT count(*) FROM effects.inbox"));
	SAYS(0, "nothing to do", "", "--yes");
	stop(relay);
	post_all("b", 5); /* no tick has seen them */
	stop(producer);
	stop(consumer);
	dump();
	restore();
	CHECK(world_int(world, "SELECT (pg_current_xact_id()::text::bigint"
			       " < (SELECT min(xid::text::bigint) FROM intake.outbox))::int") == 1);
}

static void check_refused(void)
{
	static const char *const args[] = {"--admin-listen", "127.0.0.1:0", NULL};
	char *log = NULL;

	CHECK_INT(world_run_all(world, "umavez-relay", args, NULL, NULL, &log), 3);
	CHECK(strstr(log, "umavez rebase") != NULL);
	free(log);
	proc_restart(producer);
	CHECK(proc_await_log(producer, "", WAIT_MS));
	CHECK(world_await_int(world, 1, WAIT_MS,
	    "SELECT (count(*) > 0)::int FROM pg_stat_activity WHERE application_name LIKE"
	    " 'umavez-producer%%'"));
	CHECK_INT(post("c0"), 503);
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.notification"), 15);
	SAYS(1, "", "stop these first: umavez-producer", "--yes");
	stop(producer);
	SAYS(2, "would be adopted with an xid_offset of ", "nothing was done", NULL);
	SAYS(2, "\"needed\":true,\"done\":false,\"highest_xid_stored\":\"", "nothing was done",
	    "--json");
	CHECK_INT(world_int(world, "SELECT xid_offset FROM intake.setting"), 0);
}

static void check_adopted(void)
{
	SAYS(0, "is adopted with an xid_offset of ", "", "--yes");
	CHECK(world_int(world, "SELECT xid_offset FROM intake.setting") > 0);
	SAYS(0, "nothing to do", "", "--yes");
	SAYS(0, "\"needed\":false,\"done\":false}", "", "--json");
	proc_restart(producer);
	CHECK(proc_await_ready(producer, WAIT_MS));
	proc_restart(relay);
	proc_restart(consumer);
	post_all("c", 10);
	CHECK(world_await_int(world, 25, WAIT_MS, "SELECT count(*) FROM effects.inbox"));
	CHECK_INT(world_int(world, "SELECT count(*) FROM intake.outbox"), 25);
	CHECK_INT(
	    world_int(world, "SELECT count(*) FROM intake.outbox AS o JOIN intake.notification AS n"
			     " ON n.notification_id = o.message_id AND n.xid = o.xid"),
	    25);
	CHECK_INT(invariants_broken(world, INVARIANTS_ALL | INVARIANTS_TRIMMED), 0);
}

/* What a transaction in progress at a tick writes is still told, in shifted snapshots too. */
static void check_long_transaction(void)
{
	PGconn *conn = world_pg(world);

	PQclear(PQexec(conn, "BEGIN"));
	PQclear(PQexec(conn, "SELECT intake.emit('app', 'long', 't', 'other//long', '{}')"));
	post_all("d", 5);
	CHECK(world_await_int(world, 30, WAIT_MS, "SELECT count(*) FROM effects.inbox"));
	CHECK(world_int(world,
		  "SELECT count(*) FROM intake.tick WHERE snapshot::text LIKE '%%:%%:_%%'") > 0);
	PQclear(PQexec(conn, "COMMIT"));
	PQfinish(conn);
	CHECK(world_await_int(world, 31, WAIT_MS, "SELECT count(*) FROM effects.inbox"));
	CHECK_INT(invariants_broken(world, INVARIANTS_ALL | INVARIANTS_TRIMMED), 0);
}

static const struct check checks[] = {
    {"a dump is restored into another cluster", check_before},
    {"everybody refuses it", check_refused},
    {"it is adopted, and all flows", check_adopted},
    {"a long transaction after that", check_long_transaction},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(2);
	witness_install(world);
	world_sql(
	    world, "INSERT INTO intake.emitter (role_name, source) VALUES ('postgres', 'app')");
	producer = world_producer(world, NULL, NULL);
	relay = world_relay(world, NULL, NULL);
	consumer = world_consumer(world, NULL, NULL);
	/* It listens before it has a database connection: until then it answers 503. */
	if (!proc_await_ready(producer, WAIT_MS))
		die("the producer is not ready");
	status = check_main("cli rebase", checks, argc, argv);
	world_close(world);
	return status;
}
