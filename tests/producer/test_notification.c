#include "producer/notification.h"
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>

#define NOW 1767225600123

static struct notification *usual(void)
{
	struct notification *n = notification_new("app_store", NOW);

	n->kind = KIND_RENEWED;
	n->state = STATE_ACTIVE;
	n->will_renew = RENEW_YES;
	n->expires_at = NOW + 1;
	notification_set(&n->notification_id, "n1");
	notification_set(&n->native_type, "DID_RENEW");
	notification_set(&n->store_purchase_id, "p1");
	notification_set(&n->product_id, "gold");
	notification_set(&n->account_ref, "user");
	notification_set(&n->transaction_id, "t1");
	n->has_amount = true;
	n->amount_minor = 199;
	CHECK(notification_set_currency(n, "usd"));
	return n;
}

static void test_ranks(void)
{
	CHECK_INT(kind_rank(KIND_NOTED), 0);
	CHECK_INT(kind_rank(KIND_PENDING), 1);
	CHECK_INT(kind_rank(KIND_STARTED), 2);
	for (int kind = KIND_RENEWED; kind <= KIND_EXTENDED; kind++)
		CHECK_INT(kind_rank((enum kind)kind), 3);
	CHECK_INT(kind_rank(KIND_CANCELED), 4);
	CHECK_INT(kind_rank(KIND_GRACE_STARTED), 5);
	CHECK_INT(kind_rank(KIND_ON_HOLD), 6);
	CHECK_INT(kind_rank(KIND_PAUSED), 6);
	CHECK_INT(kind_rank(KIND_EXPIRED), 7);
	CHECK_INT(kind_rank(KIND_PENDING_CANCELED), 7);
	CHECK_INT(kind_rank(KIND_REFUNDED), 8);
	CHECK_INT(kind_rank(KIND_REVOKED), 8);
	CHECK_INT(kind_rank(KIND_REFUND_REVERSED), 9);
}

static void test_names(void)
{
	CHECK_STR(kind_name(KIND_UNRECOGNIZED), "unrecognized");
	CHECK_STR(kind_name(KIND_GRACE_STARTED), "grace_started");
	CHECK_STR(kind_name(KIND_REFUND_REVERSED), "refund_reversed");
	CHECK_STR(state_name(STATE_SAME), NULL);
	CHECK_STR(state_name(STATE_ON_HOLD), "on_hold");
	CHECK_STR(state_name(STATE_VOID), "void");
}

static void test_new_is_empty(void)
{
	struct notification *n = notification_new("stripe", NOW);

	CHECK_STR(n->store, "stripe");
	CHECK_INT(n->kind, KIND_NOTED);
	CHECK_INT(n->occurred_at, NOW);
	CHECK_INT(n->expires_at, TIME_NONE);
	CHECK_INT(n->will_renew, RENEW_SAME);
	CHECK_INT(n->quantity, 1);
	CHECK(!n->has_amount && !n->notification_id && !n->store_purchase_id);
	notification_free(n);
	notification_free(NULL);
}

static void test_good_one_passes(void)
{
	struct notification *n = usual();

	notification_check(n, "body", 4);
	CHECK_INT(n->kind, KIND_RENEWED);
	CHECK_STR(n->store_purchase_id, "p1");
	CHECK_STR(n->currency, "USD");
	CHECK_STR(n->remark, NULL);
	notification_free(n);
}

static void test_quarantine_keeps_the_id(void)
{
	struct notification *n = usual();

	n->occurred_at = -5;
	notification_quarantine(n, "body", 4, "because");
	CHECK_INT(n->kind, KIND_UNRECOGNIZED);
	CHECK_STR(n->notification_id, "n1");
	CHECK_STR(n->native_type, "DID_RENEW");
	CHECK_STR(n->remark, "because");
	CHECK_INT(n->occurred_at, NOW);
	CHECK(!n->store_purchase_id && !n->product_id && !n->account_ref && !n->transaction_id);
	CHECK_INT(n->state, STATE_SAME);
	CHECK_INT(n->expires_at, TIME_NONE);
	CHECK(!n->has_amount);
	CHECK_STR(n->currency, "");
	notification_free(n);
}

static void test_quarantine_without_id(void)
{
	struct notification *n = notification_new("stripe", NOW);

	notification_quarantine(n, "abc", 3, "because");
	CHECK_STR(n->notification_id,
	    "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	notification_free(n);
}

static char *long_text(size_t len)
{
	char *text = malloc(len + 1);

	memset(text, 'x', len);
	text[len] = '\0';
	return text;
}

/* One fault after the other in an otherwise good notification. */
static void expect_quarantine(struct notification *n, bool keeps_id)
{
	notification_check(n, "body", 4);
	CHECK_INT(n->kind, KIND_UNRECOGNIZED);
	CHECK(n->remark != NULL);
	CHECK_INT(strncmp(n->notification_id, "sha256:", 7) != 0, keeps_id);
	CHECK(n->occurred_at >= 0 && n->occurred_at <= TIME_MAX);
	notification_free(n);
}

static void test_ids(void)
{
	char *longest = long_text(512), *too_long = long_text(513);
	struct notification *n = usual();

	notification_set(&n->notification_id, longest);
	notification_set(&n->store_purchase_id, longest);
	notification_check(n, "body", 4);
	CHECK_INT(n->kind, KIND_RENEWED);
	notification_free(n);

	n = usual();
	notification_set(&n->notification_id, too_long);
	expect_quarantine(n, false);
	n = usual();
	notification_set(&n->notification_id, "");
	expect_quarantine(n, false);
	n = usual();
	notification_set(&n->notification_id, NULL);
	expect_quarantine(n, false);
	n = usual();
	notification_set(&n->notification_id, "\xed\xa0\x80"); /* a surrogate */
	expect_quarantine(n, false);
	n = usual();
	notification_set(&n->store_purchase_id, too_long);
	expect_quarantine(n, true);
	n = usual();
	notification_set(&n->store_purchase_id, "");
	expect_quarantine(n, true);
	n = usual();
	notification_set(&n->transaction_id, "\xff");
	expect_quarantine(n, true);
	free(longest);
	free(too_long);
}

static void test_texts(void)
{
	char *longest = long_text(2048), *too_long = long_text(2049);
	struct notification *n = usual();

	notification_set(&n->product_id, longest);
	notification_check(n, "body", 4);
	CHECK_INT(n->kind, KIND_RENEWED);
	notification_free(n);

	n = usual();
	notification_set(&n->product_id, too_long);
	expect_quarantine(n, true);
	n = usual();
	notification_set(&n->account_ref, "\xc0\xaf"); /* overlong */
	expect_quarantine(n, true);
	n = usual();
	notification_set(&n->native_type, too_long);
	notification_check(n, "body", 4);
	CHECK_INT(n->kind, KIND_UNRECOGNIZED);
	CHECK_STR(n->native_type, NULL);
	notification_free(n);
	free(longest);
	free(too_long);
}

static void test_times(void)
{
	struct notification *n = usual();

	n->occurred_at = 0;
	n->expires_at = TIME_MAX;
	notification_check(n, "body", 4);
	CHECK_INT(n->kind, KIND_RENEWED);
	notification_free(n);

	n = usual();
	n->occurred_at = -1;
	expect_quarantine(n, true);
	n = usual();
	n->occurred_at = TIME_MAX + 1;
	expect_quarantine(n, true);
	n = usual();
	n->expires_at = TIME_MAX + 1;
	expect_quarantine(n, true);
	n = usual();
	n->expires_at = -1;
	expect_quarantine(n, true);
}

static void test_amount_needs_currency(void)
{
	struct notification *n = usual();

	CHECK(!notification_set_currency(n, "us"));
	CHECK(!notification_set_currency(n, "us1"));
	CHECK(!notification_set_currency(n, "usdd"));
	CHECK(!notification_set_currency(n, NULL));
	CHECK_STR(n->currency, "");
	expect_quarantine(n, true);
}

static void expect_minor(int64_t milliunits, const char *currency, int64_t expected)
{
	int64_t minor = -1;

	CHECK(minor_from_milliunits(milliunits, currency, &minor));
	CHECK_INT(minor, expected);
}

/* B25: the minor unit is the currency's own. */
static void test_minor_units(void)
{
	int64_t minor;

	expect_minor(1990, "USD", 199);
	expect_minor(-1990, "USD", -199);
	expect_minor(0, "EUR", 0);
	expect_minor(120000, "JPY", 120);
	expect_minor(5000, "KWD", 5000);
	expect_minor(5, "CLF", 50);
	expect_minor(990, "XTS", 99);
	CHECK(!minor_from_milliunits(1995, "USD", &minor));
	CHECK(!minor_from_milliunits(500, "JPY", &minor));
	CHECK(!minor_from_milliunits(INT64_MAX, "CLF", &minor));
	CHECK(!minor_from_milliunits(INT64_MIN, "UYW", &minor));
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"ranks by kind", test_ranks},
	    {"names", test_names},
	    {"a new one is empty", test_new_is_empty},
	    {"a good one passes", test_good_one_passes},
	    {"quarantine keeps the id and drops the purchase", test_quarantine_keeps_the_id},
	    {"quarantine makes an id of the bytes", test_quarantine_without_id},
	    {"ids: 1 to 512 bytes of text", test_ids},
	    {"texts: up to 2048 bytes", test_texts},
	    {"times: 1970 to 9999", test_times},
	    {"an amount needs a currency", test_amount_needs_currency},
	    {"B25 minor units by ISO 4217", test_minor_units},
	    {NULL, NULL},
	};

	return check_main("producer notification", checks, argc, argv);
}
