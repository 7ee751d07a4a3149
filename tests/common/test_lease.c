/*
 * Keepers run as processes of their own, as relays and consumers do, under the roles that they have
 * there.  Their workers write down what happens to them, in a file that needs no database.
 */
#include "common/clock.h"
#include "common/lease.h"
#include "common/log.h"
#include "common/service.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/world.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum { SHARDS = 4, PATIENCE_MS = 20000, MAX_KEEPERS = 8 };
#define LEASE_MS INT64_C(600)

static struct world *world;

/* Which tables a check is about. */
struct side {
	const char *schema, *consumer, *predicate;
};
static const struct side relay_side = {"intake", NULL, "true"};
static const struct side consumer_side = {"effects", "entitlements", "consumer = 'entitlements'"};
static const struct side *side;

struct keeper {
	pid_t pid;
	char name[16];
	char *events, *log;
};
static struct keeper keepers[MAX_KEEPERS];
static int n_keepers;

/* What the worker of a child process does. */
struct job {
	int events;
	bool impatient; /* returns at once, although its lease holds */
};

static void note(const struct job *job, const struct lease *lease, const char *what)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%s %u\n", what, lease_shard(lease));

	if (write(job->events, line, (size_t)n) != n)
		exit(95);
}

static void work(struct lease *lease, void *ctx)
{
	const struct job *job = ctx;

	note(job, lease, "start");
	while (!job->impatient && !lease_wait(lease, 50))
		;
	note(job, lease, "stop");
}

struct config {
	int level, format;
};
static const struct option table[] = {
    SERVICE_OPTIONS(offsetof(struct config, level), offsetof(struct config, format)),
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

static void live(const struct keeper *k, struct lease_options *options, struct job *job)
{
	char *argv[] = {(char *)"umavez-keeper", NULL};
	struct config config = {0, 0};
	struct err err = ERR_INIT;
	struct leases *leases;
	int status;

	if (!freopen(k->log, "we", stderr))
		_exit(99);
	job->events = open(k->events, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (!service_start("umavez-keeper", "", table, &config, 1, argv, &status))
		exit(status);
	options->worker = work;
	options->ctx = job;
	if (leases_open(options, &leases, &err) < 0)
		exit(96);
	leases_run(leases);
	leases_close(leases);
	close(job->events);
	exit(service_status());
}

static const char *role_url(void)
{
	return side->consumer ? world_consumer_url(world) : world_relay_url(world);
}

static struct keeper *start_job(struct job job, const char *url, bool all)
{
	struct keeper *k = &keepers[n_keepers];

	snprintf(k->name, sizeof(k->name), "k%d", n_keepers++);
	k->events = text_format("%s/%s.events", world_dir(world), k->name);
	k->log = text_format("%s/%s.log", world_dir(world), k->name);
	struct lease_options options = {.database_url = url,
	    .schema = side->schema,
	    .consumer = side->consumer,
	    .holder = k->name,
	    .lease_ms = LEASE_MS,
	    .shards = SHARDS,
	    .all = all};
	fflush(NULL);
	k->pid = fork();
	if (k->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		live(k, &options, &job);
	}
	CHECK(k->pid > 0);
	return k;
}

static struct keeper *start(void)
{
	return start_job((struct job){0}, role_url(), false);
}

static int reap(struct keeper *k)
{
	int status;

	CHECK(waitpid(k->pid, &status, 0) == k->pid);
	k->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int stop(struct keeper *k)
{
	kill(k->pid, SIGTERM);
	return reap(k);
}

static void forget_keepers(void)
{
	for (int i = 0; i < n_keepers; i++) {
		unlink(keepers[i].events);
		free(keepers[i].events);
		free(keepers[i].log);
	}
	n_keepers = 0;
}

/* Those of a check that failed. */
static void kill_leftovers(void)
{
	for (int i = 0; i < n_keepers; i++) {
		if (keepers[i].pid) {
			kill(keepers[i].pid, SIGKILL);
			reap(&keepers[i]);
		}
	}
	forget_keepers();
}

static void begin(const struct side *on)
{
	kill_leftovers();
	side = on;
	world_sql(world, "UPDATE intake.shard_lease SET holder = NULL, expires_at = NULL, term = 0;"
			 "DELETE FROM intake.instance; DELETE FROM effects.instance;"
			 "DELETE FROM effects.shard_lease");
}

static void end(void)
{
	for (int i = 0; i < n_keepers; i++) {
		if (keepers[i].pid)
			CHECK_INT(stop(&keepers[i]), 0);
	}
	forget_keepers();
}

static bool await_held(const struct keeper *k, int n)
{
	return world_await_int(world, n, PATIENCE_MS,
	    "SELECT count(*) FROM %s.shard_lease WHERE %s AND holder = '%s'"
	    " AND expires_at > clock_timestamp()",
	    side->schema, side->predicate, k->name);
}

static bool await_free(int n)
{
	return world_await_int(world, n, PATIENCE_MS,
	    "SELECT count(*) FROM %s.shard_lease WHERE %s AND holder IS NULL", side->schema,
	    side->predicate);
}

static int count_lines(const char *path, const char *part)
{
	char *text = file_read(path, NULL);
	int n = 0;

	for (const char *at = text; at && (at = strstr(at, part)); at++)
		n++;
	free(text);
	return n;
}

static int running(const struct keeper *k)
{
	return count_lines(k->events, "start ") - count_lines(k->events, "stop ");
}

struct expectation {
	const struct keeper *k;
	int running;
};

static bool is_kept_again(void *ctx)
{
	const struct keeper *k = ctx;

	return count_lines(k->log, "leases are kept again") == 1;
}

static bool runs(void *ctx)
{
	const struct expectation *e = ctx;

	return running(e->k) == e->running;
}

static bool await_running(const struct keeper *k, int n)
{
	struct expectation e = {k, n};

	return await(runs, &e, PATIENCE_MS);
}

static bool await_share(const struct keeper *k, int n)
{
	return await_held(k, n) && await_running(k, n);
}

static int64_t presence(void)
{
	return world_int(
	    world, "SELECT count(*) FROM %s.instance WHERE %s", side->schema, side->predicate);
}

static void one_takes_all_and_gives_all_back(void)
{
	struct keeper *a = start();

	CHECK(await_share(a, SHARDS));
	CHECK_INT(presence(), 1);
	int64_t began_us = clock_mono_us();
	CHECK_INT(stop(a), 0);
	CHECK(clock_mono_us() - began_us < LEASE_MS * 1000);
	CHECK(await_free(SHARDS));
	CHECK_INT(presence(), 0);
	CHECK_INT(running(a), 0);
	CHECK_INT(count_lines(a->events, "start "), SHARDS);
}

static void shared_evenly(void)
{
	struct keeper *a = start();

	CHECK(await_share(a, SHARDS));
	struct keeper *b = start();
	CHECK(await_share(a, 2) && await_share(b, 2));
	struct keeper *c = start(), *d = start();
	CHECK(await_share(a, 1) && await_share(b, 1) && await_share(c, 1) && await_share(d, 1));
	/* Nobody is without a shard that has one: terms stand still now. */
	int64_t terms = world_int(
	    world, "SELECT sum(term) FROM %s.shard_lease WHERE %s", side->schema, side->predicate);
	sleep_ms(2 * LEASE_MS);
	CHECK_INT(world_int(world, "SELECT sum(term) FROM %s.shard_lease WHERE %s", side->schema,
		      side->predicate),
	    terms);
	CHECK_INT(stop(a), 0);
	CHECK_INT(stop(b), 0);
	CHECK(await_share(c, 2) && await_share(d, 2));
}

static void killed(void)
{
	struct keeper *a = start();

	CHECK(await_share(a, SHARDS));
	struct keeper *b = start();
	CHECK(await_share(b, 2));
	kill(a->pid, SIGKILL);
	CHECK_INT(reap(a), 128 + SIGKILL);
	CHECK(await_share(b, SHARDS));
	CHECK(world_await_int(world, 1, PATIENCE_MS, "SELECT count(*) FROM %s.instance WHERE %s",
	    side->schema, side->predicate));
}

/* Stopped past its lease, it must notice by itself that it holds nothing any more. */
static void zombie(void)
{
	struct keeper *a = start();

	CHECK(await_share(a, SHARDS));
	kill(a->pid, SIGSTOP);
	struct keeper *b = start();
	CHECK(await_share(b, SHARDS));
	kill(a->pid, SIGCONT);
	CHECK(await_share(a, 2) && await_share(b, 2));
	CHECK(count_lines(a->events, "stop ") >= SHARDS);
	CHECK(world_int(world, "SELECT min(term) FROM %s.shard_lease WHERE %s", side->schema,
		  side->predicate) >= 2);
}

static void outage(void)
{
	struct keeper *a = start();

	CHECK(await_share(a, SHARDS));
	world_pg_stop(world, "immediate");
	CHECK(await_running(a, 0));
	sleep_ms(LEASE_MS);
	world_pg_start(world);
	CHECK(await_share(a, SHARDS));
	CHECK(await(is_kept_again, a, PATIENCE_MS));
	CHECK_INT(count_lines(a->log, "leases cannot be kept"), 1);
	CHECK_INT(count_lines(a->log, "lease expired"), SHARDS);
	CHECK_INT(count_lines(a->log, "returned early"), 0);
	CHECK(world_int(world, "SELECT min(term) FROM %s.shard_lease WHERE %s", side->schema,
		  side->predicate) == 2);
}

/* Rows of a claim whose answer never arrived are its own again at once. */
static void forgotten_claim(void)
{
	world_sql(world, "UPDATE intake.shard_lease SET holder = 'k0', term = 41,"
			 " expires_at = now() + interval '1 hour' WHERE shard = 2");
	struct keeper *a = start();
	CHECK(await_share(a, SHARDS));
	CHECK_INT(world_int(world, "SELECT term FROM intake.shard_lease WHERE shard = 2"), 42);
}

static void taken_by_force(void)
{
	struct keeper *a = start();

	CHECK(await_share(a, SHARDS));
	world_sql(world, "UPDATE intake.shard_lease SET holder = 'thief', term = term + 1,"
			 " expires_at = now() + interval '1 hour' WHERE shard = 1");
	CHECK(await_running(a, SHARDS - 1));
	CHECK_INT(count_lines(a->log, "lease taken by another"), 1);
}

static void rows_of_the_dead_are_cleared(void)
{
	world_sql(world, "INSERT INTO intake.instance SELECT 'dead' || n, now() - interval '1 s'"
			 " FROM generate_series(1, 250) n");
	struct keeper *a = start();
	CHECK(await_share(a, SHARDS));
	CHECK(world_await_int(world, 1, PATIENCE_MS, "SELECT count(*) FROM intake.instance"));
}

static void worker_that_returns_is_restarted(void)
{
	struct keeper *a = start_job((struct job){.impatient = true}, role_url(), false);

	CHECK(await_held(a, SHARDS));
	sleep_ms(1500);
	/* Backed off: 100 ms to begin with, growing. */
	int starts = count_lines(a->events, "start ");
	CHECK(starts >= 2 * SHARDS && starts < 20 * SHARDS);
	CHECK(await_held(a, SHARDS));
	CHECK_INT(stop(a), 0);
	CHECK(await_free(SHARDS));
}

static void all_needs_no_database(void)
{
	static const char nowhere[] = "postgresql:///postgres?host=/nonexistent";
	struct keeper *a = start_job((struct job){0}, nowhere, true);
	struct keeper *b = start_job((struct job){0}, nowhere, true);

	CHECK(await_running(a, SHARDS) && await_running(b, SHARDS));
	sleep_ms(2 * LEASE_MS);
	CHECK_INT(running(a), SHARDS);
	CHECK_INT(stop(a), 0);
	CHECK_INT(running(a), 0);
}

static void fatal_errors_end_the_service(void)
{
	struct keeper *a = start_job((struct job){0}, "host=x nonsense", false);

	CHECK_INT(reap(a), 2);
	CHECK_INT(count_lines(a->log, "cannot go on"), 1);
}

static void a_missing_privilege_ends_the_service(void)
{
	world_sql(world, "CREATE ROLE stranger; GRANT USAGE ON SCHEMA intake TO stranger");
	char *url = text_format("%s&options=-crole%%3Dstranger", world_admin_url(world));
	struct keeper *a = start_job((struct job){0}, url, false);

	CHECK_INT(reap(a), 2);
	CHECK_INT(count_lines(a->log, "permission denied for table shard_lease: connect as"), 1);
	free(url);
}

/* Later it is for somebody to give back. */
static void a_privilege_is_taken_for_a_while(void)
{
	struct keeper *a = start();

	CHECK(await_share(a, SHARDS));
	world_sql(world, "REVOKE UPDATE ON intake.shard_lease FROM umavez_relay");
	CHECK(await_running(a, 0));
	world_sql(world, "GRANT UPDATE ON intake.shard_lease TO umavez_relay");
	CHECK(await_share(a, SHARDS));
}

static void consumers_do_not_mix(void)
{
	static const struct side other_side = {"effects", "other", "consumer = 'other'"};
	struct keeper *a = start();

	side = &other_side;
	struct keeper *b = start();
	CHECK(await_share(b, SHARDS));
	side = &consumer_side;
	CHECK(await_share(a, SHARDS));
	CHECK_INT(
	    world_int(world, "SELECT count(*) FROM effects.shard_lease"), INT64_C(2) * SHARDS);
}

static void on(const struct side *tables, void (*run)(void))
{
	begin(tables);
	run();
	end();
}

#define ON(tables, run)                                                                            \
	static void tables##_##run(void)                                                           \
	{                                                                                          \
		on(&tables##_side, run);                                                           \
	}
ON(relay, one_takes_all_and_gives_all_back)
ON(relay, shared_evenly)
ON(relay, killed)
ON(relay, zombie)
ON(relay, outage)
ON(relay, forgotten_claim)
ON(relay, taken_by_force)
ON(relay, rows_of_the_dead_are_cleared)
ON(relay, worker_that_returns_is_restarted)
ON(relay, all_needs_no_database)
ON(relay, fatal_errors_end_the_service)
ON(relay, a_missing_privilege_ends_the_service)
ON(relay, a_privilege_is_taken_for_a_while)
ON(consumer, one_takes_all_and_gives_all_back)
ON(consumer, shared_evenly)
ON(consumer, killed)
ON(consumer, zombie)
ON(consumer, consumers_do_not_mix)

static const struct check checks[] = {
    {"relay: one takes all and gives all back", relay_one_takes_all_and_gives_all_back},
    {"relay: shared evenly", relay_shared_evenly},
    {"relay: killed", relay_killed},
    {"relay: a zombie", relay_zombie},
    {"relay: an outage of the database", relay_outage},
    {"relay: a forgotten claim", relay_forgotten_claim},
    {"relay: taken by force", relay_taken_by_force},
    {"relay: rows of the dead are cleared", relay_rows_of_the_dead_are_cleared},
    {"relay: a worker that returns is restarted", relay_worker_that_returns_is_restarted},
    {"relay: all needs no database", relay_all_needs_no_database},
    {"relay: fatal errors end the service", relay_fatal_errors_end_the_service},
    {"relay: a missing privilege ends the service", relay_a_missing_privilege_ends_the_service},
    {"relay: a privilege is taken for a while", relay_a_privilege_is_taken_for_a_while},
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
	status = check_main("common lease", checks, argc, argv);
	world_close(world);
	return status;
}
