/*
 * Services that go on although somebody else has taken over: two relays without leases, relays and
 * consumers that were stopped for longer than their lease, relays that lost the session that keeps
 * it.  The streams and the effects show nothing of it.
 */
#include "common/clock.h"
#include "tests/crash/stack.h"
#include "tests/support/files.h"
#include "tests/support/pause.h"
#include "tests/support/text.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define SHARDS 4
#define NOTIFICATIONS 100

/* The successor waits for the end of the lease, and for the server to end the transaction; the rest
 * is for a busy machine. */
#define TAKE_OVER_MS (10 * STACK_LEASE_MS)

/* Two of one kind, called a and b: a becomes the zombie. */
struct pair {
	struct stack stack;
	const char *schema; /* of their leases */
	struct proc *a, *b;
	uint64_t loads; /* so far: each needs a seed of its own */
};

static struct load *next_load(struct pair *p, int per_second)
{
	return stack_load(
	    &p->stack, check_seed() + p->loads++, stack_scaled(NOTIFICATIONS), per_second);
}

static bool await_shards(struct pair *p, const char *holder, int shards)
{
	return world_await_int(p->stack.world, shards, TAKE_OVER_MS,
	    "SELECT count(*) FROM %s.shard_lease WHERE holder = '%s' "
	    "AND expires_at > clock_timestamp()",
	    p->schema, holder);
}

static void open_pair(struct pair *p, const char *schema)
{
	*p = (struct pair){.schema = schema};
	stack_open(&p->stack);
	stack_keep_streams(&p->stack);
	p->stack.producer = stack_producer(&p->stack, NULL, NULL);
	CHECK(proc_await_ready(p->stack.producer, STACK_WAIT_MS));
}

static void start_two_relays(struct pair *p)
{
	/* Large ticks and small appends, so that one can be stopped in the middle of a tick. */
	const char *const a[] = {
	    "--instance", "a", "--tick-interval", "200ms", "--append-batch", "1", NULL};
	const char *const b[] = {
	    "--instance", "b", "--tick-interval", "200ms", "--append-batch", "1", NULL};

	open_pair(p, "intake");
	p->stack.consumer = stack_consumer(&p->stack, NULL, NULL);
	p->b = p->stack.relay = stack_relay(&p->stack, b, NULL);
	p->a = stack_relay(&p->stack, a, NULL);
	CHECK(await_shards(p, "a", SHARDS / 2));
}

static void start_two_consumers(struct pair *p)
{
	const char *const a[] = {"--instance", "a", "--batch", "10", NULL};
	const char *const b[] = {"--instance", "b", "--batch", "10", NULL};

	open_pair(p, "effects");
	p->stack.relay = stack_relay(&p->stack, NULL, NULL);
	p->b = p->stack.consumer = stack_consumer(&p->stack, b, NULL);
	p->a = stack_consumer(&p->stack, a, NULL);
	CHECK(await_shards(p, "a", SHARDS / 2));
}

static bool is_relay_of(const redisReply *entry, const char *instance)
{
	const redisReply *fields = entry->element[1];

	for (size_t i = 0; i + 1 < fields->elements; i += 2)
		if (strcmp(fields->element[i]->str, "relay") == 0)
			return strcmp(fields->element[i + 1]->str, instance) == 0;
	return false;
}

/* How many entries of all streams this relay published. */
static int published_by(struct stack *s, const char *instance)
{
	redisContext *redis = world_redis(s->world);
	int n = 0;

	for (unsigned shard = 0; shard < SHARDS; shard++) {
		redisReply *entries =
		    redisCommand(redis, "XRANGE umavez:purchases:{%u} - +", shard);

		for (size_t i = 0; i < entries->elements; i++)
			n += is_relay_of(entries->element[i], instance);
		freeReplyObject(entries);
	}
	redisFree(redis);
	return n;
}

/* Whoever cuts a tick takes a while for it: so others cut one at the same time. */
static void slow_down_ticks(struct stack *s)
{
	world_sql(s->world, "CREATE FUNCTION witness.dawdle() RETURNS trigger LANGUAGE plpgsql AS "
			    "$$BEGIN PERFORM pg_sleep(0.02 * random()); RETURN new; END$$");
	world_sql(s->world, "CREATE TRIGGER dawdle BEFORE INSERT ON intake.tick "
			    "FOR EACH ROW EXECUTE FUNCTION witness.dawdle()");
	world_sql(s->world, "GRANT USAGE ON SCHEMA witness TO umavez_relay");
}

static void two_relays_without_leases(void)
{
	const char *const a[] = {"--instance", "a", "--lease-off", NULL};
	const char *const b[] = {"--instance", "b", "--lease-off", NULL};
	struct pair p;

	open_pair(&p, "intake");
	slow_down_ticks(&p.stack);
	p.stack.consumer = stack_consumer(&p.stack, NULL, NULL);
	p.stack.relay = stack_relay(&p.stack, a, NULL);
	p.b = stack_relay(&p.stack, b, NULL);
	CHECK(proc_await_ready(p.stack.relay, STACK_WAIT_MS));
	CHECK(proc_await_ready(p.b, STACK_WAIT_MS));
	stack_finish(&p.stack, next_load(&p, 100), 0);
	stack_finish(&p.stack, next_load(&p, 0), 0);
	CHECK(published_by(&p.stack, "a") > 0);
	CHECK(published_by(&p.stack, "b") > 0);
	stack_close(&p.stack);
}

static int64_t applied_by(struct stack *s, const char *instance)
{
	return world_int(
	    s->world, "SELECT count(*) FROM effects.inbox WHERE instance = '%s'", instance);
}

static void two_consumers_without_leases(void)
{
	const char *const a[] = {"--instance", "a", "--batch", "5", "--lease-off", NULL};
	const char *const b[] = {"--instance", "b", "--batch", "3", "--lease-off", NULL};
	struct pair p;

	open_pair(&p, "effects");
	p.stack.relay = stack_relay(&p.stack, NULL, NULL);
	p.stack.consumer = stack_consumer(&p.stack, a, NULL);
	p.b = stack_consumer(&p.stack, b, NULL);
	CHECK(proc_await_ready(p.stack.consumer, STACK_WAIT_MS));
	CHECK(proc_await_ready(p.b, STACK_WAIT_MS));
	stack_finish(&p.stack, next_load(&p, 100), 0);
	stack_finish(&p.stack, next_load(&p, 0), 0);
	CHECK(applied_by(&p.stack, "a") > 0);
	CHECK(applied_by(&p.stack, "b") > 0);
	stack_close(&p.stack);
}

struct file_text {
	const char *path, *text;
};

static bool is_in_file(void *ctx)
{
	const struct file_text *wanted = ctx;

	return file_has(wanted->path, wanted->text);
}

/* a, again, which falls asleep at the point and is stopped there. The load is what it works at. */
static struct load *stop_at(struct pair *p, const char *point)
{
	char *path = text_format("%s/%s", world_dir(p->stack.world), point);
	char *points = text_format("UMAVEZ_FAILPOINTS=%s=sleep(1000)@1", point);
	char *hits = text_format("UMAVEZ_FAILPOINT_LOG=%s", path);
	const char *const env[] = {points, hits, NULL};
	struct file_text wanted = {path, point};
	struct load *load;

	proc_set_env(p->a, env);
	proc_restart(p->a);
	CHECK(await_shards(p, "a", SHARDS / 2));
	load = next_load(p, 0);
	CHECK(await(is_in_file, &wanted, STACK_WAIT_MS));
	proc_kill(p->a, SIGSTOP);
	free(path);
	free(points);
	free(hits);
	return load;
}

/* While a is stopped b does everything, within its time; then a goes on where it was. */
static void outlive(struct pair *p, const char *point)
{
	struct load *load = stop_at(p, point);
	int64_t stopped_ms = now_ms();

	CHECK(await_shards(p, "b", SHARDS));
	CHECK(load_wait(load, STACK_WAIT_MS));
	CHECK(invariants_await(p->stack.world, TAKE_OVER_MS));
	printf("\n  %s: all applied %lld ms after it was stopped", point,
	    (long long)(now_ms() - stopped_ms));
	stack_finish(&p->stack, load, 0);
	proc_kill(p->a, SIGCONT);
	stack_finish(&p->stack, next_load(p, 0), 0);
	CHECK(proc_alive(p->a));
}

static void relay_stopped_at_its_points(void)
{
	static const char *const points[] = {"relay.before_tick", "relay.after_tick",
	    "relay.mid_tick", "relay.before_append", "relay.after_append"};
	struct pair p;

	start_two_relays(&p);
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		outlive(&p, points[i]);
	stack_close(&p.stack);
}

static void consumer_stopped_inside_its_transaction(void)
{
	static const char *const points[] = {"consumer.after_read", "consumer.before_inbox",
	    "consumer.after_effect", "consumer.before_commit", "consumer.after_commit"};
	struct pair p;

	start_two_consumers(&p);
	for (size_t i = 0; i < sizeof(points) / sizeof(points[0]); i++)
		outlive(&p, points[i]);
	stack_close(&p.stack);
}

/* Now the one, now the other, for less than a lease or more, wherever it is. */
static void stop_now_and_then(struct pair *p, int rounds)
{
	struct load *load = next_load(p, 40);
	struct rng rng;

	rng_seed(&rng, check_seed());
	for (int i = 0; i < rounds; i++) {
		struct proc *victim = rng_next(&rng) % 2 ? p->a : p->b;

		sleep_ms((int64_t)(rng_next(&rng) % 500));
		proc_kill(victim, SIGSTOP);
		sleep_ms((int64_t)(rng_next(&rng) % (2 * STACK_LEASE_MS)));
		proc_kill(victim, SIGCONT);
	}
	stack_finish(&p->stack, load, 0);
	CHECK(proc_alive(p->a));
	CHECK(proc_alive(p->b));
}

static void relays_stopped_at_random(void)
{
	struct pair p;

	start_two_relays(&p);
	stop_now_and_then(&p, stack_scaled(5));
	stack_close(&p.stack);
}

static void consumers_stopped_at_random(void)
{
	struct pair p;

	start_two_consumers(&p);
	stop_now_and_then(&p, stack_scaled(5));
	stack_close(&p.stack);
}

/* A relay with a role of its own, so that it alone can be locked out. */
static struct proc *relay_of_role(struct pair *p, const char *name)
{
	char *role = text_format("w_relay_%s", name);
	char *url =
	    text_format("postgresql://%s%s", role, strchr(world_relay_url(p->stack.world), '@'));
	const char *const args[] = {
	    "--instance", name, "--lease", "500ms", "--database-url", url, NULL};
	struct proc *relay;

	world_sql(p->stack.world, "CREATE ROLE %s LOGIN IN ROLE umavez_relay", role);
	relay = stack_relay(&p->stack, args, NULL);
	free(role);
	free(url);
	return relay;
}

/* The loser works on until its lease is over, and not longer. */
static void lock_out(struct pair *p, const char *loser, const char *winner)
{
	struct world *w = p->stack.world;

	world_sql(w, "ALTER ROLE w_relay_%s CONNECTION LIMIT 0", loser);
	world_sql(w,
	    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
	    "WHERE usename = 'w_relay_%s' AND application_name = 'umavez-lease'",
	    loser);
	CHECK(await_shards(p, winner, SHARDS));
	CHECK(world_await_int(w, 0, TAKE_OVER_MS,
	    "SELECT count(*) FROM pg_stat_activity WHERE usename = 'w_relay_%s'", loser));
	stack_finish(&p->stack, next_load(p, 0), 0);
	world_sql(w, "ALTER ROLE w_relay_%s CONNECTION LIMIT -1", loser);
	CHECK(await_shards(p, loser, SHARDS / 2));
}

static void lease_session_lost(void)
{
	struct pair p;

	open_pair(&p, "intake");
	p.stack.consumer = stack_consumer(&p.stack, NULL, NULL);
	p.stack.relay = p.a = relay_of_role(&p, "a");
	p.b = relay_of_role(&p, "b");
	CHECK(await_shards(&p, "b", SHARDS / 2));
	for (int i = 0; i < stack_scaled(5); i++) {
		lock_out(&p, "a", "b");
		lock_out(&p, "b", "a");
	}
	stack_close(&p.stack);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"two relays without leases", two_relays_without_leases},
	    {"two consumers without leases", two_consumers_without_leases},
	    {"a relay stopped at its crash points", relay_stopped_at_its_points},
	    {"a consumer stopped inside its transaction", consumer_stopped_inside_its_transaction},
	    {"relays stopped at random", relays_stopped_at_random},
	    {"consumers stopped at random", consumers_stopped_at_random},
	    {"B37 the session that keeps the leases is lost", lease_session_lost},
	    {NULL, NULL},
	};

	return check_main("crash zombies", checks, argc, argv);
}
