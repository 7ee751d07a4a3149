#include "producer/json.h"
#include "producer/stripe_event.h"
#include "tests/support/check.h"
#include "tests/support/files.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define VECTORS UMAVEZ_SOURCE_DIR "/tests/vectors/stripe/"

/* What of a notification a case states; what is left out must be absent. */
struct expected {
	enum kind kind;
	enum state state;
	enum will_renew will_renew;
	const char *purchase, *transaction, *product, *account, *currency;
	int64_t expires_s, amount; /* 0: none */
	bool partial;
};

struct event_case {
	const char *type;
	const char *object;   /* without the id */
	const char *previous; /* NULL: none */
	struct expected want;
};

static void expect(const struct notification *n, const struct expected *want)
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

static struct notification *read_event(const json_t *event)
{
	struct notification *n = notification_new("stripe", 1);

	CHECK_STR(stripe_event_read(event, n), NULL);
	return n;
}

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
	n = read_event(event);
	CHECK_STR(n->notification_id, "evt_1");
	CHECK_STR(n->native_type, c->type);
	CHECK_INT(n->occurred_at, INT64_C(1767225600000));
	expect(n, &c->want);
	notification_free(n);
	json_decref(event);
	free(text);
}

static void run_cases(const struct event_case *cases)
{
	for (; cases->type; cases++)
		run_case(cases);
}

#define NOTHING .will_renew = RENEW_SAME

static void test_checkout(void)
{
	static const struct event_case cases[] = {
	    {"checkout.session.completed",
		",\"mode\":\"payment\",\"payment_intent\":\"pi_1\",\"subscription\":null,"
		"\"payment_status\":\"paid\",\"amount_total\":500,\"currency\":\"jpy\","
		"\"customer\":\"cus_1\",\"client_reference_id\":\"user_7\"",
		NULL,
		{KIND_STARTED, STATE_ACTIVE, NOTHING, .purchase = "pi_1", .transaction = "pi_1",
		    .account = "cus_1", .amount = 500, .currency = "JPY"}},
	    {"checkout.session.completed",
		",\"payment_intent\":\"pi_1\",\"payment_status\":\"paid\",\"customer\":null,"
		"\"client_reference_id\":\"user_7\"",
		NULL,
		{KIND_STARTED, STATE_ACTIVE, NOTHING, .purchase = "pi_1", .transaction = "pi_1",
		    .account = "user_7"}},
	    {"checkout.session.completed",
		",\"mode\":\"subscription\",\"subscription\":{\"id\":\"sub_1\"},"
		"\"invoice\":\"in_1\",\"payment_status\":\"no_payment_required\","
		"\"amount_total\":0,\"currency\":\"eur\",\"customer\":{\"id\":\"cus_1\"}",
		NULL,
		{KIND_STARTED, STATE_ACTIVE, NOTHING, .purchase = "sub_1", .transaction = "in_1",
		    .account = "cus_1", .currency = "EUR"}},
	    {"checkout.session.completed",
		",\"payment_intent\":\"pi_1\",\"payment_status\":\"unpaid\",\"amount_total\":500,"
		"\"currency\":\"usd\",\"customer\":null",
		NULL,
		{KIND_PENDING, STATE_PENDING, NOTHING, .purchase = "pi_1", .transaction = "pi_1"}},
	    {"checkout.session.async_payment_succeeded",
		",\"payment_intent\":\"pi_1\",\"payment_status\":\"paid\",\"amount_total\":-500,"
		"\"currency\":\"kwd\"",
		NULL,
		{KIND_STARTED, STATE_ACTIVE, NOTHING, .purchase = "pi_1", .transaction = "pi_1",
		    .amount = -500, .currency = "KWD"}},
	    {"checkout.session.async_payment_failed", ",\"payment_intent\":\"pi_1\"", NULL,
		{KIND_PENDING_CANCELED, STATE_VOID, NOTHING, .purchase = "pi_1",
		    .transaction = "pi_1"}},
	    {"checkout.session.expired", ",\"subscription\":\"sub_1\"", NULL,
		{KIND_PENDING_CANCELED, STATE_VOID, NOTHING, .purchase = "sub_1"}},
	    {"checkout.session.completed",
		",\"mode\":\"setup\",\"subscription\":\"sub_1\",\"payment_status\":\"paid\"", NULL,
		{KIND_NOTED, STATE_SAME, NOTHING}},
	    {"checkout.session.expired", ",\"payment_intent\":null", NULL,
		{KIND_NOTED, STATE_SAME, NOTHING}},
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
		{KIND_STARTED, STATE_ACTIVE, NOTHING, .purchase = "sub_1", .transaction = "obj_1",
		    .product = "prod_1", .account = "cus_1", .amount = 9007199254740993,
		    .currency = "USD"}},
	    /* since basil */
	    {"invoice.paid",
		",\"parent\":{\"subscription_details\":{\"subscription\":\"sub_1\"}},"
		"\"billing_reason\":\"subscription_cycle\",\"amount_paid\":5000,"
		"\"currency\":\"kwd\",\"lines\":{\"data\":[{\"pricing\":{\"price_details\":"
		"{\"product\":\"prod_1\"}}}]}",
		NULL,
		{KIND_RENEWED, STATE_ACTIVE, NOTHING, .purchase = "sub_1", .transaction = "obj_1",
		    .product = "prod_1", .amount = 5000, .currency = "KWD"}},
	    {"invoice.paid", ",\"subscription\":null,\"parent\":null,\"amount_paid\":\"5\"", NULL,
		{KIND_RENEWED, STATE_ACTIVE, NOTHING, .purchase = "obj_1", .transaction = "obj_1"}},
	    {"invoice.payment_failed",
		",\"subscription\":\"sub_1\",\"next_payment_attempt\":1767312000,"
		"\"amount_due\":5,\"amount_paid\":0,\"currency\":\"usd\"",
		NULL,
		{KIND_GRACE_STARTED, STATE_GRACE, NOTHING, .purchase = "sub_1",
		    .transaction = "obj_1"}},
	    {"invoice.payment_failed",
		",\"parent\":{\"subscription_details\":{\"subscription\":{\"id\":\"sub_1\"}}},"
		"\"next_payment_attempt\":null",
		NULL,
		{KIND_ON_HOLD, STATE_ON_HOLD, NOTHING, .purchase = "sub_1",
		    .transaction = "obj_1"}},
	    {"invoice.payment_failed", ",\"subscription\":null", NULL,
		{KIND_NOTED, STATE_SAME, NOTHING}},
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
		{KIND_REFUNDED, STATE_REFUNDED, NOTHING, .purchase = "pi_1",
		    .transaction = "obj_1@500", .account = "cus_1", .amount = 300,
		    .currency = "USD"}},
	    {"charge.refunded",
		",\"payment_intent\":\"pi_1\",\"refunded\":false,\"amount_refunded\":200,"
		"\"currency\":\"usd\"",
		NULL,
		{KIND_REFUNDED, STATE_SAME, NOTHING, .purchase = "pi_1", .transaction = "obj_1@200",
		    .amount = 200, .currency = "USD", .partial = true}},
	    {"charge.refunded",
		",\"invoice\":{\"id\":\"in_1\",\"subscription\":\"sub_1\"},"
		"\"payment_intent\":\"pi_1\",\"refunded\":true",
		NULL, {KIND_REFUNDED, STATE_REFUNDED, NOTHING, .purchase = "sub_1"}},
	    {"charge.refunded", ",\"invoice\":\"in_1\",\"payment_intent\":null,\"refunded\":true",
		NULL, {KIND_REFUNDED, STATE_REFUNDED, NOTHING, .purchase = "in_1"}},
	    {"charge.refunded", ",\"refunded\":true,\"amount_refunded\":5,\"currency\":\"usd\"",
		NULL, {KIND_NOTED, STATE_SAME, NOTHING}},
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
		NULL, {KIND_NOTED, STATE_SAME, NOTHING, .purchase = "pi_1"}},
	    {"charge.dispute.closed",
		",\"payment_intent\":\"pi_1\",\"charge\":\"ch_1\",\"amount\":5,"
		"\"currency\":\"usd\",\"status\":\"lost\"",
		NULL,
		{KIND_REVOKED, STATE_REVOKED, NOTHING, .purchase = "pi_1", .transaction = "ch_1",
		    .amount = 5, .currency = "USD"}},
	    {"charge.dispute.closed", ",\"payment_intent\":\"pi_1\",\"status\":\"won\"", NULL,
		{KIND_NOTED, STATE_SAME, NOTHING, .purchase = "pi_1"}},
	    {"charge.dispute.closed", ",\"charge\":\"ch_1\",\"status\":\"lost\"", NULL,
		{KIND_NOTED, STATE_SAME, NOTHING}},
	    {"payment_intent.succeeded",
		",\"amount\":700,\"amount_received\":500,\"currency\":\"JPY\","
		"\"customer\":{\"id\":\"cus_1\"},\"invoice\":null,\"latest_charge\":\"ch_1\"",
		NULL,
		{KIND_STARTED, STATE_ACTIVE, NOTHING, .purchase = "obj_1", .transaction = "obj_1",
		    .account = "cus_1", .amount = 500, .currency = "JPY"}},
	    {"payment_intent.succeeded", ",\"invoice\":\"in_1\",\"amount\":5,\"currency\":\"usd\"",
		NULL, {KIND_NOTED, STATE_SAME, NOTHING}},
	    {"payment_intent.succeeded",
		",\"payment_details\":{\"order_reference\":\"in_1\"},\"amount\":5,"
		"\"currency\":\"usd\"",
		NULL, {KIND_NOTED, STATE_SAME, NOTHING}},
	    {"payment_intent.succeeded",
		",\"payment_details\":{\"order_reference\":\"order 5\"},\"amount\":5", NULL,
		{KIND_STARTED, STATE_ACTIVE, NOTHING, .purchase = "obj_1", .transaction = "obj_1"}},
	    {"payment_intent.payment_failed", ",\"amount\":5,\"currency\":\"usd\"", NULL,
		{KIND_NOTED, STATE_SAME, NOTHING}},
	    {.type = NULL},
	};

	run_cases(cases);
}

/* A genuine event under an id of its own. */
static struct notification *read_vector(const char *dir, const char *file)
{
	char *path = text_format("%s%s/%s", VECTORS, dir, file);
	json_t *event = json_load_file(path, 0, NULL);
	struct notification *n;

	CHECK(event != NULL);
	json_object_set_new(event, "id", json_string(file));
	n = read_event(event);
	CHECK_STR(n->notification_id, file);
	notification_check(n, "", 0);
	CHECK(n->kind != KIND_UNRECOGNIZED);
	json_decref(event);
	free(path);
	return n;
}

static void expect_vector(const char *file, struct expected want)
{
	struct notification *n = read_vector("events", file);

	expect(n, &want);
	notification_free(n);
}

static void test_genuine(void)
{
	static const struct expected noted = {KIND_NOTED, STATE_SAME, NOTHING};

	expect_vector("account.updated.json", noted);
	expect_vector("customer.created.json", noted);
	expect_vector("payment_intent.payment_failed.json", noted);
	/* Test payments by Stripe's own command line tool: no customer, no payment intent. */
	expect_vector("charge.dispute.created.json", noted);
	expect_vector("charge.refunded.json", noted);
	expect_vector("invoice.payment_failed.json", noted);
	expect_vector("checkout.session.completed.json",
	    (struct expected){KIND_STARTED, STATE_ACTIVE, NOTHING,
		.purchase = "pi_000000000000000000000000",
		.transaction = "pi_000000000000000000000000", .account = "cus_00000000000000",
		.amount = 3000, .currency = "USD"});
	expect_vector("checkout.session.completed.payment_mode.json",
	    (struct expected){KIND_STARTED, STATE_ACTIVE, NOTHING, .purchase = "pi_00000000000000",
		.transaction = "pi_00000000000000", .account = "cus_00000000000000",
		.amount = 25000, .currency = "USD"});
	expect_vector("invoice.paid.json",
	    (struct expected){KIND_RENEWED, STATE_ACTIVE, NOTHING,
		.purchase = "in_000000000000000000000000",
		.transaction = "in_000000000000000000000000", .account = "cus_00000000000000",
		.product = "prod_00000000000000", .amount = 2000, .currency = "USD"});
	expect_vector("payment_intent.succeeded.json",
	    (struct expected){KIND_STARTED, STATE_ACTIVE, NOTHING,
		.purchase = "pi_000000000000000000000000",
		.transaction = "pi_000000000000000000000000", .amount = 2000, .currency = "USD"});
}

static void test_genuine_subscriptions(void)
{
	struct expected want = {KIND_STARTED, STATE_ACTIVE, RENEW_YES,
	    .purchase = "sub_000000000000000000000000", .account = "cus_00000000000000",
	    .product = "prod_00000000000000", .expires_s = 1650998510};

	expect_vector("customer.subscription.created.json", want);
	want.kind = KIND_CHANGED;
	want.expires_s = 1650998505;
	expect_vector("customer.subscription.updated.json", want);
	want.kind = KIND_EXPIRED;
	want.state = STATE_EXPIRED;
	want.will_renew = RENEW_NO;
	want.expires_s = 1650998496;
	expect_vector("customer.subscription.deleted.json", want);
}

static void test_other_events(void)
{
	DIR *dir = opendir(VECTORS "events_other");
	struct dirent *entry;
	int read = 0;

	if (!dir)
		die("no vectors in %s", VECTORS);
	while ((entry = readdir(dir))) {
		struct notification *n;

		/* No type and no created: test_stripe.c has their like. */
		if (entry->d_name[0] == '.' || strstr(entry->d_name, "account.updated.json"))
			continue;
		n = read_vector("events_other", entry->d_name);
		expect(n, &(struct expected){KIND_NOTED, STATE_SAME, NOTHING});
		notification_free(n);
		read++;
	}
	closedir(dir);
	CHECK_INT(read, 15);
}

static void expect_thin(const char *file, const char *type, int64_t occurred_at)
{
	struct notification *n = read_vector("thin_events", file);

	expect(n, &(struct expected){KIND_NOTED, STATE_SAME, NOTHING});
	CHECK_STR(n->native_type, type);
	CHECK_INT(n->occurred_at, occurred_at);
	CHECK(strstr(n->remark, "thin event") != NULL);
	notification_free(n);
}

static void test_thin(void)
{
	static const char type[] = "v1.billing.meter.error_report_triggered";

	expect_thin("v2-minimal.json", type, INT64_C(1644884865330));
	expect_thin("v2-nanosecond-created.json", NULL, INT64_C(1759590812232));
	expect_thin("v2-with-data.json", type, INT64_C(1644884865330));
	expect_thin("v2-with-related-object.json", type, INT64_C(1644884865330));
}

/* The object as Stripe's current description of its API has it. */
static void expect_current(
    const json_t *resources, const char *resource, const char *type, struct expected want)
{
	json_t *event = json_pack("{s:s,s:s,s:s,s:i,s:{s:O}}", "id", "evt_1", "object", "event",
	    "type", type, "created", 1, "data", "object", json_object_get(resources, resource));
	struct notification *n;

	CHECK(event != NULL);
	n = read_event(event);
	expect(n, &want);
	notification_free(n);
	json_decref(event);
}

static void test_current_shapes(void)
{
	json_t *file = json_load_file(VECTORS "openapi/fixtures3.json", 0, NULL);
	const json_t *resources = json_object_get(file, "resources");

	CHECK(resources != NULL);
	expect_current(resources, "subscription", "customer.subscription.updated",
	    (struct expected){KIND_CHANGED, STATE_ACTIVE, RENEW_NO,
		.purchase = "sub_1Pgc6rB7WZ01zgkWNy0Cn5nw", .account = "cus_QXg1o8vcGmoR32",
		.product = "prod_QXg1hqf4jFNsqG", .expires_s = 976287773});
	expect_current(resources, "invoice", "invoice.paid",
	    (struct expected){KIND_RENEWED, STATE_ACTIVE, NOTHING, .purchase = "subscription",
		.transaction = "in_1Pgc6tB7WZ01zgkWu9fdqL6I", .account = "cus_QXg1o8vcGmoR32",
		.currency = "USD"});
	expect_current(resources, "checkout.session", "checkout.session.completed",
	    (struct expected){KIND_PENDING, STATE_PENDING, NOTHING,
		.purchase = "pi_1PgafyB7WZ01zgkWSjxsAJo3",
		.transaction = "pi_1PgafyB7WZ01zgkWSjxsAJo3"});
	expect_current(resources, "payment_intent", "payment_intent.succeeded",
	    (struct expected){KIND_STARTED, STATE_ACTIVE, NOTHING,
		.purchase = "pi_1PgafyB7WZ01zgkWSjxsAJo3",
		.transaction = "pi_1PgafyB7WZ01zgkWSjxsAJo3", .currency = "USD"});
	expect_current(resources, "charge", "charge.refunded",
	    (struct expected){KIND_NOTED, STATE_SAME, NOTHING});
	json_decref(file);
}

static void test_quantity(void)
{
	json_t *event = json_pack("{s:s,s:s,s:i,s:{s:{s:s,s:s,s:{s:[{s:i}]}}}}", "id", "evt_1",
	    "type", "customer.subscription.created", "created", 1, "data", "object", "id", "sub_1",
	    "status", "active", "items", "data", "quantity", 7);
	struct notification *n = read_event(event);

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
	    {"genuine events", test_genuine},
	    {"genuine subscriptions", test_genuine_subscriptions},
	    {"other events are noted", test_other_events},
	    {"thin events are noted", test_thin},
	    {"current shapes of the objects", test_current_shapes},
	    {NULL, NULL},
	};

	return check_main("producer stripe_event", checks, argc, argv);
}
