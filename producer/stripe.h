/*
 * stripe.h - Stripe's webhooks: which are authentic, and which notification each one is.
 *
 * A secret is bound to its mode: an event whose livemode is exactly true must be signed by a live
 * secret and belongs to the store "stripe"; every other one, also one without livemode, must be
 * signed by a test secret and belongs to "stripe_test".  One secret may be both.
 */
#ifndef UMAVEZ_STRIPE_H
#define UMAVEZ_STRIPE_H

#include "common/err.h"
#include "producer/store.h"
#include "producer/stripe_signature.h"

#include <stdint.h>

struct stripe_config {
	struct stripe_secrets secrets; /* its strings are borrowed until stripe_free() */
	int64_t tolerance_ms;          /* of the signature's time, before and after now */
};

struct stripe;

/* ERR_USAGE: a secret is empty. */
int stripe_new(
    const struct stripe_config *config, struct stripe **ret_stripe, struct err *err) warn_unused;
void stripe_free(struct stripe *s); /* NULL is fine */

/* A store_read_fn. Never VERDICT_LATER or VERDICT_UNAVAILABLE. */
enum verdict stripe_read(void *stripe, const struct webhook *hook,
    struct notification **ret_notification, struct refusal *ret_refusal);

/*
 * What a body that was authentic when it came, and kept under this store, says to today's parser:
 * no signature is checked again.  Never NULL; unrecognized, with the reason, if it still is.
 */
struct notification *stripe_reread(const char *store, const struct webhook *hook);

#endif
