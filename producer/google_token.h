/*
 * google_token.h - the bearer token of an authenticated Pub/Sub push.
 *
 * https://cloud.google.com/pubsub/docs/authenticate-push-subscriptions.  A compact JWS, RS256 and
 * nothing else, by the key of Google's that its kid names, for our audience and our push account.
 * The token says who sends; it does not cover the body.
 */
#ifndef UMAVEZ_GOOGLE_TOKEN_H
#define UMAVEZ_GOOGLE_TOKEN_H

#include "producer/jwks.h"
#include "producer/store.h"

#include <stdint.h>

/* The clocks of two machines differ by less than this. */
#define GOOGLE_TOKEN_LEEWAY_S 60

/* Whom the token must be for, and from. */
struct google_token_rules {
	const char *audience;     /* aud, exactly */
	const char *push_account; /* email, verified by Google */
};

/* authorization is the header's value, NULL: none. VERDICT_AUTHENTIC, VERDICT_FORGED, VERDICT_LATER
 * or VERDICT_UNAVAILABLE; ret_refusal is set for each but the first. */
enum verdict google_token_check(const char *authorization, const struct google_token_rules *rules,
    struct jwks *keys, int64_t now_ms, struct refusal *ret_refusal);

#endif
