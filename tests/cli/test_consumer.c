/*
 * umavez consumer, beside the real services: one that is gone for good is forgotten everywhere, and
 * nothing is forgotten of one that lives or has something left to do.
 */
#include "tests/cli/story.h"
#include "tests/support/check.h"
#include "tests/support/world.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

static struct world *world;
static struct proc *mailer;

static const char *const mailer_args[] = {"--consumer", "mailer", "--lease", "3s", NULL};

#define SAYS(status, out, err, ...) STORY_SAYS(world, status, out, err, "consumer", __VA_ARGS__)

static bool await_applied(const char *consumer, int64_t n)
{
	return world_await_int(world, n, STORY_WAIT_MS,
	    "SELECT count(*) FROM effects.inbox WHERE consumer = '%s'", consumer);
}

/* Rows of a consumer in all tables of effects, and of its groups in intake. */
static int64_t count_rows(const char *name)
{
	return world_int(world,
	    "SELECT (SELECT count(*) FROM effects.cursor WHERE consumer = n)"
	    " + (SELECT count(*) FROM effects.inbox WHERE consumer = n)"
	    " + (SELECT count(*) FROM effects.parked WHERE consumer = n)"
	    " + (SELECT count(*) FROM effects.shard_lease WHERE consumer = n)"
	    " + (SELECT count(*) FROM effects.instance WHERE consumer = n)"
	    " + (SELECT count(*) FROM intake.stream_group WHERE name = n) FROM (SELECT '%s' AS n) "
	    "x",
	    name);
}

static void park(const char *id, const char *state)
{
	world_sql(world,
	    "INSERT INTO effects.parked (consumer, source, message_id, subject, shard, stream_id,"
	    " delivered_at, event, state) VALUES ('mailer', 'stripe', '%s', 'stripe/%s', 0, '1-1',"
	    " now(), '{}', '%s')",
	    id, id, state);
}

static void check_alive(void)
{
	story_receive_all(world, "a", 6);
	CHECK(await_applied("mailer", 6));
	CHECK(await_applied("entitlements", 6));
	CHECK(story_await_registered(world, "mailer", 2));
	SAYS(0, "\nmailer             2          1       0  20", "", "list");
	SAYS(1, "", "it is alive: stop ", "forget", "mailer", "--yes");
	CHECK_INT(world_int(world, "SELECT count(*) FROM effects.cursor"), 4);
	/* Killed: nobody knows until its lease ends. */
	proc_kill(mailer, SIGKILL);
	CHECK_INT(proc_wait(mailer, STORY_WAIT_MS), 128 + SIGKILL);
	world_sql(
	    world, "UPDATE effects.instance SET expires_at = 'infinity' WHERE consumer = 'mailer'");
	SAYS(1, "", "it is alive: stop ", "forget", "mailer", "--yes");
	world_sql(world,
	    "UPDATE effects.instance SET expires_at = '-infinity' WHERE consumer = 'mailer'");
	world_sql(world,
	    "UPDATE effects.shard_lease SET expires_at = 'infinity' WHERE consumer = 'mailer'");
	SAYS(1, "", "it is alive: stop ", "forget", "mailer", "--yes");
	world_sql(world,
	    "UPDATE effects.shard_lease SET expires_at = '-infinity' WHERE consumer = 'mailer'");
}

static void check_parked(void)
{
	park("m1", "failed");
	park("m2", "held");
	SAYS(1, "", "messages are parked for it (1 failed, 1 held): ", "forget", "mailer", "--yes");
	world_sql(world, "UPDATE effects.parked SET state = 'discard'");
	SAYS(2, "would be forgotten: 2 parked messages, marked to be discarded\n",
	    "nothing was done: give --yes", "forget", "mailer");
	CHECK_INT(count_rows("mailer"), 2 + 6 + 2 + 2 + 1 + 2);
}

/* The same check once more, in the transaction that forgets: what came after the look counts. */
static void check_refused_within(void)
{
	PGconn *conn = PQconnectdb(world_operator_url(world));
	PGresult *res;

	park("m3", "failed");
	res = PQexec(conn, "SELECT effects.forget_consumer('mailer')");
	CHECK_STR(PQresultErrorField(res, PG_DIAG_SQLSTATE), "55006");
	PQclear(res);
	PQfinish(conn);
	CHECK_INT(count_rows("mailer"), 2 + 6 + 3 + 2 + 1 + 2);
	world_sql(world, "DELETE FROM effects.parked WHERE state = 'failed'");
}

static bool is_told(const char *const *args, const char *name)
{
	char *out = NULL;
	bool told;

	/* 1: reconcile, as long as one of them has not come to the end. */
	CHECK(world_run(world, &out, "umavez", args) <= 1);
	told = strstr(out, name) != NULL;
	free(out);
	return told;
}

static void check_forgotten(void)
{
	static const char *const tellers[][5] = {{"status", NULL}, {"trace", "b0", NULL},
	    {"reconcile", "--older-than", "0s", NULL}, {"consumer", "list", NULL},
	    {"group", "list", NULL}};
	enum { TELLERS = sizeof(tellers) / sizeof(tellers[0]) };

	/* Published, and of no interest to a consumer that is gone. */
	story_receive_all(world, "b", 6);
	CHECK(await_applied("entitlements", 12));
	for (size_t i = 0; i < TELLERS; i++)
		CHECK(is_told(tellers[i], "mailer"));
	SAYS(0, "destroyed in umavez:purchases:{0}, at ", "", "forget", "mailer", "--yes");
	CHECK_INT(count_rows("mailer"), 0);
	CHECK_INT(count_rows("entitlements"), 2 + 12 + 2 + 1 + 2);
	for (size_t i = 0; i < TELLERS; i++)
		CHECK(!is_told(tellers[i], "mailer"));
	/* Each shard's newest entry stays. */
	CHECK(world_await_int(world, 0, STORY_WAIT_MS,
	    "SELECT count(*) FROM intake.stream_group AS g JOIN intake.outbox AS o USING (shard)"
	    " WHERE o.id > g.acknowledged_id"));
	SAYS(1, "", "there is no such consumer", "forget", "mailer", "--yes");
}

static void check_begins_anew(void)
{
	proc_restart(mailer);
	story_receive_all(world, "c", 6);
	CHECK(world_await_int(world, 6, STORY_WAIT_MS,
	    "SELECT count(*) FROM effects.inbox WHERE consumer = 'mailer'"
	    " AND message_id LIKE 'c%%'"));
	SAYS(2, "", "say list, or forget", "forget");
	SAYS(1, "", "Redis: connect", "forget", "mailer", "--redis-url",
	    "unix:///nowhere/redis.sock");
}

static int64_t count_present(void)
{
	return world_int(world,
	    "SELECT (SELECT count(*) FROM effects.instance WHERE consumer = 'mailer'"
	    " AND expires_at > clock_timestamp())"
	    " + (SELECT count(*) FROM effects.shard_lease WHERE consumer = 'mailer'"
	    " AND holder IS NOT NULL AND expires_at > clock_timestamp())");
}

static bool is_absent(void *ctx)
{
	(void)ctx;
	return count_present() == 0;
}

/* It seemed to be gone, and is a new one from then on, without being started again. */
static void check_stopped_meanwhile(void)
{
	proc_kill(mailer, SIGSTOP);
	CHECK(await(is_absent, NULL, STORY_WAIT_MS));
	SAYS(0, "destroyed in umavez:purchases:{0}, at ", "", "forget", "mailer", "--yes");
	CHECK_INT(count_rows("mailer"), 0);
	proc_kill(mailer, SIGCONT);
	/* From then on nothing that it has not read is trimmed. */
	CHECK(story_await_registered(world, "mailer", 2));
	story_receive_all(world, "d", 6);
	CHECK(world_await_int(world, 6, STORY_WAIT_MS,
	    "SELECT count(*) FROM effects.inbox WHERE consumer = 'mailer'"
	    " AND message_id LIKE 'd%%'"));
}

static const struct check checks[] = {
    {"one that lives is not forgotten", check_alive},
    {"nor one for which messages are parked", check_parked},
    {"it is asked again in the transaction", check_refused_within},
    {"nothing tells of a forgotten one, or waits for it", check_forgotten},
    {"one of the same name begins anew", check_begins_anew},
    {"and so does one that was only stopped", check_stopped_meanwhile},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(2);
	story_relay(world);
	world_consumer(world, NULL, NULL);
	mailer = world_consumer(world, mailer_args, NULL);
	status = check_main("cli consumer", checks, argc, argv);
	world_close(world);
	return status;
}
