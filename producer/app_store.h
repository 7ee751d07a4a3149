/*
 * app_store.h - App Store Server Notifications V2: which are authentic, and which notification each
 * one is: https://developer.apple.com/documentation/appstoreservernotifications
 *
 * Authentic: the JWS of the payload verifies at its signedDate, and the payload is addressed to one
 * of our bundle ids, in Production also to one of our app ids; and so does each JWS inside of it.
 *
 * A verified payload that is no JSON we accept is still addressed to us if its bundleId can be
 * found in it (json_peek_string()), and is quarantined then; if it cannot, it is a JWS of Apple's
 * for nobody, and refused.  The app id is a number, which is not searched for: the bundle id
 * decides.
 */
#ifndef UMAVEZ_APP_STORE_H
#define UMAVEZ_APP_STORE_H

#include "common/err.h"
#include "common/option.h"
#include "producer/store.h"

#include <stdbool.h>

struct fetcher;
struct metrics;

struct app_store_config {
	struct option_list bundle_ids; /* its strings are borrowed until app_store_free(), */
	struct option_list app_ids;    /* and these too; decimal numbers */
	struct option_list root_files; /* empty: Apple Root CA - G3 */
	bool ocsp;
	struct fetcher *fetcher; /* for ocsp; borrowed, and closed before app_store_free() */
	struct metrics *metrics; /* borrowed; NULL: nobody counts */
};

struct app_store;

/* ERR_USAGE: no bundle id, an app id that is no number, a root file that holds no roots. Without an
 * app id every Production notification is refused, which is what an instance for the Sandbox wants.
 */
int app_store_new(const struct app_store_config *config, struct app_store **ret_store,
    struct err *err) warn_unused;
void app_store_free(struct app_store *s); /* NULL is fine */

/* A store_read_fn. VERDICT_LATER and VERDICT_UNAVAILABLE only with ocsp. */
enum verdict app_store_read(void *store, const struct webhook *hook,
    struct notification **ret_notification, struct refusal *ret_refusal);

/*
 * What a body that was authentic when it came, and kept under this store, says to today's parser:
 * no signature is checked again.  Never NULL; unrecognized, with the reason, if it still is.
 */
struct notification *app_store_reread(const char *store, const struct webhook *hook);

#endif
