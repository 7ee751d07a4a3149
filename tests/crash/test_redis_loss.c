/*
 * Redis loses what it held, refuses writes or is written to by others, under load and with nobody's
 * help: the streams are complete again under the same IDs, and effects happened once.
 */
#include "tests/crash/stack.h"
#include "tests/crash/streams.h"
#include "tests/support/die.h"
#include "tests/support/pause.h"
#include "tests/support/redis_server.h"
#include "tests/support/text.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define NOTIFICATIONS 400
#define PER_SECOND 200
#define SHARDS 4

#define REWOUND "Redis has lost entries"

static struct load *start(struct stack *s)
{
	stack_start(s);
	return stack_load(s, check_seed(), stack_scaled(NOTIFICATIONS), PER_SECOND);
}

/* The load goes on meanwhile. */
static void await_part(const struct load *l, double part)
{
	CHECK(load_await_part(l, part, STACK_WAIT_MS));
}

static void finish(struct stack *s, struct load *l, unsigned excused)
{
	CHECK(load_wait(l, STACK_WAIT_MS));
	CHECK(streams_await_complete(s->world, STACK_WAIT_MS));
	stack_finish(s, l, excused);
	CHECK_INT(streams_forgotten(s->world), 0);
	stack_close(s);
}

static void flushed(void)
{
	struct stack s;
	struct load *l = start(&s);

	for (int i = 1; i < 6; i++) {
		await_part(l, 0.15 * i);
		streams_remember(s.world);
		world_redis_run(s.world, "FLUSHALL");
	}
	CHECK(proc_await_log(s.relay, REWOUND, STACK_WAIT_MS));
	finish(&s, l, 0);
}

/* Nothing comes in that would make anybody look. */
static void flushed_at_rest(void)
{
	struct stack s;
	struct load *l = start(&s);

	CHECK(load_wait(l, STACK_WAIT_MS));
	CHECK(invariants_await(s.world, STACK_WAIT_MS));
	streams_remember(s.world);
	world_redis_run(s.world, "FLUSHALL");
	finish(&s, l, 0);
}

static void restarted_empty(void)
{
	struct stack s;
	struct load *l = start(&s);

	for (int i = 1; i < 4; i++) {
		await_part(l, 0.2 * i);
		streams_remember(s.world);
		world_redis_stop(s.world, false);
		await_part(l, 0.2 * i + 0.1);
		world_redis_start(s.world, false);
	}
	finish(&s, l, 0);
}

static void older_copy_restored(void)
{
	struct stack s;
	struct load *l = start(&s);

	await_part(l, 0.2);
	world_redis_run(s.world, "SAVE");
	for (int i = 1; i < 3; i++) {
		await_part(l, 0.2 + 0.25 * i);
		streams_remember(s.world);
		world_redis_stop(s.world, false);
		world_redis_start(s.world, true);
	}
	CHECK(proc_await_log(s.relay, REWOUND, STACK_WAIT_MS));
	finish(&s, l, 0);
}

/* Meanwhile notifications are received as ever: the outbox keeps them. */
static void out_of_memory(void)
{
	struct stack s;
	struct load *l = start(&s);

	world_redis_run(s.world, "CONFIG SET maxmemory-policy noeviction");
	for (int i = 1; i < 4; i++) {
		await_part(l, 0.2 * i);
		streams_remember(s.world);
		world_redis_run(s.world, "CONFIG SET maxmemory 1mb");
		CHECK(proc_await_log(s.relay, "OOM", STACK_WAIT_MS));
		await_part(l, 0.2 * i + 0.1);
		world_redis_run(s.world, "CONFIG SET maxmemory 0");
	}
	finish(&s, l, 0);
}

/* It refuses writes, and still has everything: the other server is never reached. */
static void replica_of_nobody(void)
{
	struct stack s;
	struct load *l = start(&s);

	for (int i = 1; i < 4; i++) {
		await_part(l, 0.2 * i);
		streams_remember(s.world);
		world_redis_run(s.world, "REPLICAOF 127.0.0.1 1");
		await_part(l, 0.2 * i + 0.1);
		world_redis_run(s.world, "REPLICAOF NO ONE");
	}
	CHECK(proc_await_log(s.relay, "publishing is interrupted", STACK_WAIT_MS));
	finish(&s, l, 0);
}

static struct redis_server *other_server(struct world *w)
{
	char *dir = text_format("%s/other", world_dir(w));
	char *log = text_format("%s/other.log", world_dir(w));
	struct redis_server *other = redis_server_new(dir, log);

	redis_server_start(other, false);
	redis_server_listen(other);
	free(dir);
	free(log);
	return other;
}

static bool is_synchronised(void *ctx)
{
	redisContext *redis = world_redis(ctx);
	redisReply *role = redisCommand(redis, "ROLE");
	bool done = role != NULL && role->type == REDIS_REPLY_ARRAY && role->elements == 5 &&
		    strcmp(role->element[3]->str, "connected") == 0;

	freeReplyObject(role);
	redisFree(redis);
	return done;
}

/* It has the other server's data afterwards: for us, none. */
static void replica_of_another(void)
{
	struct stack s;
	struct load *l = start(&s);
	struct redis_server *other = other_server(s.world);

	for (int i = 1; i < 4; i++) {
		await_part(l, 0.2 * i);
		streams_remember(s.world);
		world_redis_run(s.world, "REPLICAOF 127.0.0.1 %d", redis_server_port(other));
		CHECK(await(is_synchronised, s.world, STACK_WAIT_MS));
		await_part(l, 0.2 * i + 0.1);
		world_redis_run(s.world, "REPLICAOF NO ONE");
	}
	finish(&s, l, 0);
	redis_server_free(other);
}

/* Writes into all streams what is none of ours. */
struct stranger {
	struct world *world;
	pthread_t thread;
	atomic_bool stop;
};

static void *intrude(void *ctx)
{
	struct stranger *stranger = ctx;

	for (unsigned i = 0; !stranger->stop; i++) {
		world_redis_run(stranger->world, "XADD " STREAM " * who knows", i % SHARDS);
		sleep_ms(3);
	}
	return NULL;
}

/*
 * Appends of one entry, and a pause between two of one tick: so that strangers get between them.
 * What they strand there comes again in a repair tick.
 */
static void foreign_entries(void)
{
	struct stranger stranger = {.stop = false};
	struct stack s;
	struct load *l;

	stack_start(&s);
	proc_kill(s.relay, SIGTERM);
	CHECK_INT(proc_wait(s.relay, STACK_WAIT_MS), 0);
	s.relay = stack_relay(&s, (const char *const[]){"--append-batch", "1", NULL},
	    (const char *const[]){"UMAVEZ_FAILPOINTS=relay.mid_tick=sleep(3)", NULL});
	l = stack_load(&s, check_seed(), stack_scaled(NOTIFICATIONS), 2 * PER_SECOND);
	stranger.world = s.world;
	if (pthread_create(&stranger.thread, NULL, intrude, &stranger) != 0)
		die("cannot start a thread");
	await_part(l, 0.9);
	stranger.stop = true;
	pthread_join(stranger.thread, NULL);
	CHECK(proc_await_log(s.relay, "entries that are not ours", STACK_WAIT_MS));
	CHECK(proc_await_log(s.relay, "repair tick", STACK_WAIT_MS));
	CHECK(proc_await_log(s.consumer, "entries that are no messages", STACK_WAIT_MS));
	CHECK(load_wait(l, STACK_WAIT_MS));
	CHECK(streams_await_complete(s.world, STACK_WAIT_MS));
	stack_finish(&s, l, INVARIANTS_FOREIGN | INVARIANTS_REPEATS);
	stack_close(&s);
}

static void groups_and_keys(void)
{
	struct stack s;
	struct load *l = start(&s);

	for (unsigned i = 1; i < 8; i++) {
		await_part(l, 0.1 * i);
		streams_remember(s.world);
		world_redis_run(s.world,
		    i % 2 ? "XGROUP DESTROY " STREAM " entitlements" : "DEL " STREAM, i % SHARDS);
	}
	finish(&s, l, 0);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"FLUSHALL", flushed},
	    {"FLUSHALL at rest", flushed_at_rest},
	    {"Redis is restarted empty", restarted_empty},
	    {"an older RDB is restored", older_copy_restored},
	    {"B50 maxmemory is reached, and raised", out_of_memory},
	    {"B50 replica of nobody, and back", replica_of_nobody},
	    {"B50 replica of another server, and back", replica_of_another},
	    {"foreign entries at any moment", foreign_entries},
	    {"B48 groups and streams are removed", groups_and_keys},
	    {NULL, NULL},
	};

	return check_main("crash redis_loss", checks, argc, argv);
}
