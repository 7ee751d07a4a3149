/*
 * app_store_part.h - one JWS of an App Store notification, and what its payload claims.
 *
 * A notification is a JWS whose payload holds more of them (signedTransactionInfo,
 * signedRenewalInfo): https://developer.apple.com/documentation/appstoreservernotifications
 * Nothing here looks at a signature.
 */
#ifndef UMAVEZ_APP_STORE_PART_H
#define UMAVEZ_APP_STORE_PART_H

#include <jansson.h>
#include <stdint.h>

struct jws;

/* Zeroed: there is none. */
struct app_store_part {
	struct jws *jws;
	json_t *json;    /* NULL: its payload is no JSON that we accept, */
	const char *why; /* and this says why (static text) */
	int64_t at_ms;   /* signedDate, or now where there is none */
};

/* NULL, or why it is no JWS (static text). Free with app_store_part_done() in either case. */
const char *app_store_part_read(int64_t now_ms, const char *text, struct app_store_part *part);
void app_store_part_done(struct app_store_part *part);

/* The string at path in a payload (of a JWS that could be read), also where that is no JSON we
 * accept. malloc'd, or NULL. */
char *app_store_claim(const struct app_store_part *part, const char *path);
char *app_store_claim_below(
    const struct app_store_part *part, const char *holder, const char *name);

#endif
