/* What a relay says at its start, and by /readyz, when it cannot do its work. */
#include "common/redis.h"
#include "tests/relay/stack.h"
#include "tests/support/files.h"
#include "tests/support/proxy.h"
#include "tests/support/refusal.h"
#include "tests/support/text.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define NOT_HELD "no shard is held until this is over"

struct readiness {
	struct proc *relay;
	const char *reason;
};

static bool is_not_ready(void *ctx)
{
	const struct readiness *wanted = ctx;
	int status;
	char *body = stack_readyz(wanted->relay, &status);
	bool is = status == 503 && strstr(body, wanted->reason) != NULL;

	free(body);
	return is;
}

/* The shards are let go when their leases expire, and a relay without shards has nothing to do:
 * that it is not ready is said by the leases alone. */
static void leases_that_cannot_be_kept(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);

	stack_emit(w, "a", 5);
	stack_check(w, 0);
	CHECK(proc_await_ready(relay, WAIT_MS));
	world_sql(w, "REVOKE UPDATE ON intake.shard_lease FROM umavez_relay");
	CHECK(proc_await_log(relay, "shard left", WAIT_MS));
	CHECK(await(is_not_ready, &(struct readiness){relay, "shard_lease"}, WAIT_MS));
	CHECK(proc_log_has(relay, "leases cannot be kept"));

	world_sql(w, "GRANT UPDATE ON intake.shard_lease TO umavez_relay");
	CHECK(proc_await_ready(relay, WAIT_MS));
	CHECK(proc_log_has(relay, "leases are kept again"));
	stack_emit(w, "b", 5);
	stack_check(w, 0);
	world_close(w);
}

/* What it took it would keep from a relay that reaches Redis. */
static void without_redis_no_shard_is_taken(void)
{
	struct world *w = stack_open(4);
	struct proc *relay, *stopped;

	world_redis_stop(w, true);
	relay = stack_relay(w, NULL, NULL);
	stopped = stack_relay(w, NULL, NULL);
	CHECK(proc_await_log(relay, NOT_HELD, WAIT_MS));
	CHECK(await(is_not_ready, &(struct readiness){relay, "Redis: connect"}, WAIT_MS));
	CHECK(proc_await_log(stopped, NOT_HELD, WAIT_MS));
	proc_kill(stopped, SIGTERM);
	CHECK_INT(proc_wait(stopped, WAIT_MS), 0);
	CHECK_INT(world_int(w, "SELECT count(*) FROM intake.shard_lease WHERE holder <> ''"), 0);
	CHECK_INT(world_int(w, "SELECT count(*) FROM intake.instance"), 0);

	world_redis_start(w, true);
	CHECK(proc_await_ready(relay, WAIT_MS));
	stack_emit(w, "a", 5);
	stack_check(w, 0);
	world_close(w);
}

static bool await_held(struct world *w, struct proc *relay, int64_t n)
{
	return stack_await_metric(relay, "umavez_leases_held", (double)n, WAIT_MS) &&
	       world_await_int(w, n, WAIT_MS,
		   "SELECT count(*) FROM intake.shard_lease WHERE holder LIKE '%%:%d:%%'"
		   " AND expires_at > clock_timestamp()",
		   (int)proc_pid(relay));
}

static int64_t sum_terms(struct world *w)
{
	return world_int(w, "SELECT sum(term) FROM intake.shard_lease");
}

/* Some rounds of the keepers: two lease times, on the clock that they go by. */
static void let_them_try(struct world *w)
{
	char *now = world_text(w, "SELECT clock_timestamp()");

	CHECK(world_await_int(w, 1, WAIT_MS,
	    "SELECT (clock_timestamp() > '%s'::timestamptz + interval '2 s')::int", now));
	free(now);
}

static void check_nobody_holds(struct world *w, struct proc *near, struct proc *far)
{
	int64_t terms;

	CHECK(await(is_not_ready, &(struct readiness){near, "Redis"}, WAIT_MS));
	CHECK(await(is_not_ready, &(struct readiness){far, "Redis"}, WAIT_MS));
	CHECK(world_await_int(
	    w, 0, WAIT_MS, "SELECT count(*) FROM intake.shard_lease WHERE holder <> ''"));
	terms = sum_terms(w);
	let_them_try(w);
	CHECK_INT(sum_terms(w), terms);
	CHECK_INT(world_int(w, "SELECT count(*) FROM intake.instance"), 0);
	CHECK_INT(file_count(proc_log(near), NOT_HELD), 1);
	CHECK_INT(file_count(proc_log(far), NOT_HELD), 1);
}

static void shards_go_where_redis_answers(void)
{
	struct world *w = stack_open(4);
	struct proxy *network = world_redis_proxy(w);
	struct proc *near = stack_relay(w, NULL, NULL), *far;

	world_via(w, NULL, network);
	far = stack_relay(w, NULL, NULL);
	CHECK(await_held(w, near, 2));
	CHECK(await_held(w, far, 2));

	proxy_hold(network, PROXY_BOTH);
	proxy_cut(network, PROXY_CLOSE);
	CHECK(await_held(w, near, 4));
	CHECK(await(is_not_ready, &(struct readiness){far, "Redis"}, WAIT_MS));
	stack_emit(w, "a", 40);
	stack_check(w, 0);
	CHECK(proc_is_ready(near));

	world_redis_stop(w, true);
	check_nobody_holds(w, near, far);

	world_redis_start(w, true);
	proxy_hold(network, 0);
	CHECK(await_held(w, near, 2));
	CHECK(await_held(w, far, 2));
	CHECK(proc_await_ready(far, WAIT_MS));
	stack_emit(w, "b", 40);
	stack_check(w, 0);
	world_close(w);
}

/* The shard's next worker is another thread, but of a relay that had seen the entries. */
static void what_redis_lost_meanwhile_is_told(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);

	stack_emit(w, "a", 20);
	stack_check(w, 0);
	world_redis_stop(w, false);
	CHECK(proc_await_log(relay, NOT_HELD, WAIT_MS));
	CHECK(world_await_int(
	    w, 0, WAIT_MS, "SELECT count(*) FROM intake.shard_lease WHERE holder <> ''"));
	world_redis_start(w, false);
	CHECK(proc_await_log(relay, "Redis has lost entries", WAIT_MS));
	stack_check(w, 0);
	world_close(w);
}

/* However long a lease is, what stops the relay need not wait for a Redis that is silent. */
static void silence_does_not_delay_the_end(void)
{
	static const char *const args[] = {"--lease", "1h", NULL};
	struct world *w = stack_open(1);
	struct proxy *network = world_redis_proxy(w);
	struct proc *relay;

	proxy_hold(network, PROXY_BOTH);
	world_via(w, NULL, network);
	relay = stack_relay(w, args, NULL);
	CHECK(proc_await_log(relay, "msg=started", WAIT_MS));
	proc_kill(relay, SIGTERM);
	CHECK_INT(proc_wait(relay, WAIT_MS), 0);
	world_close(w);
}

/* As the user of Redis that is another service's; what it says. */
static char *run_as_consumer(struct world *w, int *ret_status)
{
	char *said, *url = text_format("unix://umavez_consumer:umavez_consumer@%s",
			world_redis_url(w) + strlen("unix://"));
	const char *const args[] = {"--database-url", world_relay_url(w), "--redis-url", url,
	    "--admin-listen", "127.0.0.1:0", "--lease", "1s", NULL};

	*ret_status = world_run_all(w, "umavez-relay", args, NULL, NULL, &said);
	free(url);
	return said;
}

static void who_may_not_publish_takes_no_shard(void)
{
	struct world *w = stack_open(2);
	struct proc *able = stack_relay(w, NULL, NULL);
	int64_t terms;
	int status;
	char *said;

	CHECK(await_held(w, able, 2));
	terms = sum_terms(w);
	said = run_as_consumer(w, &status);
	CHECK_INT(status, 2);
	CHECK(strstr(said, "NOPERM") && strstr(said, "log in as umavez_relay"));
	CHECK_INT(sum_terms(w), terms);
	free(said);
	world_close(w);
}

static void rights_taken_away_end_it(void)
{
	struct world *w = stack_open(2);
	struct proc *relay = stack_relay(w, NULL, NULL);

	CHECK(await_held(w, relay, 2));
	stack_emit(w, "a", 5);
	stack_check(w, 0);
	world_redis_run(w, "ACL SETUSER umavez_relay -xadd");
	stack_emit(w, "b", 5);
	CHECK_INT(proc_wait(relay, WAIT_MS), 2);
	CHECK(proc_log_has(relay, "log in as umavez_relay"));
	CHECK_INT(world_int(w, "SELECT count(*) FROM intake.shard_lease WHERE holder <> ''"), 0);
	world_close(w);
}

static void refused_at_start(void)
{
	struct world *w = world_open(0);

	check_refused(w, "umavez-relay", "--database-url", "nonsense",
	    "umavez-relay: --database-url: not a PostgreSQL URL "
	    "(postgresql://user@host:port/database)\n");
	check_refused(w, "umavez-relay", "--redis-url", "http://x",
	    "umavez-relay: --redis-url: bad scheme "
	    "(" REDIS_URL_FORMS ")\n");
	check_refused(w, "umavez-relay", "--append-batch", "0",
	    "umavez-relay: --append-batch: out of range (1 to 100000)\n");
	world_close(w);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"not ready while leases cannot be kept", leases_that_cannot_be_kept},
	    {"without Redis no shard is taken", without_redis_no_shard_is_taken},
	    {"shards go where Redis answers", shards_go_where_redis_answers},
	    {"what Redis lost meanwhile is told", what_redis_lost_meanwhile_is_told},
	    {"silence does not delay the end", silence_does_not_delay_the_end},
	    {"who may not publish takes no shard", who_may_not_publish_takes_no_shard},
	    {"rights taken away end it", rights_taken_away_end_it},
	    {"a wrong configuration is one plain line", refused_at_start},
	    {NULL, NULL},
	};
	return check_main("relay ready", checks, argc, argv);
}
