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

/* The paths that are served, with spaces between. */
#define ROUTES_TEXT_SIZE 100
void routes_text(const struct routes *routes, char ret_text[ROUTES_TEXT_SIZE]);

/* NULL unless path is exactly that of a configured store. path may be NULL. */
const struct route *route_find(const struct routes *routes, const char *path);

#endif
