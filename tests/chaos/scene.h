/*
 * scene.h - where chaos takes place: two services of each kind behind proxies, a load, and the
 * question whether all of it was as it should be.
 *
 * The effects live in a database of their own, which can be put back to an earlier moment.
 */
#ifndef UMAVEZ_TESTS_CHAOS_SCENE_H
#define UMAVEZ_TESTS_CHAOS_SCENE_H

#include "tests/chaos/schedule.h"
#include "tests/crash/effects_db.h"
#include "tests/crash/stack.h"
#include "tests/support/proxy.h"

#include <stdbool.h>
#include <stdint.h>

enum role { PRODUCER, RELAY, CONSUMER, ROLES };

#define MEMBERS 6 /* two of each role */
#define SHARDS 4
#define PROXIES (2 * MEMBERS)
#define TELLERS 4

/* Bits of fault.takes and .needs. Members' and proxies' are shifted by the target. */
enum {
	TAKES_MEMBER = 1 << 0,
	TAKES_PROXY = 1 << MEMBERS,
	TAKES_PG = 1 << (MEMBERS + PROXIES),
	TAKES_REDIS = 1 << (MEMBERS + PROXIES + 1),
	TAKES_EFFECTS = 1 << (MEMBERS + PROXIES + 2),
	TAKES_TELLER = 1 << (MEMBERS + PROXIES + 3),
};

/* A service. Proxy 2n of the scene is between member n and PostgreSQL, 2n+1 and Redis. */
struct member {
	enum role role;
	char name[16];
	struct proc *proc;
	bool away; /* it is a fault's doing that it does not run */
};

struct counts {
	int64_t kills, cuts, failovers, violations;
};

struct scene {
	struct stack stack;
	struct effects_db *effects;
	struct load *load;
	struct member members[MEMBERS];
	struct proxy *proxies[PROXIES];
	bool trims; /* relays trim the streams, which then cannot be compared with the outbox whole
		     */
	int64_t started_ms;
	unsigned copies;          /* of the effects database: a bit for each that there is */
	PGconn *tellers[TELLERS]; /* transactions that other applications have left open */
	int64_t told;
	struct counts counts;
};

/* Servers, services, and a load that takes about for_ms. */
void scene_open(struct scene *s, uint64_t seed, int64_t for_ms, int per_second);
void scene_close(struct scene *s, bool keep); /* keep: data and logs stay where they are */

/* A line with the time. */
void scene_say(const struct scene *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void scene_blame(struct scene *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Nobody has ended but by a fault. */
void scene_watch(struct scene *s);

/* Networks work again, all notifications are answered and applied: or else violations are counted.
 */
void scene_settle(struct scene *s);

/* Compare everything with everything. */
void scene_judge(struct scene *s, struct ledger *ret);

int64_t scene_rewinds(const struct scene *s);

#endif
