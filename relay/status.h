/*
 * status.h - what the shards of this process are doing, for /readyz and /metrics.
 *
 * Each shard's thread tells; the admin thread asks.
 */
#ifndef UMAVEZ_RELAY_STATUS_H
#define UMAVEZ_RELAY_STATUS_H

#include "common/err.h"
#include "common/metric.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct status;
struct shard_status;

/* A shard that has finished nothing for stall_ms is not making progress. */
struct status *status_new(struct metrics *metrics, int64_t stall_ms);
void status_free(struct status *s);

/* Why the process as a whole is not ready; NULL: it is. "starting" at first. */
void status_waiting(struct status *s, const char *why);

/* What an operator should know although the process is ready; "": nothing. */
void status_notice(struct status *s, const char *notice);

/* Once, when the number of shards is known. */
void status_start(struct status *s, unsigned shards);

/* admin_ready_fn: ctx is the struct status. */
bool status_ready(void *ctx, char *reason, size_t reason_size);

/* After status_start(). */
struct shard_status *status_shard(struct status *s, unsigned shard);

void status_taken(struct shard_status *s);
void status_released(struct shard_status *s);
void status_connected(struct shard_status *s, bool postgresql, bool redis);

/* A round of the loop is done, or a part of a long one. */
void status_progress(struct shard_status *s);
/* Everything that was visible is published. */
void status_caught_up(struct shard_status *s);
void status_appended(struct shard_status *s, size_t rows, double seconds, double oldest);
void status_failed(struct shard_status *s, const struct err *err);
/* why NULL: no longer. True when this reason is to be logged: it is new, or a minute has passed. */
bool status_paused(struct shard_status *s, const char *why);

void status_tick(struct shard_status *s);
void status_rewind(struct shard_status *s);
void status_repair(struct shard_status *s);
void status_foreign(struct shard_status *s, uint64_t entries);
void status_trimmed(struct shard_status *s, int64_t entries);
void status_length(struct shard_status *s, int64_t entries);

#endif
