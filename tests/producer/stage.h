/*
 * stage.h - a producer under test and its database: started, ended, held up and looked at.
 */
#ifndef UMAVEZ_TESTS_STAGE_H
#define UMAVEZ_TESTS_STAGE_H

#include "tests/support/world.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

/* Hold the row of a purchase, so that whatever is received for it waits. */
PGconn *stage_lock(struct world *w, const char *subscription);
void stage_unlock(PGconn *locker);

/* Wait until so many sessions of producers wait for a lock. */
bool stage_await_lock_waits(struct world *w, int n);

/* How many notifications are in the queue of this producer, by its own metrics; -1: no answer. */
int64_t stage_queued(struct proc *producer);
bool stage_await_queued(struct proc *producer, int64_t n);

/* A producer that is ready, with these arguments besides the world's. */
struct proc *stage_producer(struct world *w, const char *const *args);

/* End it in order, which is when a sanitizer looks for leaks. */
void stage_end(struct proc *producer);

/* Those of the notifications that are whole (P3): an outbox row of the same transaction, and a
 * purchase that the transaction of one of its notifications has written. */
int64_t stage_whole(struct world *w, const char *id_pattern);

/* All rows of intake that tell of these notifications. */
int64_t stage_rows(struct world *w, const char *id_pattern);

#endif
