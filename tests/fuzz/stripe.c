/* A webhook's body, which we sign: what is authentic is kept, whatever it is. */
#include "producer/stripe.h"
#include "producer/json.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/signer.h"

#include <stdlib.h>
#include <string.h>

#define NOW_S INT64_C(1767225600)

static struct stripe *open_stripe(void)
{
	static char live_secret[] = SIGNER_STRIPE_SECRET, test_secret[] = SIGNER_STRIPE_TEST_SECRET;
	static char *live[] = {live_secret}, *test[] = {test_secret};
	static const struct stripe_config config = {{{1, live}, {1, test}}, 300000};
	struct stripe *stripe = NULL;
	struct err err;

	FUZZ_CHECK(stripe_new(&config, &stripe, &err) == 0);
	return stripe;
}

/* The store whose secret signs it, or NULL: it is of the other mode. */
static struct notification *read_signed(
    struct stripe *stripe, const char *secret, const uint8_t *data, size_t size)
{
	char *signature = sign_stripe(secret, NOW_S, data, size);
	struct webhook hook = {
	    .body = data, .len = size, .stripe_signature = signature, .now_ms = NOW_S * 1000};
	struct notification *n = NULL;
	struct refusal refusal = {NULL, NULL};
	enum verdict verdict = stripe_read(stripe, &hook, &n, &refusal);

	if (verdict == VERDICT_AUTHENTIC)
		fuzz_check_notification(n);
	else
		FUZZ_CHECK(verdict == VERDICT_MALFORMED && !n &&
			   strcmp(refusal.reason, "wrong_mode") == 0);
	free(signature);
	return n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct stripe *stripe;
	struct notification *live, *test;
	const char *why;
	json_t *event;

	if (!stripe)
		stripe = open_stripe();
	live = read_signed(stripe, SIGNER_STRIPE_SECRET, data, size);
	test = read_signed(stripe, SIGNER_STRIPE_TEST_SECRET, data, size);
	event = json_read(data, size, &why);
	if (event) {
		FUZZ_CHECK(!live != !test);
		FUZZ_CHECK(!live == !json_is_true(json_object_get(event, "livemode")));
	} else {
		FUZZ_CHECK(live && live->kind == KIND_UNRECOGNIZED);
		FUZZ_CHECK(test && test->kind == KIND_UNRECOGNIZED);
	}
	FUZZ_CHECK(!live || strcmp(live->store, "stripe") == 0);
	FUZZ_CHECK(!test || strcmp(test->store, "stripe_test") == 0);
	json_decref(event);
	notification_free(live);
	notification_free(test);
	return 0;
}
