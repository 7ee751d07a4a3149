/* Killed at every named point, stopped and continued, cut off from PostgreSQL: the streams show
 * nothing. */
#include "common/clock.h"
#include "tests/relay/stack.h"
#include "tests/support/pause.h"
#include "tests/support/text.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KILLS 50

static void emit_round(struct world *w, const char *point, int round)
{
	char *prefix = text_format("%s-%d-", point, round);

	stack_emit(w, prefix, 3);
	/* And one transaction that several appends are needed for. */
	world_sql(w,
	    "SELECT intake.emit('app', '%sx' || g, 't', 'app/' || g, '{}') "
	    "FROM generate_series(1, 9) AS g; NOTIFY umavez_outbox",
	    prefix);
	free(prefix);
}

/* Rows keep coming until the relay has died of them. */
static bool dies(struct world *w, struct proc *relay, const char *point, int *round)
{
	for (int64_t until_ms = now_ms() + WAIT_MS; now_ms() < until_ms; sleep_ms(20)) {
		if (!proc_alive(relay))
			return proc_wait(relay, 0) == 128 + SIGKILL;
		emit_round(w, point, ++*round);
	}
	fprintf(stderr, "%s was not reached\n", point);
	return false;
}

/* One relay after another dies at this point, at one of its first visits. */
static void die_at(const char *point, const char *const *args)
{
	struct world *w = stack_open(1);
	struct proc *relay = NULL;
	struct rng rng;
	int round = 0;

	rng_seed(&rng, check_seed());
	world_redis_run(w, "XGROUP CREATE umavez:purchases:{0} g 0 MKSTREAM");
	for (int i = 0; i < KILLS; i++) {
		char *fault = text_format(
		    "UMAVEZ_FAILPOINTS=%s=crash@%d", point, (int)(rng_next(&rng) % 3) + 1);
		const char *const env[] = {fault, NULL};

		emit_round(w, point, ++round);
		if (relay == NULL) {
			relay = stack_relay(w, args, env);
		} else {
			proc_set_env(relay, env);
			proc_restart(relay);
		}
		free(fault);
		CHECK(dies(w, relay, point, &round));
	}
	proc_set_env(relay, NULL);
	proc_restart(relay);
	stack_check(w, 0);
	CHECK_INT(world_int(w, "SELECT count(*) FROM intake.tick WHERE from_tick IS NOT NULL"), 0);
	world_close(w);
}

static const char *const alone[] = {
    "--lease-off", "--append-batch", "4", "--trim-interval", "10ms", NULL};

/* Retention asks more of the database than all the rest. */
static const char *const dropping[] = {"--lease-off", "--append-batch", "4", "--trim-interval",
    "10ms", "--retention-interval", "10ms", NULL};

static void before_tick(void)
{
	die_at("relay.before_tick", alone);
}

static void after_tick(void)
{
	die_at("relay.after_tick", alone);
}

static void mid_tick(void)
{
	die_at("relay.mid_tick", alone);
}

static void before_append(void)
{
	die_at("relay.before_append", alone);
}

static void after_append(void)
{
	die_at("relay.after_append", alone);
}

static void before_trim(void)
{
	die_at("relay.before_trim", alone);
}

static void before_drop(void)
{
	die_at("relay.before_drop", dropping);
}

/* An error instead of a crash: the session is torn down, the process goes on. */
static void errors_on_the_way(void)
{
	struct world *w = stack_open(2);
	struct proc *relay = stack_relay(w, alone,
	    (const char *const[]){"UMAVEZ_FAILPOINTS=relay.before_tick=error%0.05;"
				  "relay.after_tick=error%0.05;relay.mid_tick=error%0.2;"
				  "relay.before_append=error%0.1;relay.after_append=error%0.1",
		NULL});

	for (int i = 0; i < 30; i++)
		emit_round(w, "e", i);
	stack_check(w, 0);
	CHECK(proc_alive(relay));
	world_close(w);
}

static bool other_has_it(void *ctx)
{
	return stack_metric(ctx, "umavez_leases_held ") == 1;
}

/* The one that holds the shard is stopped past its lease, in the middle of whatever it does. */
static void stopped_past_its_lease(void)
{
	const char *const args[] = {"--append-batch", "4", NULL};
	struct world *w = stack_open(1);
	struct proc *relays[2] = {stack_relay(w, args, NULL), NULL};
	int holder = 0;

	CHECK(await(other_has_it, relays[0], WAIT_MS));
	relays[1] = stack_relay(w, args, NULL);
	for (int round = 0; round < 4; round++) {
		emit_round(w, "a", round);
		proc_kill(relays[holder], SIGSTOP);
		emit_round(w, "b", round);
		CHECK(stack_await_published(w, WAIT_MS));
		CHECK(await(other_has_it, relays[!holder], WAIT_MS));
		emit_round(w, "c", round);
		proc_kill(relays[holder], SIGCONT);
		emit_round(w, "d", round);
		holder = !holder;
	}
	stack_check(w, 0);
	CHECK_INT(world_int(w, "SELECT count(*) FROM intake.tick WHERE from_tick IS NOT NULL"), 0);
	world_close(w);
}

/* Stopped between the tick and its rows, with no lease to tell it that others went on. */
static void zombie_in_mid_tick(void)
{
	struct world *w = stack_open(1);
	struct proc *zombie;

	emit_round(w, "a", 0);
	zombie = stack_relay(w, alone,
	    (const char *const[]){"UMAVEZ_FAILPOINTS=relay.mid_tick=sleep(3000)@1", NULL});
	stack_relay(w, alone, NULL);
	for (int i = 1; i < 20; i++)
		emit_round(w, "a", i);
	CHECK(stack_await_published(w, WAIT_MS));
	emit_round(w, "b", 0);
	stack_check(w, 0);
	CHECK(proc_await_ready(zombie, WAIT_MS));
	world_close(w);
}

static void postgresql_goes_away(void)
{
	struct world *w = stack_open(2);
	struct proc *relay = stack_relay(w, NULL, NULL);

	for (int i = 0; i < 4; i++) {
		emit_round(w, "a", i);
		world_pg_stop(w, "immediate");
		world_pg_start(w);
		emit_round(w, "b", i);
		stack_check(w, 0);
	}
	CHECK(proc_alive(relay));
	CHECK(proc_await_ready(relay, WAIT_MS));
	world_close(w);
}

/* The postmaster, which comes first, and everything that it has started. */
static size_t server_pids(struct world *w, pid_t *pids, size_t max)
{
	char *text =
	    world_text(w, "SELECT split_part(pg_read_file('postmaster.pid'), chr(10), 1) || ' ' "
			  "|| string_agg(pid::text, ' ') FROM pg_stat_activity");
	size_t n = 0;

	for (char *at = text, *end; n < max && *at; at = end)
		pids[n++] = (pid_t)strtol(at, &end, 10);
	free(text);
	return n;
}

static void signal_all(const pid_t *pids, size_t n, int sig)
{
	for (size_t i = 0; i < n; i++)
		kill(pids[i], sig);
}

static bool some_are_published(void *ctx)
{
	return world_redis_int(ctx, "XLEN umavez:purchases:{0}") > 0;
}

/* Stops at once, in the middle of a tick, although the server does not even refuse. */
static void stop_while_postgresql_stands_still(const char *batch)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, (const char *const[]){"--append-batch", batch, NULL},
	    (const char *const[]){"UMAVEZ_FAILPOINTS=relay.mid_tick=sleep(1500)@1", NULL});
	pid_t pids[32];
	size_t n;

	CHECK(proc_await_ready(relay, WAIT_MS));
	n = server_pids(w, pids, sizeof(pids) / sizeof(pids[0]));
	world_sql(w,
	    "SELECT intake.emit('app', 'm' || g, 't', 'app/1', json_build_object('x', repeat('x', "
	    "300))) FROM generate_series(1, 5000) AS g; NOTIFY umavez_outbox");
	CHECK(await(some_are_published, w, WAIT_MS));
	signal_all(pids, n, SIGSTOP);
	proc_kill(relay, SIGTERM);
	int status = proc_wait(relay, WAIT_MS / 2);
	signal_all(pids, n, SIGCONT);
	CHECK_INT(status, 0);
	CHECK(!proc_log_has(relay, "publishing is interrupted"));
	world_close(w);
}

/* Between two batches that have arrived, with a query open, and in the middle of one. */
static void postgresql_stands_still(void)
{
	stop_while_postgresql_stands_still("2");
	stop_while_postgresql_stands_still("2000");
}

static void sessions_are_terminated(void)
{
	struct world *w = stack_open(2);

	stack_relay(w, NULL, NULL);
	for (int i = 0; i < 20; i++) {
		emit_round(w, "a", i);
		world_sql(w, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
			     "WHERE application_name LIKE 'umavez-relay%%'");
	}
	stack_check(w, 0);
	world_close(w);
}

static void expect_usage(struct world *w, const char *option, const char *value, const char *said)
{
	const char *const args[] = {"--database-url", world_relay_url(w), "--redis-url",
	    world_redis_url(w), "--admin-listen", "127.0.0.1:0", option, value, NULL};
	char *err = NULL;

	CHECK_INT(world_run_all(w, "umavez-relay", args, NULL, NULL, &err), 2);
	if (!strstr(err, said))
		fprintf(stderr, "expected \"%s\" in: %s\n", said, err);
	CHECK(strstr(err, said) != NULL);
	free(err);
}

/* Before it registers, and takes shards that others could work on. */
static void bad_options(void)
{
	static const char name[] =
	    "12345678901234567890123456789012345678901234567890123456789012345";
	struct world *w = stack_open(1);

	expect_usage(w, "--namespace", name, "5\" is not a name (1 to 64 letters");
	expect_usage(w, "--namespace", "{x}", "--namespace: \"{x}\" is not a name");
	expect_usage(w, "--redis-url", "rediss://x", "--redis-url: TLS");
	expect_usage(w, "--database-url", "http://x", "--database-url: not");
	CHECK_INT(world_int(w, "SELECT count(*) FROM intake.instance"), 0);
	CHECK_INT(world_int(w, "SELECT sum(term) FROM intake.shard_lease"), 0);
	world_close(w);
}

static void another_cluster(void)
{
	struct world *w = stack_open(1);
	struct proc *relay;

	world_sql(w, "UPDATE intake.setting SET system_identifier = 1");
	relay = stack_relay(w, NULL, (const char *const[]){"UMAVEZ_FAILPOINTS=", NULL});
	CHECK_INT(proc_wait(relay, WAIT_MS), 3);
	CHECK(proc_log_has(relay, "but the outbox was written in"));
	world_close(w);
}

/* The last tick has seen transactions that this cluster has not had yet. */
static void broken_history(void)
{
	struct world *w = stack_open(1);
	struct proc *relay;

	world_sql(w, "INSERT INTO intake.tick (shard, previous_tick, tick, snapshot) "
		     "VALUES (0, 1, 2, '9000000:9000000:')");
	relay = stack_relay(w, NULL, (const char *const[]){"UMAVEZ_FAILPOINTS=", NULL});
	CHECK_INT(proc_wait(relay, WAIT_MS), 3);
	CHECK(proc_log_has(relay, "do not follow"));
	world_close(w);
}

static void floor_is_lifted(void)
{
	struct world *w = stack_open(1);

	stack_relay(w, NULL, NULL);
	CHECK(world_await_int(w, 1, WAIT_MS,
	    "SELECT (xid_floor > '0' AND xid_floor <= "
	    "pg_snapshot_xmin(pg_current_snapshot()))::int "
	    "FROM intake.setting"));
	world_close(w);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"killed before a tick", before_tick},
	    {"killed after a tick", after_tick},
	    {"killed in the middle of a tick", mid_tick},
	    {"killed before an append", before_append},
	    {"B34 killed after an append", after_append},
	    {"killed before a trim", before_trim},
	    {"killed before a drop", before_drop},
	    {"errors on the way", errors_on_the_way},
	    {"P8 stopped past its lease, and continued", stopped_past_its_lease},
	    {"P8 a zombie in the middle of a tick", zombie_in_mid_tick},
	    {"PostgreSQL crashes", postgresql_goes_away},
	    {"PostgreSQL stands still, and the relay is to stop", postgresql_stands_still},
	    {"B37 sessions are terminated", sessions_are_terminated},
	    {"bad options: exit 2", bad_options},
	    {"another cluster: exit 3", another_cluster},
	    {"a history that does not follow: exit 3", broken_history},
	    {"the floor of transaction ids is lifted", floor_is_lifted},
	    {NULL, NULL},
	};
	return check_main("relay crash", checks, argc, argv);
}
