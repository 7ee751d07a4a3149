/* What a verified payload says: whom it is for, which store, and whether it is understood. */
#include "common/hex.h"
#include "tests/producer/apple_fixture.h"
#include "tests/support/check.h"
#include "tests/support/test_jws.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void b04_sandbox_is_a_store_of_its_own(void)
{
	struct app_store *sandbox_only = store_for("com.example", NULL, apple.root_path);

	CHECK_INT(read_payload("{" TEST_HEAD ",\"data\":{" SANDBOX "}}"), VERDICT_AUTHENTIC);
	CHECK_STR(apple.n->store, "app_store_sandbox");
	CHECK_INT(read_payload("{" TEST_HEAD ",\"data\":{\"appAppleId\":1," SANDBOX "}}"),
	    VERDICT_AUTHENTIC);
	CHECK_INT(read_payload("{" TEST_HEAD ",\"data\":{" PRODUCTION "}}"), VERDICT_AUTHENTIC);
	CHECK_STR(apple.n->store, "app_store");
	CHECK_INT(
	    read_jws(sandbox_only, test_jws(apple.ca, "{" TEST_HEAD ",\"data\":{" SANDBOX "}}")),
	    VERDICT_AUTHENTIC);
	expect_refused(
	    read_jws(sandbox_only, test_jws(apple.ca, "{" TEST_HEAD ",\"data\":{" PRODUCTION "}}")),
	    "wrong_app");
	app_store_free(sandbox_only);
}

static void b04_the_app_id_counts_in_production(void)
{
	expect_refused(read_payload("{" TEST_HEAD ",\"data\":{\"bundleId\":\"com.example\","
				    "\"environment\":\"Production\"}}"),
	    "wrong_app");
	expect_refused(
	    read_payload("{" TEST_HEAD ",\"data\":{\"bundleId\":\"com.example\",\"environment\":"
			 "\"Production\",\"appAppleId\":41235}}"),
	    "wrong_app");
	expect_refused(
	    read_payload("{" TEST_HEAD ",\"data\":{\"bundleId\":\"com.example\",\"environment\":"
			 "\"Production\",\"appAppleId\":\"41234\"}}"),
	    "wrong_app");
}

static void b04_only_two_environments(void)
{
	static const char *const others[] = {
	    "\"Xcode\"", "\"LocalTesting\"", "\"sandbox\"", "\"\"", "null", "1"};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		char *payload = text_format("{" TEST_HEAD ",\"data\":{\"bundleId\":\"com.example\","
					    "\"appAppleId\":41234,\"environment\":%s}}",
		    others[i]);

		expect_refused(read_payload(payload), "wrong_environment");
		free(payload);
	}
}

/* A notification with both JWS inside, whose claims are JSON text such as `"bundleId":"x"`. */
static enum verdict read_nested(const char *outer, const char *transaction, const char *renewal)
{
	char *transaction_json =
	    text_format("{%s,\"transactionId\":\"t\",\"originalTransactionId\":"
			"\"o\",\"signedDate\":1767225600000}",
		transaction);
	char *renewal_json = text_format("{%s,\"signedDate\":1767225600000}", renewal);
	char *transaction_jws = test_jws(apple.ca, transaction_json);
	char *renewal_jws = test_jws(apple.ca, renewal_json);
	char *payload =
	    text_format("{\"notificationType\":\"DID_RENEW\",\"notificationUUID\":\"u\","
			"\"signedDate\":1767225600123,\"data\":{%s,"
			"\"signedTransactionInfo\":\"%s\",\"signedRenewalInfo\":\"%s\"}}",
		outer, transaction_jws, renewal_jws);
	enum verdict verdict = read_payload(payload);

	free(transaction_json);
	free(renewal_json);
	free(transaction_jws);
	free(renewal_jws);
	free(payload);
	return verdict;
}

static void b04_what_is_inside_must_agree(void)
{
	const char *production = "\"bundleId\":\"com.example\",\"environment\":\"Production\"";

	CHECK_INT(read_nested(SANDBOX, SANDBOX, SANDBOX), VERDICT_AUTHENTIC);
	CHECK_INT(apple.n->kind, KIND_RENEWED);
	CHECK_INT(read_nested(PRODUCTION, production, production), VERDICT_AUTHENTIC);
	CHECK_STR(apple.n->store, "app_store");
	CHECK_INT(read_nested(SANDBOX, SANDBOX, "\"environment\":\"Sandbox\""), VERDICT_AUTHENTIC);

	expect_refused(read_nested(PRODUCTION, SANDBOX, production), "inner_mismatch");
	expect_refused(read_nested(PRODUCTION, production, SANDBOX), "inner_mismatch");
	expect_refused(read_nested(SANDBOX, production, SANDBOX), "inner_mismatch");
	expect_refused(
	    read_nested(SANDBOX, "\"bundleId\":\"com.other\",\"environment\":\"Sandbox\"", SANDBOX),
	    "inner_mismatch");
	expect_refused(
	    read_nested(SANDBOX, SANDBOX, "\"bundleId\":\"com.other\",\"environment\":\"Sandbox\""),
	    "inner_mismatch");
	expect_refused(
	    read_nested(SANDBOX, "\"environment\":\"Sandbox\"", SANDBOX), "inner_mismatch");
	expect_refused(
	    read_nested(SANDBOX, "\"bundleId\":\"com.example\"", SANDBOX), "inner_mismatch");
	/* What can be read of an unreadable one must agree too. */
	expect_refused(
	    read_nested(SANDBOX, "\"n\":99999999999999999999,\"bundleId\":\"com.other\"", SANDBOX),
	    "inner_mismatch");
}

static void for_somebody_else(void)
{
	expect_refused(read_payload("{" TEST_HEAD ",\"data\":{\"bundleId\":\"com.other\","
				    "\"environment\":\"Sandbox\"}}"),
	    "wrong_bundle");
	expect_refused(read_payload("{" TEST_HEAD ",\"data\":{\"bundleId\":7,"
				    "\"environment\":\"Sandbox\"}}"),
	    "wrong_bundle");
	expect_refused(read_payload("{" TEST_HEAD "}"), "wrong_bundle");
	expect_refused(read_payload("{" TEST_HEAD ",\"other\":{" SANDBOX "}}"), "wrong_bundle");
	expect_refused(read_payload("{}"), "wrong_bundle");
	expect_refused(read_payload("[]"), "wrong_bundle");
	expect_refused(read_payload("no json"), "wrong_bundle");
	/* data decides, whatever else names us. */
	expect_refused(read_payload("{" TEST_HEAD ",\"data\":{\"bundleId\":\"com.other\","
				    "\"environment\":\"Sandbox\"},\"summary\":{" SANDBOX "}}"),
	    "wrong_bundle");
}

static void b07_a_date_out_of_range_is_kept(void)
{
	expect_quarantined(
	    read_nested(SANDBOX, SANDBOX ",\"expiresDate\":99999999999999999999", SANDBOX), "u");
	CHECK_STR(apple.n->store, "app_store_sandbox");
	expect_quarantined(
	    read_nested(SANDBOX, SANDBOX ",\"expiresDate\":1697679936049.7297", SANDBOX), "u");
	CHECK_STR(apple.n->native_type, "DID_RENEW");
	/* Whom it is for cannot be read: then what is around it says it. */
	expect_quarantined(read_nested(SANDBOX, SANDBOX "," SANDBOX, SANDBOX "," SANDBOX), "u");
	expect_quarantined(read_payload(SIGNED_AT("1697679936711.0747")), "u");
	expect_quarantined(read_payload(SIGNED_AT("99999999999999999999")), "u");
	CHECK_INT(read_nested(SANDBOX, SANDBOX ",\"expiresDate\":1767225600123", SANDBOX),
	    VERDICT_AUTHENTIC);
	CHECK_INT(apple.n->expires_at, 1767225600123);
}

/* P12: verified, for us, and not understood. */
static void authentic_ones_are_kept(void)
{
	char *deep = calloc(1, 20000), *payload;
	char first[HEX_SHA256_SIZE + 8];

	memset(deep, '[', 9000);
	memset(deep + 9000, ']', 9000);
	expect_quarantined(
	    read_payload("{" TEST_HEAD ",\"n\":99999999999999999999,\"data\":{" SANDBOX "}}"),
	    "uuid-1");
	CHECK_STR(apple.n->store, "app_store_sandbox");
	expect_quarantined(
	    read_payload("{" TEST_HEAD ",\"t\":\"\\ud800\",\"data\":{" SANDBOX "}}"), "uuid-1");
	expect_quarantined(
	    read_payload("{" TEST_HEAD ",\"t\":\"\xff\",\"data\":{" SANDBOX "}}"), "uuid-1");
	expect_quarantined(
	    read_payload("{" TEST_HEAD ",\"a\":1,\"a\":2,\"data\":{" PRODUCTION "}}"), "uuid-1");
	CHECK_STR(apple.n->store, "app_store");
	payload = text_format("{" TEST_HEAD ",\"a\":%s,\"data\":{" SANDBOX "}}", deep);
	expect_quarantined(read_payload(payload), "uuid-1");
	free(payload);
	free(deep);

	expect_quarantined(
	    read_payload("{" TEST_HEAD ",\"data\":{" SANDBOX ",\"environment\":\"Sandbox\"}}"),
	    "uuid-1");

	/* No id: the digest of what was signed, whatever wraps it. */
	expect_quarantined(
	    read_payload("{\"notificationType\":\"TEST\",\"data\":{" SANDBOX "}}"), NULL);
	snprintf(first, sizeof(first), "%s", apple.n->notification_id);
	expect_quarantined(
	    read_payload("{\"notificationType\":\"TEST\",\"data\":{" SANDBOX "}}"), first);
	expect_quarantined(
	    read_payload(
		"{\"notificationUUID\":7,\"notificationType\":\"TEST\",\"data\":{" SANDBOX "}}"),
	    NULL);
	expect_quarantined(
	    read_payload("{\"notificationUUID\":\"u\",\"data\":{" SANDBOX "}}"), "u");
	expect_quarantined(
	    read_payload(
		"{\"notificationUUID\":\"u\",\"notificationType\":7,\"data\":{" SANDBOX "}}"),
	    "u");
	expect_quarantined(read_payload("{\"notificationUUID\":\"u\",\"notificationType\":"
					"\"A\\u0000B\",\"data\":{" SANDBOX "}}"),
	    "u");
}

static void b05_payloads_without_a_transaction(void)
{
	static const struct {
		const char *payload, *store, *native_type;
		enum kind kind;
	} cases[] = {
	    {"{" TEST_HEAD ",\"data\":{" SANDBOX "}}", "app_store_sandbox", "TEST", KIND_TEST},
	    {"{\"notificationType\":\"FUTURE_EVENT\",\"notificationUUID\":\"u\",\"data\":{" SANDBOX
	     "}}",
		"app_store_sandbox", "FUTURE_EVENT", KIND_NOTED},
	    {"{\"notificationType\":\"RENEWAL_EXTENSION\",\"subtype\":\"SUMMARY\","
	     "\"notificationUUID\":\"u\",\"summary\":{" PRODUCTION "}}",
		"app_store", "RENEWAL_EXTENSION/SUMMARY", KIND_NOTED},
	    {"{\"notificationType\":\"EXTERNAL_PURCHASE_TOKEN\",\"notificationUUID\":\"u\","
	     "\"externalPurchaseToken\":{\"externalPurchaseId\":\"SANDBOX_1\",\"bundleId\":"
	     "\"com.example\"}}",
		"app_store_sandbox", "EXTERNAL_PURCHASE_TOKEN", KIND_NOTED},
	    {"{\"notificationType\":\"EXTERNAL_PURCHASE_TOKEN\",\"notificationUUID\":\"u\","
	     "\"externalPurchaseToken\":{\"externalPurchaseId\":\"b21\",\"bundleId\":"
	     "\"com.example\",\"appAppleId\":41234}}",
		"app_store", "EXTERNAL_PURCHASE_TOKEN", KIND_NOTED},
	    {"{\"notificationType\":\"RESCIND_CONSENT\",\"notificationUUID\":\"u\",\"appData\":"
	     "{" PRODUCTION ",\"signedAppTransactionInfo\":\"x\"}}",
		"app_store", "RESCIND_CONSENT", KIND_NOTED},
	    {"{\"notificationType\":\"SUBSCRIBED\",\"notificationUUID\":\"u\",\"data\":{" SANDBOX
	     "}}",
		"app_store_sandbox", "SUBSCRIBED", KIND_NOTED},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		CHECK_INT(read_payload(cases[i].payload), VERDICT_AUTHENTIC);
		CHECK_STR(apple.n->store, cases[i].store);
		CHECK_STR(apple.n->native_type, cases[i].native_type);
		CHECK_INT(apple.n->kind, cases[i].kind);
		CHECK_INT(apple.n->state, STATE_SAME);
		CHECK(apple.n->store_purchase_id == NULL);
	}
}

static const struct check checks[] = {
    {"B04 the Sandbox is a store of its own", b04_sandbox_is_a_store_of_its_own},
    {"B04 the app id counts in Production", b04_the_app_id_counts_in_production},
    {"B04 only two environments", b04_only_two_environments},
    {"B04 what is inside must agree", b04_what_is_inside_must_agree},
    {"for somebody else", for_somebody_else},
    {"B07 a date out of range is kept", b07_a_date_out_of_range_is_kept},
    {"authentic ones are kept", authentic_ones_are_kept},
    {"B05 payloads without a transaction", b05_payloads_without_a_transaction},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	apple_open();
	status = check_main("producer app store claims", checks, argc, argv);
	apple_close();
	return status;
}
