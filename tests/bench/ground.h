/*
 * ground.h - what all contestants stand on: one PostgreSQL, one Redis, umavez's three services.
 *
 * The servers live for the whole run and are emptied between the contestants; peers get databases
 * of their own in them.  Services are started when a contestant needs them, and stopped after it.
 */
#ifndef UMAVEZ_BENCH_GROUND_H
#define UMAVEZ_BENCH_GROUND_H

#include "tests/bench/options.h"
#include "tests/support/world.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>

#define GROUND_SHARDS 4
#define GROUND_BYTES 1024
#define GROUND_RATE 500 /* messages a second, where latencies are compared */

enum member {
	PRODUCER,
	PRODUCER_SINGLE, /* one transaction a notification */
	RELAY,
	CONSUMER,
	MEMBERS
};

struct ground {
	struct world *w;
	const struct bench_options *options;
	redisContext *redis;
	struct proc *members[MEMBERS]; /* NULL: never started */
};

struct ground *ground_open(const struct bench_options *options);
void ground_close(struct ground *g);

/* Stop the services and forget everything that they have stored. */
void ground_reset(struct ground *g);

/* Begin the chains of ticks anew: what is there already counts as published long ago. */
void ground_root(struct ground *g);

/* Start it and wait until it is ready, and holds its shards. */
struct proc *ground_start(struct ground *g, enum member m);
void ground_stop(struct ground *g, enum member m); /* SIGTERM, and wait; it need not run */
void ground_stop_all(struct ground *g);

/* Give PostgreSQL the settings of a machine that is measured, whatever it had, and start it again.
 */
void ground_configure(struct ground *g);

/* Stop it and start it again, with the settings that it has by then; no service may run. */
void ground_restart_postgres(struct ground *g);

/* Write out what is dirty, so that nobody pays for what was there before. */
void ground_settle(struct ground *g);

/* Entries in umavez's streams, of all shards. */
int64_t ground_entries(struct ground *g);

/* One Redis command; ends the program on an error. Free it with freeReplyObject(). */
redisReply *ground_redis(struct ground *g, const char *fmt, ...);

/* The sum of a metric's series that begin with `series`; 0: there is none. */
double ground_metric(struct proc *p, const char *series);

/* The median of a histogram, interpolated within its bucket; 0: it is empty. */
double ground_median(struct proc *p, const char *histogram);

#endif
