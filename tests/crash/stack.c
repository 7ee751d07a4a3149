#include "tests/crash/stack.h"

#include "tests/support/die.h"
#include "tests/support/files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define SHARDS 4
#define MAX_ARGS 32

int stack_scaled(int n)
{
	const char *text = getenv("UMAVEZ_TEST_SCALE");
	double scale = text != NULL && *text != '\0' ? strtod(text, NULL) : 1;
	int scaled = (int)(n * scale);

	return scaled > 1 ? scaled : 1;
}

void stack_open(struct stack *s)
{
	*s = (struct stack){.world = world_open(SHARDS)};
	witness_install(s->world);
}

void stack_close(struct stack *s)
{
	world_close(s->world);
	*s = (struct stack){.world = NULL};
}

void stack_keep_streams(struct stack *s)
{
	for (unsigned shard = 0; shard < SHARDS; shard++)
		world_redis_run(
		    s->world, "XGROUP CREATE umavez:purchases:{%u} keeper 0 MKSTREAM", shard);
}

/* The defaults, then what the test wants. */
static void join(const char **all, const char *const *defaults, const char *const *args)
{
	size_t n = 0;

	for (; *defaults != NULL; defaults++)
		all[n++] = *defaults;
	for (; args != NULL && *args != NULL; args++) {
		if (n == MAX_ARGS - 1)
			die("too many arguments");
		all[n++] = *args;
	}
	all[n] = NULL;
}

struct proc *stack_producer(struct stack *s, const char *const *args, const char *const *env)
{
	return world_producer(s->world, args, env);
}

struct proc *stack_relay(struct stack *s, const char *const *args, const char *const *env)
{
	static const char *const defaults[] = {"--lease", "1s", NULL};
	const char *all[MAX_ARGS];

	join(all, defaults, args);
	return world_relay(s->world, all, env);
}

struct proc *stack_consumer(struct stack *s, const char *const *args, const char *const *env)
{
	static const char *const defaults[] = {"--lease", "1s", "--handler", WITNESS_HANDLER, NULL};
	const char *all[MAX_ARGS];

	join(all, defaults, args);
	return world_consumer(s->world, all, env);
}

void stack_start(struct stack *s)
{
	stack_open(s);
	stack_keep_streams(s);
	s->producer = stack_producer(s, NULL, NULL);
	s->relay = stack_relay(s, NULL, NULL);
	s->consumer = stack_consumer(s, NULL, NULL);
	CHECK(proc_await_ready(s->producer, STACK_WAIT_MS));
	CHECK(proc_await_ready(s->relay, STACK_WAIT_MS));
	CHECK(proc_await_ready(s->consumer, STACK_WAIT_MS));
}

struct load *stack_load(struct stack *s, uint64_t seed, int notifications, int per_second)
{
	const char *const urls[] = {proc_url(s->producer), NULL};
	struct load_options options = {.seed = seed,
	    .notifications = notifications,
	    .duplicates = 0.3,
	    .reorder = 0.3,
	    .threads = 8,
	    .per_second = per_second};
	struct load *l = load_new(&options, world_signer(s->world));

	load_start(l, urls);
	return l;
}

static void print_ledger(const struct ledger *ledger)
{
	const struct load_totals *t = &ledger->load;

	printf("\n    %" PRId64 " notifications, sent %" PRId64 " times, %" PRId64
	       " unanswered, accepted %" PRId64 ", duplicates %" PRId64 "; effects so far %" PRId64
	       ", lost %" PRId64 ", doubled %" PRId64,
	    t->notifications, t->sends, t->unanswered, t->accepted, t->duplicates, ledger->effects,
	    ledger->lost, ledger->doubled);
}

static void print_log(const struct proc *p)
{
	if (p != NULL)
		file_print_tail(proc_log(p), 3000);
}

static void print_logs(const struct stack *s)
{
	print_log(s->producer);
	print_log(s->relay);
	print_log(s->consumer);
}

void stack_check(struct stack *s, unsigned excused)
{
	CHECK(invariants_await(s->world, STACK_WAIT_MS));
	CHECK_INT(invariants_broken(s->world, INVARIANTS_ALL | excused), 0);
}

void stack_finish(struct stack *s, struct load *l, unsigned excused)
{
	bool answered = load_wait(l, STACK_WAIT_MS), applied;
	struct ledger ledger;

	if (!answered)
		print_logs(s);
	witness_answers(s->world, l);
	applied = invariants_await(s->world, STACK_WAIT_MS);
	ledger_read(s->world, l, &ledger);
	print_ledger(&ledger);
	load_free(l);
	CHECK(answered);
	CHECK(applied);
	CHECK_INT(ledger.load.refused, 0);
	CHECK_INT(ledger.lost, 0);
	CHECK_INT(ledger.doubled, 0);
	stack_check(s, excused);
}
