#include "producer/stores.h"

#include "common/memory.h"
#include "producer/app_store.h"
#include "producer/fetch.h"
#include "producer/google_play.h"
#include "producer/jwks.h"
#include "producer/stripe.h"

#include <stdlib.h>

struct stores {
	struct fetcher *fetcher;
	struct jwks *jwks;
	struct app_store *app_store;
	struct google_play *google_play;
	struct stripe *stripe;
	struct routes routes;
};

static int open_app_store(
    struct stores *s, const struct config *config, struct metrics *metrics, struct err *err)
{
	const struct app_store_config app_store = {
	    .bundle_ids = config->apple_bundle_ids,
	    .app_ids = config->apple_app_ids,
	    .root_files = config->apple_root_files,
	    .ocsp = config->apple_ocsp,
	    .fetcher = s->fetcher,
	    .metrics = metrics,
	};

	if (!config_has_app_store(config))
		return 0;
	return app_store_new(&app_store, &s->app_store, err);
}

static int open_google_play(struct stores *s, const struct config *config, struct err *err)
{
	const struct jwks_config jwks = {
	    .file = config->google_jwks_file,
	    .url = config->google_jwks_file ? NULL : config->google_jwks_url,
	    .cooldown_ms = JWKS_COOLDOWN_MS,
	    .max_stale_ms = JWKS_MAX_STALE_MS,
	};

	if (!config_has_google_play(config))
		return 0;
	if (jwks_open(&jwks, s->fetcher, &s->jwks, err) < 0)
		return -1;
	const struct google_play_config google_play = {
	    .rules = {.audience = config->google_audience,
		.push_account = config->google_push_account},
	    .keys = s->jwks,
	    .packages = config->google_packages,
	};
	return google_play_new(&google_play, &s->google_play, err);
}

static int open_stripe(struct stores *s, const struct config *config, struct err *err)
{
	const struct stripe_config stripe = {
	    .secrets = {.live = config->stripe_secrets, .test = config->stripe_test_secrets},
	    .tolerance_ms = config->stripe_tolerance_ms,
	};

	if (!config_has_stripe(config))
		return 0;
	return stripe_new(&stripe, &s->stripe, err);
}

int stores_open(const struct config *config, struct metrics *metrics, struct stores **ret_stores,
    struct err *err)
{
	struct stores *s = mem_zalloc(1, sizeof(*s));
	int rc = -1;

	routes_init(&s->routes);
	if (fetch_open(&s->fetcher, err) < 0)
		goto done;
	if (open_app_store(s, config, metrics, err) < 0 || open_google_play(s, config, err) < 0 ||
	    open_stripe(s, config, err) < 0)
		goto done;
	s->routes.at[ROUTE_APP_STORE].handle = s->app_store;
	s->routes.at[ROUTE_GOOGLE_PLAY].handle = s->google_play;
	s->routes.at[ROUTE_STRIPE].handle = s->stripe;
	*ret_stores = s;
	s = NULL; /* the caller's now */
	rc = 0;
done:
	stores_close(s);
	return rc;
}

void stores_close(struct stores *s)
{
	if (!s)
		return;
	fetch_close(s->fetcher); /* first: its answers go to the others */
	app_store_free(s->app_store);
	google_play_free(s->google_play);
	jwks_close(s->jwks);
	stripe_free(s->stripe);
	free(s);
}

const struct routes *stores_routes(const struct stores *s)
{
	return &s->routes;
}
