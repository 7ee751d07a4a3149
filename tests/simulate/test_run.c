/*
 * umavez simulate from outside: its ledger, its exit status, and that nothing is left of it.
 */
#include "tests/simulate/simulation.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/proc.h"
#include "tests/support/text.h"

#include <errno.h>
#include <glob.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WAIT_MS 60000

static void zeros(void)
{
	json_t *ledger = simulation(0, ARGS("--notifications", "80", "--duplicates", "0.5",
					   "--kill", "relay@30%", "--kill-random", "2", "--stores",
					   "stripe", "--stores", "app_store", "--seed", "7"));

	CHECK_INT(simulation_int(ledger, "seed"), 7);
	CHECK_INT(simulation_int(ledger, "notifications"), 80);
	CHECK_INT(simulation_int(ledger, "effects"), 80);
	CHECK_INT(simulation_int(ledger, "stream_entries"), 80);
	CHECK_INT(simulation_int(ledger, "crashes"), 3);
	CHECK(simulation_int(ledger, "duplicates") > 0);
	CHECK(simulation_int(ledger, "calls") >= 80);
	CHECK_INT(simulation_int(ledger, "lost"), 0);
	CHECK_INT(simulation_int(ledger, "doubled"), 0);
	CHECK_INT(simulation_int(ledger, "out_of_order"), 0);
	CHECK_INT(simulation_int(ledger, "broken"), 0);
	CHECK_INT(json_array_size(json_object_get(ledger, "kills")), 3);
	json_decref(ledger);
}

static void for_people(void)
{
	char *out, *err;

	simulation_text(
	    0, ARGS("--notifications", "40", "--kill", "relay@50%", "--trace"), &out, &err);
	CHECK(strstr(err, "kill -9 relay") != NULL);
	CHECK(strstr(out, "  published ") != NULL);
	CHECK(strstr(out, "Nothing lost, nothing doubled. (--seed ") != NULL);
	free(out);
	free(err);
}

#if UMAVEZ_FAILPOINTS
static void at_crash_points(void)
{
	json_t *ledger = simulation(
	    1, ARGS("--notifications", "40", "--crash", "producer.after_commit", "--crash",
		   "relay.after_append", "--crash", "relay.before_append@2", "--crash",
		   "consumer.before_commit", "--crash", "consumer.after_bookmark@999999"));
	const json_t *not_reached = json_object_get(ledger, "not_reached");

	CHECK_INT(simulation_int(ledger, "crashes"), 4);
	CHECK_INT(simulation_int(ledger, "lost"), 0);
	CHECK_INT(simulation_int(ledger, "doubled"), 0);
	CHECK_INT(json_array_size(not_reached), 1);
	CHECK_STR(
	    json_string_value(json_array_get(not_reached, 0)), "consumer.after_bookmark@999999");
	json_decref(ledger);
}
#endif

static void check_refused(const char *message, const char *const *args)
{
	char *err;

	simulation_text(2, args, NULL, &err);
	CHECK(strstr(err, message) != NULL);
	free(err);
}

static void bad_options(void)
{
	check_refused("--nosuch: no such option", ARGS("--nosuch"));
	check_refused("--notifications: out of range", ARGS("--notifications", "0"));
	check_refused("--duplicates: \"2\" is not a fraction", ARGS("--duplicates", "2"));
	check_refused("--stores: \"amazon\"", ARGS("--stores", "amazon"));
	check_refused("--crash: there is no crash point \"relay.x\"", ARGS("--crash", "relay.x"));
	check_refused("--kill: \"redis@1%\"", ARGS("--kill", "redis@1%"));
	check_refused("/nonexistent: No such file", ARGS("--schema-file", "/nonexistent"));
	check_refused("--trace and --json", ARGS("--trace", "--json"));
}

/* Copies of our programs and stand-ins for others, in a directory of their own. */
static void copy_program(const char *dir, const char *name)
{
	char *path = text_format("%s/%s", UMAVEZ_BIN_DIR, name);
	const char *const cp[] = {"cp", path, dir, NULL};
	const struct proc_spec spec = {.argv = cp, .out_fd = 1, .err_fd = 2};

	CHECK_INT(proc_run(&spec, WAIT_MS), 0);
	free(path);
}

static void make_program(const char *dir, const char *name)
{
	char *path = text_format("%s/%s", dir, name);

	file_write(path, "#!/bin/sh\necho \"$0 1.0\"\n");
	CHECK_INT(chmod(path, 0755), 0);
	free(path);
}

static void check_copy(const char *dir, int status, const char *const *args, const char *message)
{
	char *umavez = text_format("%s/umavez", dir), *err;

	CHECK_INT(world_run_all(NULL, umavez, args, NULL, NULL, &err), status);
	CHECK(strstr(err, message) != NULL);
	free(err);
	free(umavez);
}

static void what_is_beside_it(void)
{
	static const char *const services[] = {
	    "umavez-producer", "umavez-relay", "umavez-consumer"};
	char *dir = own_directory();

	copy_program(dir, "umavez");
	check_copy(dir, 2, ARGS("simulate"), "/umavez-simulate is not installed");
	copy_program(dir, "umavez-simulate");
	check_copy(dir, 2, ARGS("simulate"), "/umavez-producer: No such file");
	for (size_t i = 0; i < sizeof(services) / sizeof(services[0]); i++)
		make_program(dir, services[i]);
	check_copy(
	    dir, 2, ARGS("simulate", "--crash", "relay.after_append"), "has no crash points");
	tree_remove(dir);
	free(dir);
}

/* $TMPDIR/umavez-XXXXXX/pg/postmaster.pid: the server is up, and this is its pid. */
static pid_t server_pid(const char *tmpdir)
{
	char *pattern = text_format("%s/umavez-*/pg/postmaster.pid", tmpdir), *text;
	pid_t pid = 0;
	glob_t found;

	if (glob(pattern, 0, NULL, &found) == 0) {
		text = file_read(found.gl_pathv[0], NULL);
		pid = text ? (pid_t)strtol(text, NULL, 10) : 0;
		free(text);
		globfree(&found);
	}
	free(pattern);
	return pid;
}

struct running {
	struct proc *proc;
	const char *tmpdir;
	pid_t server;
};

static bool has_server(void *ctx)
{
	struct running *r = ctx;

	r->server = server_pid(r->tmpdir);
	return r->server > 0 || !proc_alive(r->proc);
}

static bool is_sending(void *ctx)
{
	struct running *r = ctx;

	return proc_log_has(r->proc, "signed notifications") || !proc_alive(r->proc);
}

/* The signal comes when a condition holds: early, when PostgreSQL is hardly up, or in the midst. */
static void end_by(int sig, bool (*moment)(void *))
{
	char *dir = own_directory(), *log = text_format("%s.log", dir);
	char *tmpdir = text_format("TMPDIR=%s", dir);
	struct running r = {.tmpdir = dir};
	const struct proc_spec spec = {
	    .argv = ARGS(UMAVEZ_BIN_DIR "/umavez", "simulate", "--kill-random", "50"),
	    .env = ARGS(tmpdir),
	    .log = log};

	r.proc = proc_new(&spec);
	proc_start(r.proc);
	CHECK(await(has_server, &r, WAIT_MS));
	CHECK(await(moment, &r, WAIT_MS));
	CHECK(r.server > 0);
	proc_kill(r.proc, sig);
	CHECK_INT(proc_wait(r.proc, WAIT_MS), 128 + sig);
	CHECK(kill(r.server, 0) < 0 && errno == ESRCH);
	own_directory_done(dir);
	proc_free(r.proc);
	unlink(log);
	free(log);
	free(tmpdir);
}

static void signals(void)
{
	end_by(SIGTERM, is_sending);
	end_by(SIGINT, has_server);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
		{"a small run ends with zeros", zeros},
		{"the ledger for people, and a trace", for_people},
#if UMAVEZ_FAILPOINTS
		{"services die at their crash points, and one that is not reached is told",
		    at_crash_points},
#endif
		{"bad options exit with 2", bad_options},
		{"programs that are missing or have no crash points", what_is_beside_it},
		{"a signal leaves nothing", signals},
		{NULL, NULL},
	};

	return check_main("simulate", checks, argc, argv);
}
