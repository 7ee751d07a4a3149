#include "producer/stripe.h"

#include "common/log.h"
#include "producer/json.h"
#include "producer/stripe_event.h"

#include <stdlib.h>
#include <string.h>

struct stripe {
	struct stripe_config config;
};

/* Every signing secret of Stripe's begins so, and is used as it is, with that. */
static void look_at(const struct option_list *secrets, const char *option)
{
	for (size_t i = 0; i < secrets->n; i++)
		if (strncmp(secrets->values[i], "whsec_", 6) != 0)
			log_warn("a secret does not begin with whsec_: Stripe signs with none like "
				 "it, so its webhooks would be refused",
			    lf_str("option", option));
}

int stripe_new(const struct stripe_config *config, struct stripe **ret_stripe, struct err *err)
{
	const struct stripe_secrets *secrets = &config->secrets;
	struct stripe *s;

	if (option_list_has(&secrets->live, ""))
		return err_set(err, ERR_USAGE, "--stripe-secret is empty");
	if (option_list_has(&secrets->test, ""))
		return err_set(err, ERR_USAGE, "--stripe-test-secret is empty");
	s = malloc(sizeof(*s));
	if (!s)
		return err_set(err, ERR_FATAL, "out of memory");
	s->config = *config;
	look_at(&secrets->live, "--stripe-secret");
	look_at(&secrets->test, "--stripe-test-secret");
	*ret_stripe = s;
	return 0;
}

void stripe_free(struct stripe *s)
{
	free(s);
}

static enum verdict refuse_signature(enum stripe_signature signature, struct refusal *ret_refusal)
{
	switch (signature) {
	case STRIPE_HEADER_MALFORMED:
		return store_refuse(VERDICT_MALFORMED, "malformed_signature",
		    "Stripe-Signature must have exactly one t, in decimal digits, and a v1.",
		    ret_refusal);
	case STRIPE_STALE:
		return store_refuse(VERDICT_FORGED, "stale_signature",
		    "The signature's time is too far from now. Check this machine's clock.",
		    ret_refusal);
	default:
		return store_refuse(VERDICT_FORGED, "bad_signature",
		    "None of the configured secrets signed these bytes. Check the endpoint's "
		    "secret, and that nothing on the way rewrites the body.",
		    ret_refusal);
	}
}

static const char *store_of(bool live)
{
	return live ? "stripe" : "stripe_test";
}

/* Signed, but no JSON of ours. The secret says which store it is for; if it is for both, what is
 * not live for certain is a test. */
static struct notification *keep_unread(const struct webhook *hook, bool live, const char *why)
{
	struct notification *n = notification_new(store_of(live), hook->now_ms);
	char *id = json_peek_string(hook->body, hook->len, "id");

	notification_set(&n->notification_id, id);
	notification_quarantine(n, hook->body, hook->len, why);
	free(id);
	return n;
}

static struct notification *keep(const struct webhook *hook, bool live, const json_t *event)
{
	struct notification *n = notification_new(store_of(live), hook->now_ms);
	const char *fault = stripe_event_read(event, n);

	if (fault)
		notification_quarantine(n, hook->body, hook->len, fault);
	else
		notification_check(n, hook->body, hook->len);
	return n;
}

struct notification *stripe_reread(const char *store, const struct webhook *hook)
{
	bool live = strcmp(store, store_of(true)) == 0;
	struct notification *n;
	const char *why;
	json_t *event = json_read(hook->body, hook->len, &why);

	n = event ? keep(hook, live, event) : keep_unread(hook, live, why);
	json_decref(event);
	return n;
}

static bool is_accepted(enum stripe_signature signature)
{
	return signature == STRIPE_SIGNED_LIVE || signature == STRIPE_SIGNED_TEST ||
	       signature == STRIPE_SIGNED_EITHER;
}

enum verdict stripe_read(void *stripe, const struct webhook *hook,
    struct notification **ret_notification, struct refusal *ret_refusal)
{
	const struct stripe_config *config = &((struct stripe *)stripe)->config;
	enum verdict verdict = VERDICT_AUTHENTIC;
	enum stripe_signature signature;
	const char *why;
	json_t *event;
	bool live;

	if (!hook->stripe_signature)
		return store_refuse(VERDICT_MALFORMED, "missing_signature",
		    "The request has no Stripe-Signature header.", ret_refusal);
	signature = stripe_signature_check(hook->stripe_signature, hook->body, hook->len,
	    &config->secrets, hook->now_ms, config->tolerance_ms);
	if (!is_accepted(signature))
		return refuse_signature(signature, ret_refusal);

	event = json_read(hook->body, hook->len, &why);
	live = event ? json_get_true(event, "livemode") : signature == STRIPE_SIGNED_LIVE;
	if (!event)
		*ret_notification = keep_unread(hook, live, why);
	else if (signature == (live ? STRIPE_SIGNED_TEST : STRIPE_SIGNED_LIVE))
		verdict = store_refuse(VERDICT_MALFORMED, "wrong_mode",
		    "A secret of the other mode signed this event. Live events need a live "
		    "endpoint's "
		    "secret (--stripe-secret), all others a test one's (--stripe-test-secret).",
		    ret_refusal);
	else
		*ret_notification = keep(hook, live, event);
	json_decref(event);
	return verdict;
}
