/*
 * purge.h - forget inbox rows that cannot be delivered again.
 *
 * Never without a floor: the relay announces it as <namespace>:floor:{shard}, below which it can
 * publish nothing again.  Several processes of one consumer may purge at once.
 */
#ifndef UMAVEZ_CONSUMER_PURGE_H
#define UMAVEZ_CONSUMER_PURGE_H

#include "common/err.h"
#include "consumer/config.h"

struct metrics;
struct purge;

/* Everything is borrowed until purge_stop(). */
int purge_start(const struct config *config, unsigned shards, struct metrics *metrics,
    struct purge **ret_purge, struct err *err) warn_unused;

/* Stops the service if nobody has. NULL is fine. */
void purge_stop(struct purge *p);

#endif
