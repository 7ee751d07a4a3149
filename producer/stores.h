/*
 * stores.h - the stores that are configured, ready to be asked from any thread.
 */
#ifndef UMAVEZ_STORES_H
#define UMAVEZ_STORES_H

#include "producer/config.h"
#include "producer/route.h"

struct stores;
struct metrics;

/* config and metrics are borrowed until stores_close(). ERR_USAGE: a key, a root or an address is
 * no good. */
int stores_open(const struct config *config, struct metrics *metrics, struct stores **ret_stores,
    struct err *err) warn_unused;
void stores_close(struct stores *s); /* NULL is fine */

const struct routes *stores_routes(const struct stores *s);

#endif
