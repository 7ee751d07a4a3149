#include "tests/common/keepers.h"

#include "common/lease.h"
#include "common/service.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/text.h"

#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

const struct side relay_side = {"intake", NULL, "true"};
const struct side consumer_side = {"effects", "entitlements", "consumer = 'entitlements'"};

/* What the worker of a child process does. */
struct duty {
	int events;
	bool impatient;
};

static void note(const struct duty *duty, const struct lease *lease, const char *what)
{
	char line[64];
	int n = snprintf(line, sizeof(line), "%s %u\n", what, lease_shard(lease));

	if (write(duty->events, line, (size_t)n) != n)
		exit(95);
}

static void work(struct lease *lease, void *ctx)
{
	const struct duty *duty = ctx;

	note(duty, lease, "start");
	while (!duty->impatient && !lease_wait(lease, 50))
		;
	note(duty, lease, "stop");
}

struct config {
	int level, format;
};
static const struct option table[] = {
    SERVICE_OPTIONS(offsetof(struct config, level), offsetof(struct config, format)),
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

static void live(const struct keeper *k, struct lease_options *options, struct duty *duty)
{
	char *argv[] = {(char *)"umavez-keeper", (char *)"--log-level=debug", NULL};
	struct config config = {0, 0};
	struct err err = ERR_INIT;
	struct leases *leases;
	int status;

	if (!freopen(k->log, "we", stderr))
		_exit(99);
	duty->events = open(k->events, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	if (!service_start("umavez-keeper", "", table, &config, 2, argv, &status))
		exit(status);
	options->worker = work;
	options->ctx = duty;
	if (leases_open(options, &leases, &err) < 0)
		exit(96);
	leases_run(leases);
	leases_close(leases);
	close(duty->events);
	exit(service_status());
}

static const char *role_url(const struct keepers *ks)
{
	return ks->side->consumer ? world_consumer_url(ks->world) : world_relay_url(ks->world);
}

struct keeper *keepers_start_job(struct keepers *ks, struct keeper_job job)
{
	struct keeper *k = &ks->members[ks->n];
	struct duty duty = {.impatient = job.impatient};

	k->world = ks->world;
	k->side = ks->side;
	snprintf(k->name, sizeof(k->name), "k%d", ks->n++);
	k->events = text_format("%s/%s.events", world_dir(k->world), k->name);
	k->log = text_format("%s/%s.log", world_dir(k->world), k->name);
	struct lease_options options = {.database_url = job.url ? job.url : role_url(ks),
	    .schema = k->side->schema,
	    .consumer = k->side->consumer,
	    .holder = k->name,
	    .lease_ms = job.lease_ms ? job.lease_ms : LEASE_MS,
	    .shards = SHARDS,
	    .all = job.all};
	fflush(NULL);
	k->pid = fork();
	if (k->pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		live(k, &options, &duty);
	}
	CHECK(k->pid > 0);
	return k;
}

struct keeper *keepers_start(struct keepers *ks)
{
	return keepers_start_job(ks, (struct keeper_job){0});
}

int keeper_reap(struct keeper *k)
{
	int status;

	CHECK(waitpid(k->pid, &status, 0) == k->pid);
	k->pid = 0;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int keeper_stop(struct keeper *k)
{
	kill(k->pid, SIGTERM);
	return keeper_reap(k);
}

static void forget(struct keepers *ks)
{
	for (int i = 0; i < ks->n; i++) {
		unlink(ks->members[i].events);
		free(ks->members[i].events);
		free(ks->members[i].log);
	}
	ks->n = 0;
}

/* Those of a check that failed. */
static void kill_leftovers(struct keepers *ks)
{
	for (int i = 0; i < ks->n; i++) {
		if (ks->members[i].pid) {
			kill(ks->members[i].pid, SIGKILL);
			keeper_reap(&ks->members[i]);
		}
	}
	forget(ks);
}

static void begin(struct keepers *ks, const struct side *side)
{
	kill_leftovers(ks);
	ks->side = side;
	world_sql(ks->world,
	    "UPDATE intake.shard_lease SET holder = NULL, expires_at = NULL, term = 0;"
	    "DELETE FROM intake.instance; DELETE FROM effects.instance;"
	    "DELETE FROM effects.shard_lease");
}

static void end(struct keepers *ks)
{
	for (int i = 0; i < ks->n; i++) {
		if (ks->members[i].pid)
			CHECK_INT(keeper_stop(&ks->members[i]), 0);
	}
	forget(ks);
}

void keepers_run(struct keepers *ks, const struct side *side, void (*run)(void))
{
	begin(ks, side);
	run();
	end(ks);
}

int64_t keeper_running(const struct keeper *k)
{
	return file_count(k->events, "start ") - file_count(k->events, "stop ");
}

bool keeper_await_held(const struct keeper *k, int n)
{
	return world_await_int(k->world, n, PATIENCE_MS,
	    "SELECT count(*) FROM %s.shard_lease WHERE %s AND holder = '%s'"
	    " AND expires_at > clock_timestamp()",
	    k->side->schema, k->side->predicate, k->name);
}

struct expectation {
	const struct keeper *k;
	int running;
};

static bool runs(void *ctx)
{
	const struct expectation *e = ctx;

	return keeper_running(e->k) == e->running;
}

bool keeper_await_running(const struct keeper *k, int n)
{
	struct expectation e = {k, n};

	return await(runs, &e, PATIENCE_MS);
}

bool keeper_await_share(const struct keeper *k, int n)
{
	return keeper_await_held(k, n) && keeper_await_running(k, n);
}

bool keepers_await_free(struct keepers *ks, int n)
{
	return world_await_int(ks->world, n, PATIENCE_MS,
	    "SELECT count(*) FROM %s.shard_lease WHERE %s AND holder IS NULL", ks->side->schema,
	    ks->side->predicate);
}

int64_t keepers_presence(struct keepers *ks)
{
	return world_int(ks->world, "SELECT count(*) FROM %s.instance WHERE %s", ks->side->schema,
	    ks->side->predicate);
}
