/* Notices of Google Play: what each type says of which purchase, and when. */
#include "tests/producer/google_keys.h"
#include "tests/producer/play.h"
#include "tests/support/check.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>

static struct play *play;

/* B11: identity is the token, whatever else is there. */
static void test_token_is_identity(void)
{
	struct notification *n = play_read_notice(play, PLAY_RENEWED);

	CHECK_STR(kind_name(n->kind), "renewed");
	CHECK_STR(n->native_type, "subscriptionNotification/2");
	CHECK_STR(n->notification_id, "com.ex/42");
	CHECK_STR(n->store_purchase_id, "tok1");
	CHECK_STR(n->product_id, NULL);
	CHECK_INT(n->state, STATE_ACTIVE);
	CHECK_INT(n->will_renew, RENEW_YES);
	CHECK_INT(n->occurred_at, INT64_C(1767225600123));
	CHECK_STR(n->transaction_id, PLAY_TOKEN_DIGEST ".subscription.2@1767225600123");
	notification_free(n);

	n = play_read_notice(play, "{\"packageName\":\"com.ex\",\"eventTimeMillis\":1767225700000,"
				   "\"voidedPurchaseNotification\":{\"purchaseToken\":\"tok1\","
				   "\"orderId\":\"GPA.1\",\"productType\":1,\"refundType\":1}}");
	CHECK_STR(kind_name(n->kind), "refunded");
	CHECK_STR(n->store_purchase_id, "tok1");
	CHECK_STR(n->transaction_id, "GPA.1");
	CHECK_INT(n->state, STATE_REFUNDED);
	CHECK_INT(n->current_only, false);
	CHECK_INT(n->partial, false);
	notification_free(n);
}

static void expect_type(const char *member, int type, const char *kind, enum state state,
    enum will_renew will_renew, bool partial)
{
	bool voided = strcmp(member, "voidedPurchaseNotification") == 0;
	char *rtdn = text_format("{\"packageName\":\"com.ex\",\"eventTimeMillis\":\"1\",\"%s\":"
				 "{\"%s\":%d,\"purchaseToken\":\"tok1\",\"orderId\":\"GPA.1\"}}",
	    member, voided ? "refundType" : "notificationType", type);
	struct notification *n = play_read_notice(play, rtdn);

	CHECK_STR(kind_name(n->kind), kind);
	CHECK_STR(n->store_purchase_id, "tok1");
	CHECK_INT(n->state, state);
	CHECK_INT(n->will_renew, will_renew);
	CHECK_INT(n->partial, partial);
	notification_free(n);
	free(rtdn);
}

static void test_subscription_types(void)
{
	static const struct {
		int type;
		const char *kind;
		enum state state;
		enum will_renew will_renew;
	} table[] = {
	    {1, "recovered", STATE_ACTIVE, RENEW_YES},
	    {2, "renewed", STATE_ACTIVE, RENEW_YES},
	    {3, "canceled", STATE_SAME, RENEW_NO},
	    {4, "started", STATE_ACTIVE, RENEW_YES},
	    {5, "on_hold", STATE_ON_HOLD, RENEW_SAME},
	    {6, "grace_started", STATE_GRACE, RENEW_SAME},
	    {7, "uncanceled", STATE_ACTIVE, RENEW_YES},
	    {8, "noted", STATE_SAME, RENEW_SAME},
	    {9, "extended", STATE_ACTIVE, RENEW_SAME},
	    {10, "paused", STATE_PAUSED, RENEW_SAME},
	    {11, "noted", STATE_SAME, RENEW_SAME},
	    {12, "revoked", STATE_REVOKED, RENEW_NO},
	    {13, "expired", STATE_EXPIRED, RENEW_NO},
	    {17, "changed", STATE_SAME, RENEW_SAME},
	    {18, "canceled", STATE_SAME, RENEW_NO},
	    {19, "noted", STATE_SAME, RENEW_SAME},
	    {20, "pending_canceled", STATE_VOID, RENEW_NO},
	    {22, "noted", STATE_SAME, RENEW_SAME},
	    {0, "noted", STATE_SAME, RENEW_SAME},
	    {999, "noted", STATE_SAME, RENEW_SAME},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		expect_type("subscriptionNotification", table[i].type, table[i].kind,
		    table[i].state, table[i].will_renew, false);
}

static void test_other_types(void)
{
	static const char one_time[] = "oneTimeProductNotification";
	static const char voided[] = "voidedPurchaseNotification";

	expect_type(one_time, 1, "started", STATE_ACTIVE, RENEW_SAME, false);
	expect_type(one_time, 2, "pending_canceled", STATE_VOID, RENEW_SAME, false);
	expect_type(one_time, 3, "noted", STATE_SAME, RENEW_SAME, false);
	expect_type(voided, 1, "refunded", STATE_REFUNDED, RENEW_SAME, false);
	expect_type(voided, 2, "refunded", STATE_SAME, RENEW_SAME, true);
	expect_type(voided, 3, "noted", STATE_SAME, RENEW_SAME, false);
}

static void test_without_purchase(void)
{
	struct notification *n = play_read_notice(play,
	    "{\"packageName\":\"com.ex\",\"eventTimeMillis\":\"5\","
	    "\"pendingRefundReviewNotification\":{\"pendingRefundToken\":\"x\"}}");

	CHECK_STR(kind_name(n->kind), "noted");
	CHECK_STR(n->native_type, "pendingRefundReviewNotification");
	CHECK(n->store_purchase_id == NULL);
	CHECK_INT(n->occurred_at, 5);
	notification_free(n);

	n = play_read_notice(play, "{\"testNotification\":{\"version\":\"1.0\"}}");
	CHECK_STR(kind_name(n->kind), "test");
	CHECK_STR(n->notification_id, "/42");
	CHECK_INT(n->occurred_at, PLAY_NOW_S * 1000);
	notification_free(n);
}

/* B16: a cancel of a purchase that nobody has seen. */
static void test_unseen_cancel(void)
{
	struct notification *n = play_read_notice(play,
	    "{\"packageName\":\"com.ex\",\"eventTimeMillis\":\"1767225600000\","
	    "\"oneTimeProductNotification\":{\"notificationType\":2,"
	    "\"purchaseToken\":\"tokC\",\"sku\":\"gems\"}}");

	CHECK_STR(kind_name(n->kind), "pending_canceled");
	CHECK_STR(n->store_purchase_id, "tokC");
	CHECK_STR(n->product_id, "gems");
	CHECK_INT(n->state, STATE_VOID);
	notification_free(n);
}

static void expect_data(const char *data, const char *id)
{
	play_expect_kept(play_read_notice(play, data), id);
}

#define TIME "\"packageName\":\"com.ex\",\"eventTimeMillis\":\"1\","

static void test_incomplete_notices(void)
{
	expect_data("{" TIME "\"subscriptionNotification\":{\"notificationType\":2}}", "com.ex/42");
	expect_data(
	    "{" TIME "\"subscriptionNotification\":{\"purchaseToken\":\"t\"}}", "com.ex/42");
	expect_data("{" TIME "\"subscriptionNotification\":{\"notificationType\":\"2\","
		    "\"purchaseToken\":\"t\"}}",
	    "com.ex/42");
	expect_data("{" TIME "\"subscriptionNotification\":null}", "com.ex/42");
	expect_data("{" TIME "\"subscriptionNotification\":{\"notificationType\":2,"
		    "\"purchaseToken\":\"t\"},\"testNotification\":{}}",
	    "com.ex/42");
	expect_data("{\"eventTimeMillis\":\"1\",\"subscriptionNotification\":{"
		    "\"notificationType\":2,\"purchaseToken\":\"t\"}}",
	    "/42");
}

static void expect_time(const char *time, int64_t expected)
{
	char *rtdn = text_format("{\"packageName\":\"com.ex\"%s,\"subscriptionNotification\":"
				 "{\"notificationType\":2,\"purchaseToken\":\"t\"}}",
	    time);
	struct notification *n = play_read_notice(play, rtdn);

	CHECK_INT(n->kind == KIND_UNRECOGNIZED, expected < 0);
	CHECK_INT(n->occurred_at, expected < 0 ? PLAY_NOW_S * 1000 : expected);
	CHECK_STR(n->notification_id, "com.ex/42");
	notification_free(n);
	free(rtdn);
}

/* B07: the exact millisecond, or none. */
static void test_times(void)
{
	expect_time(",\"eventTimeMillis\":\"1767225600123\"", INT64_C(1767225600123));
	expect_time(",\"eventTimeMillis\":1767225600123", INT64_C(1767225600123));
	expect_time(",\"eventTimeMillis\":0", 0);
	expect_time("", -1);
	expect_time(",\"eventTimeMillis\":null", -1);
	expect_time(",\"eventTimeMillis\":\"x\"", -1);
	expect_time(",\"eventTimeMillis\":99999999999999999999", -1);
	expect_time(",\"eventTimeMillis\":\"99999999999999999999\"", -1);
	expect_time(",\"eventTimeMillis\":\"253402300800000\"", -1);
	expect_time(",\"eventTimeMillis\":-1", -1);
}

static void expect_sample(
    const char *file, const char *kind, const char *id, const char *purchase, const char *product)
{
	char *rtdn = google_vector(file);
	struct notification *n = play_read_notice(play, rtdn);

	CHECK_STR(kind_name(n->kind), kind);
	CHECK_STR(n->notification_id, id);
	CHECK_STR(n->store_purchase_id, purchase);
	CHECK_STR(n->product_id, product);
	notification_free(n);
	free(rtdn);
}

static void test_samples(void)
{
	static const char token[] =
	    "nadifbpekffdcbcodgpkckac.AO-J1OzLgSFPIaDJeJMQxvvHbpLy9KgwXlurB95RPH4qYtf1Jgs"
	    "WPw4uxnidaIfxbkyuiL5NgvnuU7LJo723xz_UTaPFWsF2dA";

	expect_sample("doc_samples/one-time-purchased.json", "started", "com.some.thing/42",
	    "PURCHASE_TOKEN", "my.sku");
	expect_sample("doc_samples/subscription-purchased.json", "started", "com.some.thing/42",
	    "PURCHASE_TOKEN", NULL);
	expect_sample("doc_samples/test.json", "test", "com.some.thing/42", NULL, NULL);
	expect_sample(
	    "doc_samples/voided.json", "refunded", "com.some.app/42", "PURCHASE_TOKEN", NULL);
	expect_sample("other/imdhemy-laravel-expired.json", "expired", "com.twigano.fashion/42",
	    token, "month_premium");
	expect_sample("other/imdhemy-one-time.json", "started", "com.some.thing/42",
	    "fake_purchase_token", "fake_sku");
	expect_sample("other/imdhemy-subscription-recovered.json", "recovered", "com.some.thing/42",
	    "fake_purchase_token", "yearly");
	expect_sample("other/imdhemy-test.json", "test", "com.some.thing/42", NULL, NULL);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"B11 the token is the identity", test_token_is_identity},
	    {"subscription types", test_subscription_types},
	    {"one-time and voided types", test_other_types},
	    {"what has no purchase", test_without_purchase},
	    {"B16 a cancel of an unseen token", test_unseen_cancel},
	    {"B12 incomplete notices are kept", test_incomplete_notices},
	    {"B07 times", test_times},
	    {"samples of notices", test_samples},
	    {NULL, NULL},
	};
	int status;

	play = play_open();
	status = check_main("producer google_notice", checks, argc, argv);
	play_close(play);
	return status;
}
