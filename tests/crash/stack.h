/*
 * stack.h - what crash tests share: umavez as a whole on servers of its own, and the question
 * whether it came through.
 */
#ifndef UMAVEZ_TESTS_CRASH_STACK_H
#define UMAVEZ_TESTS_CRASH_STACK_H

#include "tests/support/check.h"
#include "tests/support/invariants.h"
#include "tests/support/load.h"
#include "tests/support/world.h"

/* For whatever should take a moment, on a machine that has better things to do. */
#define STACK_WAIT_MS 60000

/* Lease of relays and consumers, unless a test gives them another. */
#define STACK_LEASE_MS 1000

struct stack {
	struct world *world;
	struct proc *producer, *relay, *consumer; /* stack_start() starts them; else NULL */
};

/* How much a test does: n times $UMAVEZ_TEST_SCALE, which is 1 unless set, and at least 1. */
int stack_scaled(int n);

/* Servers, a schema of four shards, the witness. No service runs yet. */
void stack_open(struct stack *s);
void stack_close(struct stack *s);

/*
 * A group that never reads is added to every stream: so nothing is trimmed, and the streams can be
 * compared with the outbox as a whole.  Without it stack_finish() needs INVARIANTS_TRIMMED.
 */
void stack_keep_streams(struct stack *s);

/* One more of a kind, with a short lease and the witness's handler unless the arguments say
 * something else. */
struct proc *stack_producer(struct stack *s, const char *const *args, const char *const *env);
struct proc *stack_relay(struct stack *s, const char *const *args, const char *const *env);
struct proc *stack_consumer(struct stack *s, const char *const *args, const char *const *env);

/* Servers, streams that are kept, and one service of each kind, ready. */
void stack_start(struct stack *s);

/*
 * Notifications of all stores, some twice, some out of order, on their way to s->producer.  Each
 * load of one stack needs a seed of its own.  per_second 0: as fast as they are answered.
 */
struct load *stack_load(struct stack *s, uint64_t seed, int notifications, int per_second);

/*
 * Every delivery answered with 200, everything applied, nothing lost or doubled, and every
 * invariant holds but those that `excused` names (enum invariants).  Prints the ledger and frees
 * the load.
 */
void stack_finish(struct stack *s, struct load *l, unsigned excused);

/* Everything applied, and the invariants: for tests that post by themselves. */
void stack_check(struct stack *s, unsigned excused);

#endif
