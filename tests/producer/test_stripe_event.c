/* Events as a test makes them: of each type, in each shape, with and without what may be missing.
 */
#include "producer/json.h"
#include "tests/producer/stripe_expect.h"
#include "tests/support/check.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>

struct event_case {
	const char *type;
	const char *object;   /* without the id */
	const char *previous; /* NULL: none */
	struct stripe_expected want;
};

static void run_case(const struct event_case *c)
{
	char *text =
	    text_format("{\"id\":\"evt_1\",\"object\":\"event\",\"type\":\"%s\","
			"\"created\":1767225600,\"data\":{\"object\":{\"id\":\"obj_1\"%s}%s%s}}",
		c->type, c->object, c->previous ? ",\"previous_attributes\":" : "",
		c->previous ? c->previous : "");
	const char *why;
	json_t *event = json_read(text, strlen(text), &why);
	struct notification *n;

	CHECK(event != NULL);
	n = stripe_read(event);
	CHECK_STR(n->notification_id, "evt_1");
	CHECK_STR(n->native_type, c->type);
	CHECK_INT(n->occurred_at, INT64_C(1767225600000));
	stripe_expect(n, &c->want);
	notification_free(n);
	json_decref(event);
	free(text);
}

static void run_cases(const struct event_case *cases)
{
	for (; cases->type; cases++)
		run_case(cases);
}

static void test_checkout(void)
{
	static const struct event_case cases[] = {
	    {"checkout.session.completed",
		",\"mode\":\"payment\",\"payment_intent\":\"pi_1\",\"subscription\":null,"
		"\"payment_status\":\"paid\",\"amount_total\":500,\"currency\":\"jpy\","
		"\"customer\":\"cus_1\",\"client_reference_id\":\"user_7\"",
		NULL,
		{KIND_STARTED, STATE_ACTIVE, STRIPE_NOTHING, .purchase = "pi_1",
		    .transaction = "pi_1", .account = "cus_1", .amount = 500, .currency = "JPY"}},
	    {"checkout.session.completed",
		",\"payment_intent\":\"pi_1\",\"payment_status\":\"paid\",\"customer\":null,"
		"\"client_reference_id\":\"user_7\"",
		NULL,
		{KIND_STARTED, STATE_ACTIVE, STRIPE_NOTHING, .purchase = "pi_1",
		    .transaction = "pi_1", .account = "user_7"}},
	    {"checkout.session.completed",
		",\"mode\":\"subscription\",\"subscription\":{\"id\":\"sub_1\"},"
		"\"invoice\":\"in_1\",\"payment_status\":\"no_payment_required\","
		"\"amount_total\":0,\"currency\":\"eur\",\"customer\":{\"id\":\"cus_1\"}",
		NULL,
		{KIND_STARTED, STATE_ACTIVE, STRIPE_NOTHING, .purchase = "sub_1",
		    .transaction = "in_1", .account = "cus_1", .currency = "EUR"}},
	    {"checkout.session.completed",
		",\"payment_intent\":\"pi_1\",\"payment_status\":\"unpaid\",\"amount_total\":500,"
		"\"currency\":\"usd\",\"customer\":null",
		NULL,
		{KIND_PENDING, STATE_PENDING, STRIPE_NOTHING, .purchase = "pi_1",
		    .transaction = "pi_1"}},
	    {"checkout.session.async_payment_succeeded",
		",\"payment_intent\":\"pi_1\",\"payment_status\":\"paid\",\"amount_total\":-500,"
		"\"currency\":\"kwd\"",
		NULL,
		{KIND_STARTED, STATE_ACTIVE, STRIPE_NOTHING, .purchase = "pi_1",
		    .transaction = "pi_1", .amount = -500, .currency = "KWD"}},
	    {"checkout.session.async_payment_failed", ",\"payment_intent\":\"pi_1\"", NULL,
		{KIND_PENDING_CANCELED, STATE_VOID, STRIPE_NOTHING, .purchase = "pi_1",
		    .transaction = "pi_1"}},
	    {"checkout.session.expired", ",\"subscription\":\"sub_1\"", NULL,
		{KIND_PENDING_CANCELED, STATE_VOID, STRIPE_NOTHING, .purchase = "sub_1"}},
	    {"checkout.session.completed",
		",\"mode\":\"setup\",\"subscription\":\"sub_1\",\"payment_status\":\"paid\"", NULL,
		{KIND_NOTED, STATE_SAME, STRIPE_NOTHING}},
	    {"checkout.session.expired", ",\"payment_intent\":null", NULL,
		{KIND_NOTED, STATE_SAME, STRIPE_NOTHING}},
	    {.type = NULL},
	};

	run_cases(cases);
}

static void test_invoice(void)
{
	static const struct event_case cases[] = {
	    /* before basil */
	    {"invoice.paid",
		",\"subscription\":\"sub_1\",\"billing_reason\":\"subscription_create\","
		"\"amount_paid\":9007199254740993,\"currency\":\"usd\",\"customer\":\"cus_1\","
		"\"charge\":\"ch_1\",\"lines\":{\"data\":[{\"price\":{\"product\":\"prod_1\"}}]}",
		NULL,
		{KIND_STARTED, STATE_ACTIVE, STRIPE_NOTHING, .purchase = "sub_1",
		    .transaction = "obj_1", .product = "prod_1", .account = "cus_1",
		    .amount = 9007199254740993, .currency = "USD"}},
	    /* since basil */
	    {"invoice.paid",
		",\"parent\":{\"subscription_details\":{\"subscription\":\"sub_1\"}},"
		"\"billing_reason\":\"subscription_cycle\",\"amount_paid\":5000,"
		"\"currency\":\"kwd\",\"lines\":{\"data\":[{\"pricing\":{\"price_details\":"
		"{\"product\":\"prod_1\"}}}]}",
		NULL,
		{KIND_RENEWED, STATE_ACTIVE, STRIPE_NOTHING, .purchase = "sub_1",
		    .transaction = "obj_1", .product = "prod_1", .amount = 5000,
		    .currency = "KWD"}},
	    {"invoice.paid", ",\"subscription\":null,\"parent\":null,\"amount_paid\":\"5\"", NULL,
		{KIND_RENEWED, STATE_ACTIVE, STRIPE_NOTHING, .purchase = "obj_1",
		    .transaction = "obj_1"}},
	    {"invoice.payment_failed",
		",\"subscription\":\"sub_1\",\"next_payment_attempt\":1767312000,"
		"\"amount_due\":5,\"amount_paid\":0,\"currency\":\"usd\"",
		NULL,
		{KIND_GRACE_STARTED, STATE_GRACE, STRIPE_NOTHING, .purchase = "sub_1",
		    .transaction = "obj_1"}},
	    {"invoice.payment_failed",
		",\"parent\":{\"subscription_details\":{\"subscription\":{\"id\":\"sub_1\"}}},"
		"\"next_payment_attempt\":null",
		NULL,
		{KIND_ON_HOLD, STATE_ON_HOLD, STRIPE_NOTHING, .purchase = "sub_1",
		    .transaction = "obj_1"}},
	    {"invoice.payment_failed", ",\"subscription\":null", NULL,
		{KIND_NOTED, STATE_SAME, STRIPE_NOTHING}},
	    {.type = NULL},
	};

	run_cases(cases);
}

#define SUBSCRIPTION(status, more)                                                                 \
	",\"status\":\"" status "\",\"cancel_at_period_end\":false,\"customer\":\"cus_1\"" more

static void test_subscription_created(void)
{
	static const struct event_case cases[] = {
	    /* before basil */
	    {"customer.subscription.created",
		SUBSCRIPTION("active", ",\"current_period_end\":1770000000,"
				       "\"plan\":{\"product\":\"prod_1\"},\"quantity\":3"),
		NULL,
		{KIND_STARTED, STATE_ACTIVE, RENEW_YES, .purchase = "obj_1", .account = "cus_1",
		    .product = "prod_1", .expires_s = 1770000000}},
	    /* since basil */
	    {"customer.subscription.created",
		SUBSCRIPTION("trialing", ",\"items\":{\"data\":[{\"current_period_end\":1770000000,"
					 "\"price\":{\"product\":{\"id\":\"prod_1\"}}}]}"),
		NULL,
		{KIND_STARTED, STATE_ACTIVE, RENEW_YES, .purchase = "obj_1", .account = "cus_1",
		    .product = "prod_1", .expires_s = 1770000000}},
	    {"customer.subscription.created", SUBSCRIPTION("incomplete", ""), NULL,
		{KIND_PENDING, STATE_PENDING, RENEW_YES, .purchase = "obj_1", .account = "cus_1"}},
	    {"customer.subscription.created", SUBSCRIPTION("past_due", ""), NULL,
		{KIND_GRACE_STARTED, STATE_GRACE, RENEW_YES, .purchase = "obj_1",
		    .account = "cus_1"}},
	    {"customer.subscription.created", SUBSCRIPTION("paused", ""), NULL,
		{KIND_PAUSED, STATE_PAUSED, RENEW_YES, .purchase = "obj_1", .account = "cus_1"}},
	    {"customer.subscription.created", ",\"status\":\"new_word\"", NULL,
		{KIND_NOTED, STATE_SAME, RENEW_SAME, .purchase = "obj_1"}},
	    {.type = NULL},
	};

	run_cases(cases);
}

static void test_subscription_updated(void)
{
	static const char at_end[] = ",\"status\":\"active\",\"cancel_at_period_end\":true";
	static const struct event_case cases[] = {
	    {"customer.subscription.updated", SUBSCRIPTION("active", ""), "{\"quantity\":1}",
		{KIND_CHANGED, STATE_ACTIVE, RENEW_YES, .purchase = "obj_1", .account = "cus_1"}},
	    {"customer.subscription.updated", SUBSCRIPTION("active", ""), NULL,
		{KIND_CHANGED, STATE_ACTIVE, RENEW_YES, .purchase = "obj_1", .account = "cus_1"}},
	    {"customer.subscription.updated", at_end, "{\"cancel_at_period_end\":false}",
		{KIND_CANCELED, STATE_ACTIVE, RENEW_NO, .purchase = "obj_1"}},
	    {"customer.subscription.updated", SUBSCRIPTION("active", ""),
		"{\"cancel_at_period_end\":true}",
		{KIND_UNCANCELED, STATE_ACTIVE, RENEW_YES, .purchase = "obj_1",
		    .account = "cus_1"}},
	    {"customer.subscription.updated", at_end, "{\"quantity\":1}",
		{KIND_CHANGED, STATE_ACTIVE, RENEW_NO, .purchase = "obj_1"}},
	    {"customer.subscription.updated", SUBSCRIPTION("past_due", ""),
		"{\"cancel_at_period_end\":true}",
		{KIND_GRACE_STARTED, STATE_GRACE, RENEW_YES, .purchase = "obj_1",
		    .account = "cus_1"}},
	    {"customer.subscription.updated", SUBSCRIPTION("unpaid", ""), NULL,
		{KIND_ON_HOLD, STATE_ON_HOLD, RENEW_YES, .purchase = "obj_1", .account = "cus_1"}},
	    {"customer.subscription.updated", SUBSCRIPTION("canceled", ""), NULL,
		{KIND_EXPIRED, STATE_EXPIRED, RENEW_NO, .purchase = "obj_1", .account = "cus_1"}},
	    {"customer.subscription.updated", SUBSCRIPTION("incomplete", ""), NULL,
		{KIND_PENDING, STATE_PENDING, RENEW_YES, .purchase = "obj_1", .account = "cus_1"}},
	    {"customer.subscription.updated", SUBSCRIPTION("incomplete_expired", ""), NULL,
		{KIND_PENDING_CANCELED, STATE_VOID, RENEW_NO, .purchase = "obj_1",
		    .account = "cus_1"}},
	    {"customer.subscription.deleted", SUBSCRIPTION("canceled", ""), NULL,
		{KIND_EXPIRED, STATE_EXPIRED, RENEW_NO, .purchase = "obj_1", .account = "cus_1"}},
	    {"customer.subscription.paused", SUBSCRIPTION("paused", ""), NULL,
		{KIND_PAUSED, STATE_PAUSED, RENEW_YES, .purchase = "obj_1", .account = "cus_1"}},
	    {"customer.subscription.resumed", SUBSCRIPTION("active", ""), NULL,
		{KIND_UNCANCELED, STATE_ACTIVE, RENEW_YES, .purchase = "obj_1",
		    .account = "cus_1"}},
	    {.type = NULL},
	};

	run_cases(cases);
}

static void test_refund(void)
{
	static const struct event_case cases[] = {
	    {"charge.refunded",
		",\"payment_intent\":\"pi_1\",\"refunded\":true,\"amount_refunded\":500,"
		"\"currency\":\"usd\",\"customer\":\"cus_1\"",
		"{\"amount_refunded\":200}",
		{KIND_REFUNDED, STATE_REFUNDED, STRIPE_NOTHING, .purchase = "pi_1",
		    .transaction = "obj_1@500", .account = "cus_1", .amount = 300,
		    .currency = "USD"}},
	    {"charge.refunded",
		",\"payment_intent\":\"pi_1\",\"refunded\":false,\"amount_refunded\":200,"
		"\"currency\":\"usd\"",
		NULL,
		{KIND_REFUNDED, STATE_SAME, STRIPE_NOTHING, .purchase = "pi_1",
		    .transaction = "obj_1@200", .amount = 200, .currency = "USD", .partial = true}},
	    {"charge.refunded",
		",\"invoice\":{\"id\":\"in_1\",\"subscription\":\"sub_1\"},"
		"\"payment_intent\":\"pi_1\",\"refunded\":true",
		NULL, {KIND_REFUNDED, STATE_REFUNDED, STRIPE_NOTHING, .purchase = "sub_1"}},
	    {"charge.refunded", ",\"invoice\":\"in_1\",\"payment_intent\":null,\"refunded\":true",
		NULL, {KIND_REFUNDED, STATE_REFUNDED, STRIPE_NOTHING, .purchase = "in_1"}},
	    {"charge.refunded", ",\"refunded\":true,\"amount_refunded\":5,\"currency\":\"usd\"",
		NULL, {KIND_NOTED, STATE_SAME, STRIPE_NOTHING}},
	    {.type = NULL},
	};

	run_cases(cases);
}

static void test_dispute_and_payment(void)
{
	static const struct event_case cases[] = {
	    {"charge.dispute.created",
		",\"payment_intent\":\"pi_1\",\"charge\":\"ch_1\",\"amount\":5,"
		"\"currency\":\"usd\",\"status\":\"needs_response\"",
		NULL, {KIND_NOTED, STATE_SAME, STRIPE_NOTHING, .purchase = "pi_1"}},
	    {"charge.dispute.closed",
		",\"payment_intent\":\"pi_1\",\"charge\":\"ch_1\",\"amount\":5,"
		"\"currency\":\"usd\",\"status\":\"lost\"",
		NULL,
		{KIND_REVOKED, STATE_REVOKED, STRIPE_NOTHING, .purchase = "pi_1",
		    .transaction = "ch_1", .amount = 5, .currency = "USD"}},
	    {"charge.dispute.closed", ",\"payment_intent\":\"pi_1\",\"status\":\"won\"", NULL,
		{KIND_NOTED, STATE_SAME, STRIPE_NOTHING, .purchase = "pi_1"}},
	    {"charge.dispute.closed", ",\"charge\":\"ch_1\",\"status\":\"lost\"", NULL,
		{KIND_NOTED, STATE_SAME, STRIPE_NOTHING}},
	    {"payment_intent.succeeded",
		",\"amount\":700,\"amount_received\":500,\"currency\":\"JPY\","
		"\"customer\":{\"id\":\"cus_1\"},\"invoice\":null,\"latest_charge\":\"ch_1\"",
		NULL,
		{KIND_STARTED, STATE_ACTIVE, STRIPE_NOTHING, .purchase = "obj_1",
		    .transaction = "obj_1", .account = "cus_1", .amount = 500, .currency = "JPY"}},
	    {"payment_intent.succeeded", ",\"invoice\":\"in_1\",\"amount\":5,\"currency\":\"usd\"",
		NULL, {KIND_NOTED, STATE_SAME, STRIPE_NOTHING}},
	    {"payment_intent.succeeded",
		",\"payment_details\":{\"order_reference\":\"in_1\"},\"amount\":5,"
		"\"currency\":\"usd\"",
		NULL, {KIND_NOTED, STATE_SAME, STRIPE_NOTHING}},
	    {"payment_intent.succeeded",
		",\"payment_details\":{\"order_reference\":\"order 5\"},\"amount\":5", NULL,
		{KIND_STARTED, STATE_ACTIVE, STRIPE_NOTHING, .purchase = "obj_1",
		    .transaction = "obj_1"}},
	    {"payment_intent.payment_failed", ",\"amount\":5,\"currency\":\"usd\"", NULL,
		{KIND_NOTED, STATE_SAME, STRIPE_NOTHING}},
	    {.type = NULL},
	};

	run_cases(cases);
}

static void test_quantity(void)
{
	json_t *event = json_pack("{s:s,s:s,s:i,s:{s:{s:s,s:s,s:{s:[{s:i}]}}}}", "id", "evt_1",
	    "type", "customer.subscription.created", "created", 1, "data", "object", "id", "sub_1",
	    "status", "active", "items", "data", "quantity", 7);
	struct notification *n = stripe_read(event);

	CHECK_INT(n->quantity, 7);
	notification_free(n);
	json_decref(event);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"checkout.session", test_checkout},
	    {"B24 B25 invoice, both shapes", test_invoice},
	    {"B24 customer.subscription.created, both shapes", test_subscription_created},
	    {"customer.subscription, the other events", test_subscription_updated},
	    {"charge.refunded", test_refund},
	    {"charge.dispute and payment_intent", test_dispute_and_payment},
	    {"quantity", test_quantity},
	    {NULL, NULL},
	};

	return check_main("producer stripe_event", checks, argc, argv);
}
