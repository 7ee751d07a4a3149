/*
 * route.h - which path belongs to which store.
 */
#ifndef UMAVEZ_ROUTE_H
#define UMAVEZ_ROUTE_H

#include "producer/store.h"

enum { ROUTE_APP_STORE, ROUTE_GOOGLE_PLAY, ROUTE_STRIPE, ROUTE_COUNT };

struct route {
	const char *path;
	const char *store; /* for labels: the store without its mode */
	store_read_fn *read;
	void *handle; /* NULL: not configured */
};

struct routes {
	struct route at[ROUTE_COUNT];
};

/* Every route, none of them configured. */
void routes_init(struct routes *routes);

/* NULL unless path is exactly that of a configured store. path may be NULL. */
const struct route *route_find(const struct routes *routes, const char *path);

#endif
