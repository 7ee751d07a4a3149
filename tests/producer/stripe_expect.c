#include "tests/producer/stripe_expect.h"

#include "producer/stripe_event.h"
#include "tests/support/check.h"

void stripe_expect(const struct notification *n, const struct stripe_expected *want)
{
	CHECK_STR(kind_name(n->kind), kind_name(want->kind));
	CHECK_STR(state_name(n->state), state_name(want->state));
	CHECK_INT(n->will_renew, want->will_renew);
	CHECK_STR(n->store_purchase_id, want->purchase);
	CHECK_STR(n->transaction_id, want->transaction);
	CHECK_STR(n->product_id, want->product);
	CHECK_STR(n->account_ref, want->account);
	CHECK_INT(n->expires_at, want->expires_s ? want->expires_s * 1000 : TIME_NONE);
	CHECK_INT(n->has_amount, want->currency != NULL);
	CHECK_STR(n->currency, want->currency ? want->currency : "");
	CHECK_INT(n->amount_minor, want->amount);
	CHECK_INT(n->partial, want->partial);
	CHECK_INT(n->current_only, false);
}

struct notification *stripe_read(const json_t *event)
{
	struct notification *n = notification_new("stripe", 1);

	CHECK_STR(stripe_event_read(event, n), NULL);
	return n;
}
