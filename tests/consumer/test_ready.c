/* What a consumer says at its start, and by /readyz, when it cannot do its work. */
#include "tests/consumer/stage.h"
#include "tests/support/proc.h"
#include "tests/support/proxy.h"
#include "tests/support/refusal.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>

/* The shards are let go when their leases expire, and a consumer without shards has nothing to do:
 * that it is not ready is said by the leases alone. */
static void leases_that_cannot_be_kept(void)
{
	struct stage *s = stage_open(1);
	struct proc *p;

	stage_add_many(s, 100, 1, 3);
	p = stage_consumer(s, NULL, NULL);
	CHECK(stage_await_effects(s, 3));
	CHECK(proc_await_ready(p, STAGE_MS));
	world_sql(s->w, "REVOKE UPDATE ON effects.shard_lease FROM umavez_consumer");
	CHECK(proc_await_log(p, "shard left", STAGE_MS));
	CHECK(stage_await_says(p, "/readyz", "shard_lease"));
	CHECK(!proc_await_ready(p, 0));
	CHECK(proc_log_has(p, "leases cannot be kept"));

	world_sql(s->w, "GRANT UPDATE ON effects.shard_lease TO umavez_consumer");
	CHECK(proc_await_ready(p, STAGE_MS));
	CHECK(proc_log_has(p, "leases are kept again"));
	stage_add_many(s, 200, 4, 6);
	CHECK(stage_await_effects(s, 6));
	stage_check_effects(s, 6);
	stage_close(s);
}

static bool await_held(struct stage *s, struct proc *p, int n)
{
	return world_await_int(s->w, n, STAGE_MS,
	    "SELECT count(*) FROM effects.shard_lease WHERE holder LIKE '%%:%d:%%'"
	    " AND expires_at > clock_timestamp()",
	    (int)proc_pid(p));
}

static void shards_go_where_redis_answers(void)
{
	struct stage *s = stage_open(2);
	struct proxy *network = world_redis_proxy(s->w);
	struct proc *near = stage_consumer(s, NULL, NULL), *far;

	world_via(s->w, NULL, network);
	far = stage_consumer(s, NULL, NULL);
	CHECK(await_held(s, near, 1));
	CHECK(await_held(s, far, 1));

	proxy_hold(network, PROXY_BOTH);
	proxy_cut(network, PROXY_CLOSE);
	CHECK(await_held(s, near, 2));
	CHECK(stage_await_says(far, "/readyz", "Redis"));
	stage_add(s, 0, 100, 1);
	stage_add(s, 1, 100, 2);
	CHECK(stage_await_effects(s, 2));

	proxy_hold(network, 0);
	CHECK(await_held(s, far, 1));
	CHECK(proc_await_ready(far, STAGE_MS));
	stage_add(s, 0, 200, 3);
	stage_add(s, 1, 200, 4);
	CHECK(stage_await_effects(s, 4));
	stage_check_effects(s, 4);
	stage_close(s);
}

/* Nobody has heard yet whether Redis answers: that is no spare. */
static void not_ready_before_redis_answers(void)
{
	static const char *const patient[] = {"--lease", "1h", NULL};
	struct stage *s = stage_open(1);
	struct proxy *network = world_redis_proxy(s->w);
	struct proc *p;

	proxy_hold(network, PROXY_BOTH);
	world_via(s->w, NULL, network);
	p = stage_consumer(s, patient, NULL);
	CHECK(proc_await_log(p, "msg=started", STAGE_MS));
	CHECK(!proc_is_ready(p));
	CHECK(stage_await_says(p, "/readyz", "Redis"));
	proxy_hold(network, 0);
	stage_close(s);
}

/* As the user of Redis that is another service's; what it says. */
static char *run_as_relay(struct world *w, int *ret_status)
{
	char *said, *url = text_format("unix://umavez_relay:umavez_relay@%s",
			world_redis_url(w) + strlen("unix://"));
	const char *const args[] = {"--database-url", world_consumer_url(w), "--redis-url", url,
	    "--consumer", STAGE_CONSUMER, "--admin-listen", "127.0.0.1:0", NULL};

	*ret_status = world_run_all(w, "umavez-consumer", args, NULL, NULL, &said);
	free(url);
	return said;
}

static void without_rights_it_ends(void)
{
	struct stage *s = stage_open(1);
	int status;
	char *said = run_as_relay(s->w, &status);
	struct proc *p;

	CHECK_INT(status, 2);
	CHECK(strstr(said, "NOPERM") && strstr(said, "log in as umavez_consumer"));
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM effects.shard_lease WHERE term > 0"), 0);
	free(said);

	p = stage_consumer(s, NULL, NULL);
	CHECK(await_held(s, p, 1));
	CHECK(proc_await_ready(p, STAGE_MS));
	stage_redis(s, "ACL SETUSER umavez_consumer -xread");
	CHECK_INT(proc_wait(p, STAGE_MS), 2);
	CHECK(proc_log_has(p, "log in as umavez_consumer"));
	CHECK_INT(
	    world_int(s->w, "SELECT count(*) FROM effects.shard_lease WHERE holder <> ''"), 0);
	stage_close(s);
}

static void refused_at_start(void)
{
	struct world *w = world_open(0);

	check_refused(w, "umavez-consumer", "--database-url", "nonsense",
	    "umavez-consumer: --database-url: not a PostgreSQL URL "
	    "(postgresql://user@host:port/database)\n");
	check_refused(w, "umavez-consumer", "--retry-min", "2min",
	    "umavez-consumer: --retry-min is longer than --retry-max\n");
	check_refused(w, "umavez-consumer", "--block", "1ms",
	    "umavez-consumer: --block: out of range (10ms to 10s)\n");
	world_close(w);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"not ready while leases cannot be kept", leases_that_cannot_be_kept},
	    {"shards go where Redis answers", shards_go_where_redis_answers},
	    {"not ready before Redis answers", not_ready_before_redis_answers},
	    {"without the rights in Redis it ends", without_rights_it_ends},
	    {"a wrong configuration is one plain line", refused_at_start},
	    {NULL, NULL},
	};
	return check_main("consumer ready", checks, argc, argv);
}
