#include "producer/app_store_map.h"
#include "tests/support/check.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>

/* Read the three payloads (transaction and renewal may be NULL) into *n; the answer is why they
 * cannot be understood, or NULL. */
static const char *map(
    struct notification **n, const char *outer, const char *transaction, const char *renewal)
{
	struct app_store_payloads payloads = {
	    json_loads(outer, 0, NULL),
	    transaction ? json_loads(transaction, 0, NULL) : NULL,
	    renewal ? json_loads(renewal, 0, NULL) : NULL,
	};
	const char *why;

	CHECK(payloads.outer != NULL);
	CHECK((payloads.transaction != NULL) == (transaction != NULL));
	CHECK((payloads.renewal != NULL) == (renewal != NULL));
	notification_free(*n);
	*n = notification_new("app_store", 1);
	notification_set(&(*n)->notification_id, "u");
	why = app_store_map(*n, &payloads);
	json_decref((json_t *)payloads.outer);
	json_decref((json_t *)payloads.transaction);
	json_decref((json_t *)payloads.renewal);
	return why;
}

#define OUTER "{\"notificationType\":\"DID_RENEW\",\"signedDate\":1767225600123}"
#define IDS "\"transactionId\":\"2\",\"originalTransactionId\":\"1\""

static const struct row {
	const char *type, *subtype;
	enum kind kind;
	enum state state;
	enum will_renew will_renew;
	bool current_only;
} rows[] = {
    {"SUBSCRIBED", "INITIAL_BUY", KIND_STARTED, STATE_ACTIVE, RENEW_SAME, false},
    {"SUBSCRIBED", "RESUBSCRIBE", KIND_STARTED, STATE_ACTIVE, RENEW_SAME, false},
    {"ONE_TIME_CHARGE", NULL, KIND_STARTED, STATE_ACTIVE, RENEW_SAME, false},
    {"OFFER_REDEEMED", "UPGRADE", KIND_STARTED, STATE_ACTIVE, RENEW_SAME, false},
    {"DID_RENEW", NULL, KIND_RENEWED, STATE_ACTIVE, RENEW_SAME, false},
    {"DID_RENEW", "BILLING_RECOVERY", KIND_RECOVERED, STATE_ACTIVE, RENEW_SAME, false},
    {"DID_CHANGE_RENEWAL_PREF", NULL, KIND_CHANGED, STATE_SAME, RENEW_SAME, false},
    {"DID_CHANGE_RENEWAL_PREF", "UPGRADE", KIND_CHANGED, STATE_SAME, RENEW_SAME, false},
    {"DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", KIND_CANCELED, STATE_SAME, RENEW_NO,
	false},
    {"DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_ENABLED", KIND_UNCANCELED, STATE_SAME, RENEW_YES,
	false},
    {"DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_FUTURE", KIND_NOTED, STATE_SAME, RENEW_SAME, false},
    {"DID_FAIL_TO_RENEW", "GRACE_PERIOD", KIND_GRACE_STARTED, STATE_GRACE, RENEW_SAME, false},
    {"DID_FAIL_TO_RENEW", NULL, KIND_ON_HOLD, STATE_ON_HOLD, RENEW_SAME, false},
    {"GRACE_PERIOD_EXPIRED", NULL, KIND_ON_HOLD, STATE_ON_HOLD, RENEW_SAME, false},
    {"EXPIRED", "VOLUNTARY", KIND_EXPIRED, STATE_EXPIRED, RENEW_SAME, false},
    {"REFUND", NULL, KIND_REFUNDED, STATE_REFUNDED, RENEW_SAME, true},
    {"REFUND_REVERSED", NULL, KIND_REFUND_REVERSED, STATE_ACTIVE, RENEW_SAME, true},
    {"REVOKE", NULL, KIND_REVOKED, STATE_REVOKED, RENEW_SAME, false},
    {"RENEWAL_EXTENDED", NULL, KIND_EXTENDED, STATE_ACTIVE, RENEW_SAME, false},
    {"RENEWAL_EXTENSION", "FAILURE", KIND_NOTED, STATE_SAME, RENEW_SAME, false},
    {"CONSUMPTION_REQUEST", NULL, KIND_NOTED, STATE_SAME, RENEW_SAME, false},
    {"REFUND_DECLINED", NULL, KIND_NOTED, STATE_SAME, RENEW_SAME, false},
    {"PRICE_INCREASE", "PENDING", KIND_NOTED, STATE_SAME, RENEW_SAME, false},
    {"FUTURE_EVENT", "FUTURE", KIND_NOTED, STATE_SAME, RENEW_SAME, false},
    {"renew", NULL, KIND_NOTED, STATE_SAME, RENEW_SAME, false},
};

static void every_row_of_the_table(void)
{
	struct notification *n = NULL;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *row = &rows[i];
		char *subtype =
		    row->subtype ? text_format(",\"subtype\":\"%s\"", row->subtype) : strdup("");
		char *outer =
		    text_format("{\"notificationType\":\"%s\"%s,\"signedDate\":1767225600123}",
			row->type, subtype);
		char *native = text_format(
		    "%s%s%s", row->type, row->subtype ? "/" : "", row->subtype ? row->subtype : "");

		CHECK(map(&n, outer, "{" IDS "}", NULL) == NULL);
		CHECK_STR(n->native_type, native);
		CHECK_INT(n->kind, row->kind);
		CHECK_INT(n->state, row->state);
		CHECK_INT(n->will_renew, row->will_renew);
		CHECK_INT(n->current_only, row->current_only);
		CHECK_INT(n->occurred_at, 1767225600123);
		CHECK_STR(n->store_purchase_id, "1");
		free(subtype);
		free(outer);
		free(native);
	}
	notification_free(n);
}

static void purchase_of_a_transaction(void)
{
	static const struct {
		const char *transaction, *purchase;
	} cases[] = {
	    {"{" IDS ",\"type\":\"Auto-Renewable Subscription\"}", "1"},
	    {"{" IDS ",\"type\":\"Non-Renewing Subscription\"}", "2"},
	    {"{" IDS ",\"type\":\"Consumable\"}", "2"},
	    {"{" IDS ",\"type\":\"Non-Consumable\"}", "2"},
	    {"{" IDS ",\"type\":\"Future Thing\"}", "2"},
	    {"{" IDS "}", "1"},
	    {"{\"transactionId\":\"2\"}", "2"},
	};
	struct notification *n = NULL;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK(map(&n, OUTER, cases[i].transaction, NULL) == NULL);
		CHECK_STR(n->store_purchase_id, cases[i].purchase);
		CHECK_STR(n->transaction_id, "2");
	}
	notification_free(n);
}

static void b05_a_one_time_charge_has_no_renewal(void)
{
	struct notification *n = NULL;

	CHECK(map(&n, "{\"notificationType\":\"ONE_TIME_CHARGE\",\"signedDate\":1}",
		  "{" IDS ",\"type\":\"Consumable\",\"productId\":\"coins\",\"quantity\":3}",
		  NULL) == NULL);
	CHECK_INT(n->kind, KIND_STARTED);
	CHECK_STR(n->store_purchase_id, "2");
	CHECK_STR(n->product_id, "coins");
	CHECK_INT(n->quantity, 3);
	CHECK_INT(n->will_renew, RENEW_SAME);
	CHECK_INT(n->expires_at, TIME_NONE);
	notification_free(n);
}

static void a_test_has_no_purchase(void)
{
	struct notification *n = NULL;

	CHECK(
	    map(&n, "{\"notificationType\":\"TEST\",\"signedDate\":1}", "{" IDS "}", NULL) == NULL);
	CHECK_INT(n->kind, KIND_TEST);
	CHECK(n->store_purchase_id == NULL);
	notification_free(n);
}

#define UPPER "AAAAAAAA-BBBB-4CCC-8DDD-EEEEEEEEEEEE"
#define LOWER "aaaaaaaa-bbbb-4ccc-8ddd-eeeeeeeeeeee"

static void b06_an_owner_has_one_spelling(void)
{
	struct notification *n = NULL;

	CHECK(map(&n, OUTER, "{" IDS ",\"appAccountToken\":\"" UPPER "\"}", NULL) == NULL);
	CHECK_STR(n->account_ref, LOWER);
	CHECK(map(&n, OUTER, "{" IDS ",\"appAccountToken\":\"" LOWER "\"}", NULL) == NULL);
	CHECK_STR(n->account_ref, LOWER);
	CHECK(map(&n, OUTER, "{" IDS "}", "{\"appAccountToken\":\"" UPPER "\"}") == NULL);
	CHECK_STR(n->account_ref, LOWER);
	CHECK(map(&n, OUTER, "{" IDS ",\"appAccountToken\":\"User-7\"}", NULL) == NULL);
	CHECK_STR(n->account_ref, "User-7");
	CHECK(map(&n, OUTER, "{" IDS ",\"appAccountToken\":\"" UPPER "F\"}", NULL) == NULL);
	CHECK_STR(n->account_ref, UPPER "F");

	CHECK(map(&n, OUTER, "{" IDS "}", "{}") == NULL);
	CHECK(n->account_ref == NULL);
	CHECK(map(&n, OUTER, "{" IDS ",\"appAccountToken\":null}", NULL) == NULL);
	CHECK(n->account_ref == NULL);
	CHECK(map(&n, OUTER, "{" IDS ",\"appAccountToken\":\"\"}", NULL) == NULL);
	CHECK(n->account_ref == NULL);
	CHECK(map(&n, OUTER, "{" IDS ",\"appAccountToken\":7}", NULL) != NULL);
	notification_free(n);
}

static void b07_dates_are_milliseconds(void)
{
	struct notification *n = NULL;

	CHECK(map(&n, OUTER, "{" IDS ",\"expiresDate\":1767225600123}", NULL) == NULL);
	CHECK_INT(n->expires_at, 1767225600123);
	CHECK(map(&n, OUTER, "{" IDS "}", NULL) == NULL);
	CHECK_INT(n->expires_at, TIME_NONE);
	CHECK(map(&n, OUTER, "{" IDS ",\"expiresDate\":null}", NULL) == NULL);
	CHECK_INT(n->expires_at, TIME_NONE);
	CHECK(map(&n, OUTER, "{" IDS ",\"expiresDate\":0}", NULL) == NULL);
	CHECK_INT(n->expires_at, 0);
	/* A genuine purchaseDate can lie after its signedDate. */
	CHECK(map(&n, OUTER, "{" IDS ",\"purchaseDate\":1767225633123}", NULL) == NULL);
	CHECK_INT(n->occurred_at, 1767225600123);
	notification_free(n);
}

static void b07_what_is_no_date(void)
{
	static const char *const values[] = {"1697679936049.7297", "1e12", "\"1767225600123\"",
	    "-1", "253402300800000", "9223372036854775807", "true", "{}"};
	struct notification *n = NULL;

	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		char *outer = text_format(
		    "{\"notificationType\":\"DID_RENEW\",\"signedDate\":%s}", values[i]);
		char *expires = text_format("{" IDS ",\"expiresDate\":%s}", values[i]);
		char *purchase = text_format("{" IDS ",\"purchaseDate\":%s}", values[i]);
		char *grace = text_format("{\"gracePeriodExpiresDate\":%s}", values[i]);

		CHECK(map(&n, outer, "{" IDS "}", NULL) != NULL);
		CHECK(map(&n, OUTER, expires, NULL) != NULL);
		CHECK(map(&n, OUTER, purchase, NULL) != NULL);
		CHECK(map(&n, OUTER, "{" IDS "}", grace) != NULL);
		free(outer);
		free(expires);
		free(purchase);
		free(grace);
	}
	notification_free(n);
}

static void grace_ends_later_than_the_period(void)
{
	static const char outer[] = "{\"notificationType\":\"DID_FAIL_TO_RENEW\",\"subtype\":"
				    "\"GRACE_PERIOD\",\"signedDate\":1767225600123}";
	struct notification *n = NULL;

	CHECK(map(&n, outer, "{" IDS ",\"expiresDate\":5}", "{\"gracePeriodExpiresDate\":9}") ==
	      NULL);
	CHECK_INT(n->expires_at, 9);
	CHECK(map(&n, outer, "{" IDS ",\"expiresDate\":5}", "{}") == NULL);
	CHECK_INT(n->expires_at, 5);
	/* Elsewhere it is a date of the past. */
	CHECK(map(&n, OUTER, "{" IDS ",\"expiresDate\":5}", "{\"gracePeriodExpiresDate\":9}") ==
	      NULL);
	CHECK_INT(n->expires_at, 5);
	notification_free(n);
}

static void will_renew_by_type_or_by_renewal_info(void)
{
	struct notification *n = NULL;

	CHECK(map(&n, OUTER, "{" IDS "}", "{\"autoRenewStatus\":1}") == NULL);
	CHECK_INT(n->will_renew, RENEW_YES);
	CHECK(map(&n, OUTER, "{" IDS "}", "{\"autoRenewStatus\":0}") == NULL);
	CHECK_INT(n->will_renew, RENEW_NO);
	CHECK(map(&n, OUTER, "{" IDS "}", "{\"autoRenewStatus\":2}") == NULL);
	CHECK_INT(n->will_renew, RENEW_SAME);
	CHECK(map(&n,
		  "{\"notificationType\":\"DID_CHANGE_RENEWAL_STATUS\",\"subtype\":"
		  "\"AUTO_RENEW_DISABLED\",\"signedDate\":1}",
		  "{" IDS "}", "{\"autoRenewStatus\":1}") == NULL);
	CHECK_INT(n->will_renew, RENEW_NO);
	notification_free(n);
}

static void prices_are_milliunits(void)
{
	static const struct {
		const char *price, *currency;
		int64_t minor; /* -1: none */
	} cases[] = {
	    {"1990", "USD", 199},
	    {"0", "EUR", 0},
	    {"500000", "JPY", 500},
	    {"5000", "KWD", 5000},
	    {"1995", "USD", -1},
	    {"500500", "JPY", -1},
	    {"9007199254740990", "USD", 900719925474099},
	    {"9223372036854775800", "USD", 922337203685477580},
	    {"null", "USD", -1},
	    {"1990", "", -1},
	    {"1990", "US", -1},
	};
	struct notification *n = NULL;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *transaction = text_format("{" IDS ",\"price\":%s,\"currency\":\"%s\"}",
		    cases[i].price, cases[i].currency);

		CHECK(map(&n, OUTER, transaction, NULL) == NULL);
		CHECK_INT(n->has_amount, cases[i].minor >= 0);
		if (n->has_amount) {
			CHECK_INT(n->amount_minor, cases[i].minor);
			CHECK_STR(n->currency, cases[i].currency);
		}
		free(transaction);
	}
	CHECK(map(&n, OUTER, "{" IDS ",\"price\":1.99,\"currency\":\"USD\"}", NULL) != NULL);
	CHECK(map(&n, OUTER, "{" IDS ",\"price\":-1990,\"currency\":\"USD\"}", NULL) != NULL);
	CHECK(map(&n, OUTER, "{" IDS ",\"price\":1990,\"currency\":840}", NULL) != NULL);
	notification_free(n);
}

static void a_partial_refund_has_no_amount(void)
{
	static const char refund[] = "{\"notificationType\":\"REFUND\",\"signedDate\":1}";
	struct notification *n = NULL;

	CHECK(map(&n, refund,
		  "{" IDS ",\"price\":1990,\"currency\":\"USD\",\"revocationPercentage\":50000}",
		  NULL) == NULL);
	CHECK(n->partial);
	CHECK(!n->has_amount);
	CHECK(map(&n, refund,
		  "{" IDS ",\"price\":1990,\"currency\":\"USD\",\"revocationPercentage\":100000}",
		  NULL) == NULL);
	CHECK(!n->partial);
	CHECK_INT(n->amount_minor, 199);
	CHECK(map(&n, OUTER,
		  "{" IDS ",\"price\":1990,\"currency\":\"USD\",\"revocationPercentage\":50000}",
		  NULL) == NULL);
	CHECK(!n->partial);
	notification_free(n);
}

static void what_cannot_be_a_transaction(void)
{
	static const char *const transactions[] = {"{}", "{\"originalTransactionId\":\"1\"}",
	    "{\"transactionId\":2}", "{\"transactionId\":\"\"}",
	    "{\"transactionId\":\"2\",\"type\":1}",
	    "{\"transactionId\":\"2\",\"originalTransactionId\":1}",
	    "{\"transactionId\":\"2\",\"type\":\"Auto-Renewable Subscription\"}",
	    "{\"transactionId\":\"2\",\"productId\":[]}",
	    "{\"transactionId\":\"2\",\"quantity\":1.5}",
	    "{\"transactionId\":\"2\",\"quantity\":-1}"};
	struct notification *n = NULL;

	for (size_t i = 0; i < sizeof(transactions) / sizeof(transactions[0]); i++)
		CHECK(map(&n, OUTER, transactions[i], NULL) != NULL);
	notification_free(n);
}

static const struct check checks[] = {
    {"every row of the table", every_row_of_the_table},
    {"the purchase of a transaction", purchase_of_a_transaction},
    {"B05 a one-time charge has no renewal", b05_a_one_time_charge_has_no_renewal},
    {"a TEST has no purchase", a_test_has_no_purchase},
    {"B06 an owner has one spelling", b06_an_owner_has_one_spelling},
    {"B07 dates are milliseconds", b07_dates_are_milliseconds},
    {"B07 what is no date", b07_what_is_no_date},
    {"grace ends later than the period", grace_ends_later_than_the_period},
    {"will_renew by type or by renewal info", will_renew_by_type_or_by_renewal_info},
    {"prices are milliunits", prices_are_milliunits},
    {"a partial refund has no amount", a_partial_refund_has_no_amount},
    {"what cannot be a transaction", what_cannot_be_a_transaction},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("producer app store map", checks, argc, argv);
}
