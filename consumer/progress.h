/*
 * progress.h - whether the shards held by this process get on, and if not, why: for /readyz.
 *
 *   idle ──enter──▶ stuck (starting) ◀──ok / stuck──▶ working ──leave──▶ idle
 *
 * A shard that works says so at least every few seconds; one that has said nothing for longer
 * counts as stuck too. Any thread.
 */
#ifndef UMAVEZ_CONSUMER_PROGRESS_H
#define UMAVEZ_CONSUMER_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct progress;

/* silence_ms: how long a working shard may say nothing. Free with progress_free(). */
struct progress *progress_new(int64_t silence_ms);
void progress_free(struct progress *p);

/* Why the process as a whole does not get on; NULL: it does. "starting" at first. */
void progress_why(struct progress *p, const char *why);

/* Once, when the number of shards is known. */
void progress_shards(struct progress *p, unsigned shards);

void progress_enter(struct progress *p, unsigned shard);
void progress_ok(struct progress *p, unsigned shard);
void progress_stuck(struct progress *p, unsigned shard, const char *why, ...)
    __attribute__((format(printf, 3, 4)));
void progress_leave(struct progress *p, unsigned shard);

/* How many of its messages are failed: told, but no reason to be called unready. */
void progress_failed(struct progress *p, unsigned shard, int64_t n);

/* An admin_ready_fn: true if every shard held here works, also when there is none (a spare); the
 * reason then tells of failed messages. */
bool progress_ready(void *progress, char *reason, size_t reason_size);

#endif
