/*
 * story.h - a message's way, told by hand: what the services would do, one step at a time.
 */
#ifndef UMAVEZ_TESTS_CLI_STORY_H
#define UMAVEZ_TESTS_CLI_STORY_H

#include "tests/support/world.h"

#include <jansson.h>

#define STORY_WAIT_MS 20000

#define STORY_TRACE "4bf92f3577b34da6a3ce929d0e0e4736"
#define STORY_TRACEPARENT "00-" STORY_TRACE "-00f067aa0ba902b7-01"

/* Before anything has happened: no message, no effect, no cursor, no holder of a shard, and nothing
 * in Redis. */
void story_clean(struct world *w);

/* From now on every subject lands in shard 0. */
void story_one_shard(struct world *w);

/* The producer: a renewal of this purchase; its outbox id. */
int64_t story_receive(struct world *w, const char *store, const char *id, const char *purchase);

/* Renewals of stripe's sub_0, sub_1 and so on: as many messages, named by the prefix and that
 * number. */
void story_receive_all(struct world *w, const char *prefix, int n);

/* The relay: cut a tick of the shard; its name. Then append one row under it, or any text. */
int64_t story_tick(struct world *w, int shard);
void story_publish(struct world *w, int shard, int64_t tick, int64_t outbox_id);
void story_foreign(struct world *w, int shard);

/* The consumer: a cursor at 0-0; then apply this entry and move the cursor to it. */
void story_cursor(struct world *w, const char *consumer, int shard);
void story_apply(struct world *w, const char *consumer, int shard, int64_t tick, int64_t outbox_id);

/* The real relay, which trims and looks around often enough for a test to wait for it. */
struct proc *story_relay(struct world *w);

/* Until the relay has registered the group in so many shards. */
bool story_await_registered(struct world *w, const char *group, int64_t shards);

/* A lease that outlives the test. */
void story_relay_lease(struct world *w, int shard, const char *holder);
void story_consumer_lease(struct world *w, const char *consumer, int shard, const char *holder);

/* umavez as the operator runs it: exit status 0, and what it printed as JSON. */
json_t *story_umavez(struct world *w, const char *const *args);

/* The same with any exit status, and with a part of what it must say on either side. */
void story_check_says(
    struct world *w, const char *const *args, int status, const char *out_has, const char *err_has);

/* The same, the words one by one behind what is expected of them. */
#define STORY_SAYS(w, status, out_has, err_has, ...)                                               \
	story_check_says(w, (const char *const[]){__VA_ARGS__, NULL}, status, out_has, err_has)

/* The text at a path of object members and array indexes, "steps/0/at"; "(missing)", or as JSON if
 * it is no string. Valid until the next call. */
const char *story_get(const json_t *json, const char *path);

#endif
