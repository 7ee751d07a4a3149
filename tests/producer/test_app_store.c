/* Whose signature is taken, over what, for which time and in which form. */
#include "tests/producer/apple_fixture.h"
#include "tests/support/check.h"
#include "tests/support/test_jws.h"
#include "tests/support/text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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
    {"what is inside is verified too", what_is_inside_is_verified_too},
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
