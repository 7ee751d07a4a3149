/*
 * keepers.h - processes that keep leases as relays and consumers do, under the roles that those
 * have.
 *
 * Their workers write down what happens to them, in a file that needs no database.
 */
#ifndef UMAVEZ_TESTS_COMMON_KEEPERS_H
#define UMAVEZ_TESTS_COMMON_KEEPERS_H

#include "tests/support/world.h"

enum { SHARDS = 4, PATIENCE_MS = 20000, MAX_KEEPERS = 8 };
#define LEASE_MS INT64_C(600)

/* Which tables a check is about. */
struct side {
	const char *schema, *consumer, *predicate;
};
extern const struct side relay_side, consumer_side;

struct keeper {
	struct world *world;
	const struct side *side;
	pid_t pid; /* 0: it has been reaped */
	char name[16];
	char *events, *log; /* paths */
};

struct keepers {
	struct world *world;
	const struct side *side; /* of those that are started from now on */
	struct keeper members[MAX_KEEPERS];
	int n;
};

/* Run a check with a fresh set, named k0, k1, ...; those that it leaves must end well. */
void keepers_run(struct keepers *ks, const struct side *side, void (*run)(void));

/* The check <tables>_<run>. */
#define KEEPERS_RUN(keepers, tables, run)                                                          \
	static void tables##_##run(void)                                                           \
	{                                                                                          \
		keepers_run(&(keepers), &tables##_side, run);                                      \
	}

struct keeper_job {
	const char *url;  /* NULL: the role's */
	bool all;         /* every shard, without a lease */
	bool impatient;   /* the worker returns at once, although its lease holds */
	int64_t lease_ms; /* 0: LEASE_MS */
};

struct keeper *keepers_start(struct keepers *ks);
struct keeper *keepers_start_job(struct keepers *ks, struct keeper_job job);

/* Exit status, or 128 + signal. */
int keeper_reap(struct keeper *k);
int keeper_stop(struct keeper *k);

int64_t keeper_running(const struct keeper *k); /* workers */

/* A share: n leases, and as many workers. */
bool keeper_await_held(const struct keeper *k, int n);
bool keeper_await_running(const struct keeper *k, int n);
bool keeper_await_share(const struct keeper *k, int n);

/* On the side of those that are started now: leases of nobody, and keepers that say they live. */
bool keepers_await_free(struct keepers *ks, int n);
int64_t keepers_presence(struct keepers *ks);

#endif
