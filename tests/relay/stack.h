/*
 * stack.h - what the relay's tests share: a world whose outbox is written by intake.emit(), and the
 * question whether its streams are what they should be.
 */
#ifndef UMAVEZ_TESTS_RELAY_STACK_H
#define UMAVEZ_TESTS_RELAY_STACK_H

#include "tests/support/check.h"
#include "tests/support/invariants.h"
#include "tests/support/world.h"

#define WAIT_MS 30000
#define STREAM "umavez:purchases:{0}" /* of shard 0 */

/* Migrated, with the witness; the tests' own role may emit as "app". */
struct world *stack_open(unsigned shards);

/* n rows in a transaction each, over some twenty subjects; message ids <prefix>1 ... */
void stack_emit(struct world *w, const char *prefix, int n);

/* Until every outbox row is in its stream. */
bool stack_await_published(struct world *w, int64_t timeout_ms);

/* Published, and every invariant of the streams holds but those that `excused` names. */
void stack_check(struct world *w, unsigned excused);

/* A relay with fast intervals, and these arguments on top (NULL: none). */
struct proc *stack_relay(struct world *w, const char *const *args, const char *const *env);

/* last-generated-id of a shard's stream; malloc'd. */
char *stack_last_id(struct world *w, unsigned shard);

/* How many entries the stream of shard 0 has. */
int64_t stack_length(struct world *w);
bool stack_await_length(struct world *w, int64_t n);

/* Read at most n new entries as a group does, and acknowledge the first n_ack. Returns how many. */
int64_t stack_read_group(struct world *w, const char *group, int n, int64_t n_ack);

/* A metric of the relay: the first line that begins with this; -1: there is none. */
double stack_metric(struct proc *relay, const char *series);
double stack_shard_metric(struct proc *relay, const char *name); /* umavez_<name>, shard 0 */
bool stack_await_metric(
    struct proc *relay, const char *series, double at_least, int64_t timeout_ms);
bool stack_await_shard_metric(struct proc *relay, const char *name, double at_least);

/* The body of GET /readyz; malloc'd. */
char *stack_readyz(struct proc *relay, int *ret_status);

#endif
