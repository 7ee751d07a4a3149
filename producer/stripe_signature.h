/*
 * stripe_signature.h - the Stripe-Signature header, checked against the bytes of the body.
 *
 *	t=<unix seconds>,v1=<hex HMAC-SHA256(secret, t "." body)>[,v1=...][,v0=...]
 *
 * https://docs.stripe.com/webhooks#verify-manually.  The key is the whole secret as text, "whsec_"
 * included.  Any v1 and any secret may match, so that secrets can be rotated; other schemes are
 * ignored, so that nothing can be downgraded to them.
 *
 * Pure. The work is one HMAC for each secret and one comparison for each v1 of it.
 */
#ifndef UMAVEZ_STRIPE_SIGNATURE_H
#define UMAVEZ_STRIPE_SIGNATURE_H

#include "common/option.h"

#include <stddef.h>
#include <stdint.h>

/* Secrets are bound to a mode: what a test secret signs cannot be live.  One may be given for both:
 * a live account's endpoint for Connect gets its connected accounts' test events too, signed with
 * its one secret (https://docs.stripe.com/connect/webhooks). */
struct stripe_secrets {
	struct option_list live;
	struct option_list test;
};

enum stripe_signature {
	STRIPE_SIGNED_LIVE,
	STRIPE_SIGNED_TEST,
	STRIPE_SIGNED_EITHER,    /* for live and for test: the event tells which */
	STRIPE_HEADER_MALFORMED, /* not exactly one t of decimal digits, or no v1 */
	STRIPE_NOT_SIGNED,       /* by none of our secrets */
	STRIPE_STALE,            /* by one of ours, but t is too far from now, on either side */
};

enum stripe_signature stripe_signature_check(const char *header, const void *body, size_t len,
    const struct stripe_secrets *secrets, int64_t now_ms, int64_t tolerance_ms);

#endif
