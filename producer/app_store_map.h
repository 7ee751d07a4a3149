/*
 * app_store_map.h - STORES.md's table of the App Store: from Apple's words to ours.
 *
 * https://developer.apple.com/documentation/appstoreservernotifications/notificationtype
 */
#ifndef UMAVEZ_APP_STORE_MAP_H
#define UMAVEZ_APP_STORE_MAP_H

#include "producer/notification.h"

#include <jansson.h>

/* The decoded payloads of one notification. */
struct app_store_payloads {
	const json_t *outer;
	const json_t *transaction; /* of signedTransactionInfo; NULL: none */
	const json_t *renewal;     /* of signedRenewalInfo; NULL: none */
};

/*
 * Fill in what they say; n has its store and its id.  NULL, or why they cannot be understood
 * (static text): then n is to be quarantined.
 */
const char *app_store_map(struct notification *n, const struct app_store_payloads *p);

#endif
