/*
 * stage.h - a consumer's surroundings: a world in which the test plays the relay.
 *
 * Messages are numbered; message n is app_store/m<n> about subject app_store/p<n mod 5>.  Consumers
 * started by stage_consumer() use the handler stage.apply, which keeps a log without any key, so
 * that an effect applied twice, or out of order, shows.  It raises for the messages listed in
 * stage.poison.
 */
#ifndef UMAVEZ_TESTS_CONSUMER_STAGE_H
#define UMAVEZ_TESTS_CONSUMER_STAGE_H

#include "tests/support/check.h"
#include "tests/support/world.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

#define STAGE_CONSUMER "entitlements"
#define STAGE_STREAM "umavez:purchases:{0}"
#define STAGE_REPLAY "umavez:replay:{0}"
#define STAGE_MS 30000 /* long enough for anything that should happen at all */

/* Short enough that a test can wait for a lease to expire. */
#define STAGE_LEASE_MS 1500

struct stage {
	struct world *w;
	redisContext *redis;
};

struct stage *stage_open(unsigned shards);
void stage_close(struct stage *s);

/* more: further options, NULL-terminated, or NULL. failpoints: UMAVEZ_FAILPOINTS, or NULL. */
struct proc *stage_consumer(struct stage *s, const char *const *more, const char *failpoints);

/* Whether GET path at its admin listener has this text. */
bool stage_says(const struct proc *p, const char *path, const char *text);
bool stage_await_says(const struct proc *p, const char *path, const char *text);

/* Message n as the entry <tick>-<n>. */
void stage_add(struct stage *s, unsigned shard, int64_t tick, int n);
void stage_add_many(struct stage *s, int64_t tick, int first, int last); /* to shard 0 */

/* To shard 0, each about a subject of its own. */
void stage_add_apart(struct stage *s, int64_t tick, int first, int last);

/* One Redis command; aborts on an error. */
void stage_redis(struct stage *s, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *stage_redis_text(struct stage *s, const char *fmt, ...) /* malloc'd; NULL for nil */
    __attribute__((format(printf, 2, 3)));

/* The last-delivered-id of our group in shard 0's stream. */
bool stage_await_bookmark(struct stage *s, const char *id);
bool stage_await_cursor(struct stage *s, const char *id);
bool stage_await_field(
    struct stage *s, const char *field, const char *value); /* of the replay hash */

/* As the relay: answer what the consumer asks, in the form "<its cursor> <what>".  The first does
 * it if something is asked; the second waits for that. */
bool stage_answer(struct stage *s, const char *what);
bool stage_await_answer(struct stage *s, const char *what);

/* Wait until n effects are in the log. */
bool stage_await_effects(struct stage *s, int n);

/* Effects: each message once, of a shard in the order of their numbers, each in the transaction of
 * its inbox row. */
void stage_check_effects(struct stage *s, int n);

/* The same, each subject in the order of its numbers. */
void stage_check_by_subject(struct stage *s, int n);

/* Make stage.apply() raise for message n, and no longer. */
void stage_poison(struct stage *s, int n);
void stage_heal(struct stage *s, int n);

/* Have this PL/pgSQL run by the handler for message 5, until stage_heal(s, 1000). */
void stage_on_message_5(struct stage *s, const char *does);

/* What an operator does about parked message n: "retry" or "discard". */
void stage_mark(struct stage *s, int n, const char *state);

/* Wait until exactly this is parked, in the order of places: "failed m5 held m10". */
bool stage_await_parked(struct stage *s, const char *list);

#endif
