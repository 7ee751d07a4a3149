/*
 * observer.h - when each entry could be read from its stream: a reader of its own, in a thread.
 */
#ifndef UMAVEZ_BENCH_OBSERVER_H
#define UMAVEZ_BENCH_OBSERVER_H

#include "tests/bench/ground.h"

struct observer;

/* Looks at this shard's stream, or at all (-1), from now on. */
struct observer *observer_start(struct ground *g, int shard);

/* Stop, and put what was seen into bench.arrived. */
void observer_stop(struct observer *o);

#endif
