/* Events and objects that Stripe has published, or sent. */
#include "tests/producer/stripe_expect.h"
#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/text.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define VECTORS UMAVEZ_SOURCE_DIR "/tests/vectors/stripe/"

/* A genuine event under an id of its own. */
static struct notification *read_vector(const char *dir, const char *file)
{
	char *path = text_format("%s%s/%s", VECTORS, dir, file);
	json_t *event = json_load_file(path, 0, NULL);
	struct notification *n;

	CHECK(event != NULL);
	json_object_set_new(event, "id", json_string(file));
	n = stripe_read(event);
	CHECK_STR(n->notification_id, file);
	notification_check(n, "", 0);
	CHECK(n->kind != KIND_UNRECOGNIZED);
	json_decref(event);
	free(path);
	return n;
}

static void expect_vector(const char *file, struct stripe_expected want)
{
	struct notification *n = read_vector("events", file);

	stripe_expect(n, &want);
	notification_free(n);
}

static void test_genuine(void)
{
	static const struct stripe_expected noted = {KIND_NOTED, STATE_SAME, STRIPE_NOTHING};

	expect_vector("account.updated.json", noted);
	expect_vector("customer.created.json", noted);
	expect_vector("payment_intent.payment_failed.json", noted);
	/* Test payments by Stripe's own command line tool: no customer, no payment intent. */
	expect_vector("charge.dispute.created.json", noted);
	expect_vector("charge.refunded.json", noted);
	expect_vector("invoice.payment_failed.json", noted);
	expect_vector("checkout.session.completed.json",
	    (struct stripe_expected){KIND_STARTED, STATE_ACTIVE, STRIPE_NOTHING,
		.purchase = "pi_000000000000000000000000",
		.transaction = "pi_000000000000000000000000", .account = "cus_00000000000000",
		.amount = 3000, .currency = "USD"});
	expect_vector("checkout.session.completed.payment_mode.json",
	    (struct stripe_expected){KIND_STARTED, STATE_ACTIVE, STRIPE_NOTHING,
		.purchase = "pi_00000000000000", .transaction = "pi_00000000000000",
		.account = "cus_00000000000000", .amount = 25000, .currency = "USD"});
	expect_vector("invoice.paid.json",
	    (struct stripe_expected){KIND_RENEWED, STATE_ACTIVE, STRIPE_NOTHING,
		.purchase = "in_000000000000000000000000",
		.transaction = "in_000000000000000000000000", .account = "cus_00000000000000",
		.product = "prod_00000000000000", .amount = 2000, .currency = "USD"});
	expect_vector("payment_intent.succeeded.json",
	    (struct stripe_expected){KIND_STARTED, STATE_ACTIVE, STRIPE_NOTHING,
		.purchase = "pi_000000000000000000000000",
		.transaction = "pi_000000000000000000000000", .amount = 2000, .currency = "USD"});
}

static void test_genuine_subscriptions(void)
{
	struct stripe_expected want = {KIND_STARTED, STATE_ACTIVE, RENEW_YES,
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
		stripe_expect(n, &(struct stripe_expected){KIND_NOTED, STATE_SAME, STRIPE_NOTHING});
		notification_free(n);
		read++;
	}
	closedir(dir);
	CHECK_INT(read, 15);
}

static void expect_thin(const char *file, const char *type, int64_t occurred_at)
{
	struct notification *n = read_vector("thin_events", file);

	stripe_expect(n, &(struct stripe_expected){KIND_NOTED, STATE_SAME, STRIPE_NOTHING});
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
    const json_t *resources, const char *resource, const char *type, struct stripe_expected want)
{
	json_t *event = json_pack("{s:s,s:s,s:s,s:i,s:{s:O}}", "id", "evt_1", "object", "event",
	    "type", type, "created", 1, "data", "object", json_object_get(resources, resource));
	struct notification *n;

	CHECK(event != NULL);
	n = stripe_read(event);
	stripe_expect(n, &want);
	notification_free(n);
	json_decref(event);
}

static void test_current_shapes(void)
{
	json_t *file = json_load_file(VECTORS "openapi/fixtures3.json", 0, NULL);
	const json_t *resources = json_object_get(file, "resources");

	CHECK(resources != NULL);
	expect_current(resources, "subscription", "customer.subscription.updated",
	    (struct stripe_expected){KIND_CHANGED, STATE_ACTIVE, RENEW_NO,
		.purchase = "sub_1Pgc6rB7WZ01zgkWNy0Cn5nw", .account = "cus_QXg1o8vcGmoR32",
		.product = "prod_QXg1hqf4jFNsqG", .expires_s = 976287773});
	expect_current(resources, "invoice", "invoice.paid",
	    (struct stripe_expected){KIND_RENEWED, STATE_ACTIVE, STRIPE_NOTHING,
		.purchase = "subscription", .transaction = "in_1Pgc6tB7WZ01zgkWu9fdqL6I",
		.account = "cus_QXg1o8vcGmoR32", .currency = "USD"});
	expect_current(resources, "checkout.session", "checkout.session.completed",
	    (struct stripe_expected){KIND_PENDING, STATE_PENDING, STRIPE_NOTHING,
		.purchase = "pi_1PgafyB7WZ01zgkWSjxsAJo3",
		.transaction = "pi_1PgafyB7WZ01zgkWSjxsAJo3"});
	expect_current(resources, "payment_intent", "payment_intent.succeeded",
	    (struct stripe_expected){KIND_STARTED, STATE_ACTIVE, STRIPE_NOTHING,
		.purchase = "pi_1PgafyB7WZ01zgkWSjxsAJo3",
		.transaction = "pi_1PgafyB7WZ01zgkWSjxsAJo3", .currency = "USD"});
	expect_current(resources, "charge", "charge.refunded",
	    (struct stripe_expected){KIND_NOTED, STATE_SAME, STRIPE_NOTHING});
	json_decref(file);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"genuine events", test_genuine},
	    {"genuine subscriptions", test_genuine_subscriptions},
	    {"other events are noted", test_other_events},
	    {"thin events are noted", test_thin},
	    {"current shapes of the objects", test_current_shapes},
	    {NULL, NULL},
	};

	return check_main("producer stripe_vectors", checks, argc, argv);
}
