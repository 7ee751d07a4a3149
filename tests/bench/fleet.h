/*
 * fleet.h - several relays, consumers and producers, each in a network namespace of its own.
 */
#ifndef UMAVEZ_BENCH_FLEET_H
#define UMAVEZ_BENCH_FLEET_H

#include "tests/bench/ground.h"
#include "tests/bench/netns.h"
#include "tests/support/world.h"

#include <stdbool.h>
#include <stdint.h>

#define FLEET_MAX 4
#define FLEET_LEASE_MS 5000 /* the default of --lease */

enum fleet_service { FLEET_PRODUCERS, FLEET_RELAYS, FLEET_CONSUMERS, FLEET_SERVICES };
extern const char *const fleet_names[FLEET_SERVICES];  /* of one of them */
extern const char *const fleet_leases[FLEET_SERVICES]; /* their table; NULL: they have none */

struct fleet {
	struct ground *g;
	int n; /* of each */
	struct netns places[FLEET_SERVICES][FLEET_MAX];
	struct proc *all[FLEET_SERVICES][FLEET_MAX];
};

/* Servers that can be reached from the namespaces, which are made. */
void fleet_open(struct fleet *f, struct ground *g);

/* Start n of each, and wait until every shard is held and nobody holds more than its share. */
void fleet_start(struct fleet *f, int n);
void fleet_await_shares(struct fleet *f);
void fleet_stop(struct fleet *f);

/* The producers, for load_start(). */
void fleet_urls(const struct fleet *f, const char *ret_urls[FLEET_MAX + 1]);

/* Which shards this process holds, "0, 2"; malloc'd. */
char *fleet_shards(struct fleet *f, enum fleet_service service, int i);

/* What it has done since it started: notifications, entries, messages. */
double fleet_work(const struct fleet *f, enum fleet_service service, int i);

#endif
