#include "common/hex.h"
#include "tests/producer/apple_fixture.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/test_jws.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define TEST_HEAD                                                                                  \
	"\"notificationType\":\"TEST\",\"notificationUUID\":\"uuid-1\",\"signedDate\":"            \
	"1767225600123"

#define Y2024 1704067200
#define Y2025 1735689600

static void bodies_without_the_form(void)
{
	static const char *const bodies[] = {"", "{}", "[]", "null", "signedPayload",
	    "{\"signedPayload\":1}", "{\"signedPayload\":null}", "{\"signedPayload\":\"\"}",
	    "{\"signedPayload\":\"a.b.c\",\"signedPayload\":\"a.b.c\"}",
	    "{\"signedPayload\":\"a.b.c\\u0000\"}", "{\"signedpayload\":\"a.b.c\"}"};

	for (size_t i = 0; i < sizeof(bodies) / sizeof(bodies[0]); i++) {
		CHECK_INT(read_at(apple.store, bodies[i], NOW_MS), VERDICT_MALFORMED);
		CHECK_STR(apple.refusal.reason, "bad_body");
	}
}

static void b02_valid_when_it_was_signed(void)
{
	struct test_ca *old = test_ca_new_leaf(
	    apple.ca, &(struct test_ca_spec){.leaf_from = Y2024, .leaf_to = Y2025});
	struct test_ca *tomorrows =
	    test_ca_new_leaf(apple.ca, &(struct test_ca_spec){.leaf_from = NOW_MS / 1000 + 86400});

#define SIGNED_AT(ms)                                                                              \
	"{\"notificationType\":\"TEST\",\"notificationUUID\":\"u\",\"signedDate\":" ms             \
	",\"data\":{" SANDBOX "}}"
	CHECK_INT(
	    read_jws(apple.store, test_jws(old, SIGNED_AT("1717200000000"))), VERDICT_AUTHENTIC);
	CHECK_INT(apple.n->occurred_at, 1717200000000);
	expect_refused(
	    read_jws(apple.store, test_jws(old, SIGNED_AT("1748736000000"))), "bad_chain");
	expect_refused(read_jws(apple.store, test_jws(old, SIGNED_AT("null"))), "bad_chain");
	expect_refused(
	    read_jws(apple.store, test_jws(tomorrows, SIGNED_AT("1767225600000"))), "bad_chain");
	/* Its window is known by now, and still counts. */
	CHECK_INT(
	    read_jws(apple.store, test_jws(old, SIGNED_AT("1717200000000"))), VERDICT_AUTHENTIC);
	expect_refused(
	    read_jws(apple.store, test_jws(old, SIGNED_AT("1748736000000"))), "bad_chain");
	test_ca_free(old);
	test_ca_free(tomorrows);
}

static void b02_not_signed_in_the_future(void)
{
	CHECK_INT(read_payload(SIGNED_AT("1767225900123")), VERDICT_AUTHENTIC);
	expect_refused(read_payload(SIGNED_AT("1767225900124")), "signed_in_future");
	expect_refused(read_payload(SIGNED_AT("9223372036854775807")), "signed_in_future");
	expect_refused(read_payload(SIGNED_AT("0")), "bad_chain");
	expect_refused(read_payload(SIGNED_AT("-9223372036854775808")), "bad_chain");
	CHECK_INT(read_payload(SIGNED_AT("null")), VERDICT_AUTHENTIC);
	CHECK_INT(apple.n->occurred_at, NOW_MS);
	CHECK(apple.n->remark != NULL);
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

static void what_is_inside_is_verified_too(void)
{
	struct test_ca *stranger = test_ca_new(NULL);
	char *inner = test_jws(stranger, "{" SANDBOX ",\"transactionId\":\"t\"}");
	char *payload = text_format(
	    "{" TEST_HEAD ",\"data\":{" SANDBOX ",\"signedTransactionInfo\":\"%s\"}}", inner);

	expect_refused(read_payload(payload), "bad_chain");
	free(payload);
	expect_refused(
	    read_payload("{" TEST_HEAD ",\"data\":{" SANDBOX
			 ",\"signedTransactionInfo\":\"signed_transaction_info_value\"}}"),
	    "bad_jws");
	expect_refused(
	    read_payload("{" TEST_HEAD ",\"data\":{" SANDBOX ",\"signedRenewalInfo\":\"a.b.c\"}}"),
	    "bad_jws");
	CHECK_INT(read_payload("{" TEST_HEAD ",\"data\":{" SANDBOX ",\"signedRenewalInfo\":null}}"),
	    VERDICT_AUTHENTIC);
	expect_quarantined(
	    read_payload("{" TEST_HEAD ",\"data\":{" SANDBOX ",\"signedRenewalInfo\":7}}"),
	    "uuid-1");
	free(inner);
	test_ca_free(stranger);
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

static enum verdict read_signed_as(const char *alg, const char *more, enum test_signature kind)
{
	static const char payload[] = "{" TEST_HEAD ",\"data\":{" SANDBOX "}}";
	char *header = test_jws_header(apple.ca, alg, more);
	char *jws = test_jws_as(apple.ca, header, payload, strlen(payload), kind);

	free(header);
	return read_jws(apple.store, jws);
}

static void b09_signature_is_64_raw_bytes(void)
{
	CHECK_INT(read_signed_as("ES256", "", SIGNATURE_SHORT_R), VERDICT_AUTHENTIC);
	expect_refused(read_signed_as("ES256", "", SIGNATURE_DER), "bad_jws");
	expect_refused(read_signed_as("ES256", "", SIGNATURE_SHORT_R_STRIPPED), "bad_jws");
	expect_refused(read_signed_as("ES256", "", SIGNATURE_ZERO), "bad_signature");
}

static void b10_algorithm_is_pinned(void)
{
	char *two_parts = test_jws(apple.ca, "{" TEST_HEAD ",\"data\":{" SANDBOX "}}");

	expect_refused(read_signed_as("HS256", "", SIGNATURE_HMAC), "bad_jws");
	expect_refused(read_signed_as("none", "", SIGNATURE_NONE), "bad_jws");
	expect_refused(read_signed_as("nOnE", "", SIGNATURE_NONE), "bad_jws");
	expect_refused(read_signed_as("ES384", "", SIGNATURE_RAW), "bad_jws");
	expect_refused(read_signed_as("ES256", ",\"crit\":[\"b64\"]", SIGNATURE_RAW), "bad_jws");
	*strrchr(two_parts, '.') = '\0';
	expect_refused(read_jws(apple.store, two_parts), "bad_jws");
}

#define THREADS 4
#define N_BODIES 3

struct reader {
	pthread_t thread;
	char **bodies; /* N_BODIES of them */
	int refused;
};

static void *read_many(void *ctx)
{
	struct reader *reader = ctx;

	for (int i = 0; i < 30; i++) {
		const char *body = reader->bodies[i % N_BODIES];
		struct webhook hook = {.body = body, .len = strlen(body), .now_ms = NOW_MS};
		struct notification *n = NULL;
		struct refusal refusal;

		if (app_store_read(apple.store, &hook, &n, &refusal) != VERDICT_AUTHENTIC)
			reader->refused++;
		notification_free(n);
	}
	return NULL;
}

static void several_threads_at_once(void)
{
	char *bodies[N_BODIES];
	struct reader readers[THREADS];

	for (int i = 0; i < N_BODIES; i++) {
		struct test_ca *leaf = test_ca_new_leaf(apple.ca, NULL);
		char *jws = test_jws(leaf, "{" TEST_HEAD ",\"data\":{" SANDBOX "}}");

		bodies[i] = text_format("{\"signedPayload\":\"%s\"}", jws);
		test_ca_free(leaf);
		free(jws);
	}
	for (int i = 0; i < THREADS; i++) {
		readers[i] = (struct reader){.bodies = bodies};
		CHECK(pthread_create(&readers[i].thread, NULL, read_many, &readers[i]) == 0);
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(readers[i].thread, NULL);
		CHECK_INT(readers[i].refused, 0);
	}
	for (int i = 0; i < N_BODIES; i++)
		free(bodies[i]);
}

static void configuration_is_checked(void)
{
	char *empty[] = {(char *)""}, *id[] = {(char *)"com.example"}, *word[] = {(char *)"app"};
	struct app_store_config none = {.ocsp = false};
	struct app_store_config blank = {.bundle_ids = {1, empty}};
	struct app_store_config no_number = {.bundle_ids = {1, id}, .app_ids = {1, word}};
	struct app_store_config no_root = {.bundle_ids = {1, id}, .root_files = {1, empty}};
	struct app_store *made = NULL;
	struct err err = ERR_INIT;

	CHECK_INT(app_store_new(&none, &made, &err), -1);
	CHECK_INT(err.kind, ERR_USAGE);
	CHECK_INT(app_store_new(&blank, &made, &err), -1);
	CHECK_INT(err.kind, ERR_USAGE);
	CHECK_INT(app_store_new(&no_number, &made, &err), -1);
	CHECK(strstr(err.message, "--apple-app-id") != NULL);
	CHECK_INT(app_store_new(&no_root, &made, &err), -1);
	CHECK(strstr(err.message, "--apple-root-file") != NULL);
	CHECK(made == NULL);
}

static const struct check checks[] = {
    {"bodies without the form", bodies_without_the_form},
    {"B02 valid when it was signed", b02_valid_when_it_was_signed},
    {"B02 not signed in the future", b02_not_signed_in_the_future},
    {"B04 the Sandbox is a store of its own", b04_sandbox_is_a_store_of_its_own},
    {"B04 the app id counts in Production", b04_the_app_id_counts_in_production},
    {"B04 only two environments", b04_only_two_environments},
    {"B04 what is inside must agree", b04_what_is_inside_must_agree},
    {"B07 a date out of range is kept", b07_a_date_out_of_range_is_kept},
    {"what is inside is verified too", what_is_inside_is_verified_too},
    {"for somebody else", for_somebody_else},
    {"authentic ones are kept", authentic_ones_are_kept},
    {"B05 payloads without a transaction", b05_payloads_without_a_transaction},
    {"B09 a signature is 64 raw bytes", b09_signature_is_64_raw_bytes},
    {"B10 the algorithm is pinned", b10_algorithm_is_pinned},
    {"several threads at once", several_threads_at_once},
    {"the configuration is checked", configuration_is_checked},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	apple_open();
	status = check_main("producer app store", checks, argc, argv);
	apple_close();
	return status;
}
