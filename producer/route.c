#include "producer/route.h"

#include "producer/app_store.h"
#include "producer/google_play.h"
#include "producer/stripe.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

void routes_init(struct routes *routes)
{
	*routes = (struct routes){{
	    [ROUTE_APP_STORE] = {"/webhooks/app-store", "app_store", app_store_read, NULL},
	    [ROUTE_GOOGLE_PLAY] = {"/webhooks/google-play", "google_play", google_play_read, NULL},
	    [ROUTE_STRIPE] = {"/webhooks/stripe", "stripe", stripe_read, NULL},
	}};
}

void routes_text(const struct routes *routes, char ret_text[ROUTES_TEXT_SIZE])
{
	size_t len = 0;

	ret_text[0] = '\0';
	for (int i = 0; i < ROUTE_COUNT; i++) {
		if (routes->at[i].handle)
			len += (size_t)snprintf(ret_text + len, ROUTES_TEXT_SIZE - len, "%s%s",
			    len > 0 ? " " : "", routes->at[i].path);
	}
	assert(len < ROUTES_TEXT_SIZE);
}

const struct route *route_find(const struct routes *routes, const char *path)
{
	for (int i = 0; path && i < ROUTE_COUNT; i++) {
		if (routes->at[i].handle && strcmp(routes->at[i].path, path) == 0)
			return &routes->at[i];
	}
	return NULL;
}
