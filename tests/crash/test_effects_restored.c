/*
 * The effects database, on its own, is put back to an earlier moment, under load: what it lost is
 * applied again, also where the streams were trimmed meanwhile; nothing is lost or doubled, nothing
 * stands still, and the log says it.
 *
 * An effect that the restored database does not have any more has not happened: it is compared as
 * it is in the end.
 */
#include "common/clock.h"
#include "tests/crash/effects_db.h"
#include "tests/crash/stack.h"
#include "tests/crash/streams.h"
#include "tests/support/files.h"
#include "tests/support/pause.h"

#include <signal.h>
#include <stdio.h>

#define NOTIFICATIONS 400
#define PER_SECOND 200
#define SHARDS 4

#define LOST "the effects database has lost commits"
#define AGAIN "replay: everything after the cursor comes again"

struct scene {
	struct stack stack;
	struct effects_db *effects;
	struct load *load;
	struct stream_id cursors[SHARDS]; /* at the last backup() */
};

static struct proc *consumer(struct scene *s)
{
	const char *const args[] = {"--database-url", effects_db_url(s->effects), NULL};

	return stack_consumer(&s->stack, args, NULL);
}

static void start(struct scene *s, bool trim)
{
	const char *const trimming[] = {"--trim-interval", "50ms", "--poll-interval", "50ms", NULL};

	stack_open(&s->stack);
	if (!trim)
		stack_keep_streams(&s->stack);
	s->effects = effects_db_open(s->stack.world);
	effects_db_backup(s->effects, "at_first");
	s->stack.producer = stack_producer(&s->stack, NULL, NULL);
	s->stack.relay = stack_relay(&s->stack, trim ? trimming : NULL, NULL);
	s->stack.consumer = consumer(s);
	s->load = stack_load(&s->stack, check_seed(), stack_scaled(NOTIFICATIONS), PER_SECOND);
}

static void await_part(struct scene *s, double part)
{
	CHECK(load_await_part(s->load, part, STACK_WAIT_MS));
}

static void await_applied(struct scene *s)
{
	if (effects_db_await_applied(s->effects, STACK_WAIT_MS))
		return;
	file_print_tail(proc_log(s->stack.relay), 4000);
	file_print_tail(proc_log(s->stack.consumer), 4000);
	CHECK(false);
}

static void finish(struct scene *s, unsigned which)
{
	CHECK(load_wait(s->load, STACK_WAIT_MS));
	await_applied(s);
	witness_answers(s->stack.world, s->load);
	effects_db_gather(s->effects);
	CHECK(invariants_await(s->stack.world, 0));
	CHECK_INT(
	    invariants_broken(s->stack.world, INVARIANTS_INTAKE | INVARIANTS_EFFECTS | which), 0);
	load_free(s->load);
	stack_close(&s->stack);
	effects_db_close(s->effects);
}

static void backup(struct scene *s, const char *name)
{
	effects_db_backup(s->effects, name);
	for (unsigned shard = 0; shard < SHARDS; shard++)
		s->cursors[shard] = effects_db_cursor(s->effects, shard);
}

/* Commits that a restored database will miss, and bookmarks that tell of them. */
static bool is_past_backup(void *ctx)
{
	const struct scene *s = ctx;

	for (unsigned shard = 0; shard < SHARDS; shard++)
		if (stream_id_compare(streams_bookmark(s->stack.world, shard, "entitlements"),
			s->cursors[shard]) <= 0)
			return false;
	return true;
}

static void await_past_backup(struct scene *s, double part)
{
	await_part(s, part);
	CHECK(await(is_past_backup, s, STACK_WAIT_MS));
}

/* What a restored database misses is no longer in the streams. */
static bool is_trimmed(void *ctx)
{
	struct scene *s = ctx;

	for (unsigned shard = 0; shard < SHARDS; shard++)
		if (world_redis_int(s->stack.world, "XLEN " STREAM, shard) > 20)
			return false;
	return true;
}

static void nothing_was_trimmed(void)
{
	struct scene s;

	start(&s, false);
	await_part(&s, 0.3);
	backup(&s, "earlier");
	await_past_backup(&s, 0.6);
	effects_db_restore(s.effects, "earlier");
	CHECK(proc_await_log(s.stack.consumer, LOST, STACK_WAIT_MS));
	CHECK(proc_await_log(s.stack.relay, " none\"", STACK_WAIT_MS));
	CHECK(load_wait(s.load, STACK_WAIT_MS));
	CHECK(streams_await_complete(s.stack.world, STACK_WAIT_MS));
	finish(&s, INVARIANTS_STREAM);
}

/* Nobody was there to see it: the bookmark tells. */
static void while_the_consumer_was_away(void)
{
	struct scene s;

	start(&s, false);
	await_part(&s, 0.3);
	backup(&s, "earlier");
	await_past_backup(&s, 0.6);
	proc_kill(s.stack.consumer, SIGKILL);
	proc_wait(s.stack.consumer, STACK_WAIT_MS);
	effects_db_restore(s.effects, "earlier");
	await_part(&s, 0.8);
	proc_restart(s.stack.consumer);
	CHECK(proc_await_log(s.stack.consumer, LOST, STACK_WAIT_MS));
	finish(&s, 0);
}

static void what_is_missing_was_trimmed(void)
{
	struct scene s;

	start(&s, true);
	await_part(&s, 0.3);
	backup(&s, "earlier");
	await_past_backup(&s, 0.6);
	CHECK(await(is_trimmed, &s, STACK_WAIT_MS));
	effects_db_restore(s.effects, "earlier");
	CHECK(proc_await_log(s.stack.consumer, AGAIN, STACK_WAIT_MS));
	finish(&s, 0);
}

/* Before the first message was applied: everything comes again. */
static void empty(void)
{
	struct scene s;

	start(&s, true);
	await_part(&s, 0.5);
	CHECK(await(is_trimmed, &s, STACK_WAIT_MS));
	effects_db_restore(s.effects, "at_first");
	CHECK(proc_await_log(s.stack.consumer, AGAIN, STACK_WAIT_MS));
	finish(&s, 0);
}

/* Two consumers; backups and restores at any moment, in the middle of a replay too, and not always
 * to the newest. */
static void again_and_again(void)
{
	struct proc *second;
	struct scene s;
	struct rng rng;

	rng_seed(&rng, check_seed());
	start(&s, true);
	second = consumer(&s);
	await_part(&s, 0.2);
	for (unsigned i = 0; i < 10; i++) {
		char name[16];

		snprintf(name, sizeof(name), "backup_%u", i / 3);
		if (i % 3 == 0)
			effects_db_backup(s.effects, name);
		await_part(&s, 0.2 + 0.07 * i);
		sleep_ms((int64_t)(rng_next(&rng) % 200));
		snprintf(name, sizeof(name), "backup_%u", (unsigned)(rng_next(&rng) % (i / 3 + 1)));
		effects_db_restore(s.effects, name);
		if (i % 4 == 3)
			proc_restart(second);
	}
	finish(&s, 0);
}

/* Redis, too, has forgotten everything that could tell. */
static void together_with_redis(void)
{
	struct scene s;

	start(&s, true);
	await_part(&s, 0.3);
	backup(&s, "earlier");
	await_past_backup(&s, 0.6);
	CHECK(await(is_trimmed, &s, STACK_WAIT_MS));
	world_redis_stop(s.stack.world, false);
	effects_db_restore(s.effects, "earlier");
	world_redis_start(s.stack.world, false);
	finish(&s, 0);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"nothing was trimmed", nothing_was_trimmed},
	    {"while the consumer was away", while_the_consumer_was_away},
	    {"what is missing was trimmed", what_is_missing_was_trimmed},
	    {"to before the first message", empty},
	    {"again and again", again_and_again},
	    {"together with Redis", together_with_redis},
	    {NULL, NULL},
	};

	return check_main("crash effects_restored", checks, argc, argv);
}
