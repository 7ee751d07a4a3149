#include "producer/stripe.h"
#include "tests/support/check.h"
#include "tests/support/signer.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>

#define NOW_S INT64_C(1767225600)
#define SUBSCRIPTION "{\"id\":\"sub_1\",\"object\":\"subscription\",\"status\":\"active\"}"

static char live_secret[] = SIGNER_STRIPE_SECRET, test_secret[] = SIGNER_STRIPE_TEST_SECRET;
static char *live_values[] = {live_secret};
static char *test_values[] = {test_secret};
static struct stripe_config config = {
    .secrets = {{1, live_values}, {1, test_values}},
    .tolerance_ms = 300000,
};

static enum verdict read_signed(const char *body, size_t len, const char *header,
    struct notification **ret_n, struct refusal *ret_refusal)
{
	struct webhook hook = {
	    .body = body, .len = len, .stripe_signature = header, .now_ms = NOW_S * 1000};
	struct err err = ERR_INIT;
	struct stripe *stripe = NULL;
	enum verdict verdict;

	CHECK_INT(stripe_new(&config, &stripe, &err), 0);
	verdict = stripe_read(stripe, &hook, ret_n, ret_refusal);
	stripe_free(stripe);
	return verdict;
}

static struct notification *expect_authentic(const char *body, size_t len, const char *secret)
{
	struct notification *n = NULL;
	struct refusal refusal;
	char *header = sign_stripe(secret, NOW_S, body, len);

	CHECK_INT(read_signed(body, len, header, &n, &refusal), VERDICT_AUTHENTIC);
	CHECK(n != NULL);
	free(header);
	return n;
}

static void expect_refused(
    const char *body, const char *header, enum verdict verdict, const char *reason)
{
	struct notification *n = NULL;
	struct refusal refusal = {0};

	CHECK_INT(read_signed(body, strlen(body), header, &n, &refusal), verdict);
	CHECK_STR(refusal.reason, reason);
	CHECK(refusal.detail && !strstr(refusal.detail, "whsec"));
	CHECK(n == NULL);
}

/* Signed live, but kept under this id without being understood. */
static void expect_quarantine(const char *body, size_t len, const char *id)
{
	struct notification *n = expect_authentic(body, len, SIGNER_STRIPE_SECRET);

	CHECK_STR(n->store, "stripe");
	CHECK_INT(n->kind, KIND_UNRECOGNIZED);
	if (id)
		CHECK_STR(n->notification_id, id);
	else
		CHECK(strncmp(n->notification_id, "sha256:", 7) == 0);
	CHECK(n->remark != NULL);
	CHECK(n->store_purchase_id == NULL);
	notification_free(n);
}

static void expect_quarantine_text(const char *body, const char *id)
{
	expect_quarantine(body, strlen(body), id);
}

static void test_refusals(void)
{
	char *event = stripe_event("evt_1", "ping", 1, NOW_S, "{\"id\":\"x\"}");
	char *forged = sign_stripe("whsec_other", NOW_S, event, strlen(event));
	char *stale = sign_stripe(SIGNER_STRIPE_SECRET, NOW_S - 600, event, strlen(event));
	char *early = sign_stripe(SIGNER_STRIPE_SECRET, NOW_S + 600, event, strlen(event));

	expect_refused(event, NULL, VERDICT_MALFORMED, "missing_signature");
	expect_refused(event, "nonsense", VERDICT_MALFORMED, "malformed_signature");
	expect_refused(event, forged, VERDICT_FORGED, "bad_signature");
	expect_refused(event, stale, VERDICT_FORGED, "stale_signature");
	expect_refused(event, early, VERDICT_FORGED, "stale_signature");
	free(event);
	free(forged);
	free(stale);
	free(early);
}

/* B26: what is not exactly live is a test, and its secret must say so too. */
static void expect_mode(const char *livemode, const char *store)
{
	bool live = strcmp(store, "stripe") == 0;
	const char *right = live ? SIGNER_STRIPE_SECRET : SIGNER_STRIPE_TEST_SECRET;
	const char *wrong = live ? SIGNER_STRIPE_TEST_SECRET : SIGNER_STRIPE_SECRET;
	char *event =
	    text_format("{\"id\":\"evt_1\",\"type\":\"customer.subscription.created\","
			"\"created\":1767225600%s,\"data\":{\"object\":" SUBSCRIPTION "}}",
		livemode);
	struct notification *n = expect_authentic(event, strlen(event), right);
	char *header = sign_stripe(wrong, NOW_S, event, strlen(event));

	CHECK_STR(n->store, store);
	CHECK_STR(n->store_purchase_id, "sub_1");
	expect_refused(event, header, VERDICT_MALFORMED, "wrong_mode");
	notification_free(n);
	free(header);
	free(event);
}

static void test_modes(void)
{
	expect_mode(",\"livemode\":true", "stripe");
	expect_mode(",\"livemode\":false", "stripe_test");
	expect_mode("", "stripe_test");
	expect_mode(",\"livemode\":\"true\"", "stripe_test");
	expect_mode(",\"livemode\":1", "stripe_test");
	expect_mode(",\"livemode\":null", "stripe_test");
}

static void expect_store(const char *event, const char *store)
{
	struct notification *n = expect_authentic(event, strlen(event), SIGNER_STRIPE_SECRET);

	CHECK_STR(n->store, store);
	notification_free(n);
}

/* B26: a live endpoint for Connect signs test events with its one secret. */
static void test_one_secret_for_both(void)
{
	char *both[] = {test_secret, live_secret};
	static const char live[] = "{\"id\":\"evt_1\",\"livemode\":true}";
	struct stripe_config separate = config;
	char *header = sign_stripe(test_secret, NOW_S, live, strlen(live));

	config.secrets.test = (struct option_list){2, both};
	expect_store(live, "stripe");
	expect_store("{\"id\":\"evt_1\",\"livemode\":false}", "stripe_test");
	expect_store("{\"id\":\"evt_1\"}", "stripe_test");
	expect_store("{\"id\":\"evt_1\",\"livemode\":\"true\"}", "stripe_test");
	expect_store("{\"id\":\"evt_1\",\"livemode\":1}", "stripe_test");
	expect_store("{\"id\":\"evt_1\",\"livemode\":true", "stripe_test");
	/* Another one, for tests alone, is still no live one. */
	expect_refused(live, header, VERDICT_MALFORMED, "wrong_mode");
	config = separate;
	free(header);
}

/* B27 and P12: signed, but no JSON that can be trusted. */
static void test_unreadable(void)
{
	const size_t depth = 200000;
	char *deep = malloc(depth);

	memset(deep, '[', depth);
	expect_quarantine(deep, depth, NULL);
	free(deep);
	expect_quarantine_text("", NULL);
	expect_quarantine_text("[]", NULL);
	expect_quarantine_text("{\"id\":\"evt_1\",\"x\":\"\xff\"}", "evt_1");
	expect_quarantine_text("{\"id\":\"evt_2\",\"n\":18446744073709551616}", "evt_2");
	expect_quarantine_text("{\"id\":\"evt_3\",\"s\":\"\\ud800\"}", "evt_3");
	expect_quarantine_text("{\"id\":\"evt_4\",\"a\":1,\"a\":2}", "evt_4");
	expect_quarantine_text("{\"id\":\"evt_A\",\"id\":\"evt_B\",\"livemode\":true}", NULL);
}

/* The mode of what cannot be read is its secret's. */
static void test_unreadable_test_mode(void)
{
	struct notification *n = expect_authentic("{\"id\":", 6, SIGNER_STRIPE_TEST_SECRET);

	CHECK_STR(n->store, "stripe_test");
	CHECK_INT(n->kind, KIND_UNRECOGNIZED);
	notification_free(n);
}

/* Good JSON, but no event: each lacks something. */
static void test_incomplete(void)
{
	static const struct {
		const char *event;
		const char *id;
	} cases[] = {
	    {"{\"livemode\":true,\"type\":\"ping\",\"created\":1}", NULL},
	    {"{\"livemode\":true,\"id\":7,\"type\":\"ping\",\"created\":1}", NULL},
	    {"{\"livemode\":true,\"id\":\"a\\u0000b\",\"type\":\"ping\",\"created\":1}", NULL},
	    {"{\"livemode\":true,\"id\":\"e\",\"created\":1}", "e"},
	    {"{\"livemode\":true,\"id\":\"e\",\"type\":\"ping\"}", "e"},
	    {"{\"livemode\":true,\"id\":\"e\",\"type\":\"ping\",\"created\":\"1\"}", "e"},
	    {"{\"livemode\":true,\"id\":\"e\",\"type\":\"ping\",\"created\":9223372036854775807}",
		"e"},
	    {"{\"livemode\":true,\"id\":\"e\",\"type\":\"ping\",\"created\":-1}", "e"},
	    {"{\"livemode\":true,\"id\":\"e\",\"type\":\"invoice.paid\",\"created\":1}", "e"},
	    {"{\"livemode\":true,\"id\":\"e\",\"type\":\"invoice.paid\",\"created\":1,"
	     "\"data\":{\"object\":{}}}",
		"e"},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_quarantine_text(cases[i].event, cases[i].id);
}

/* B24: request is an object, a string or null; nobody needs it. */
static void test_request_shapes(void)
{
	static const char *const shapes[] = {"\"req_1\"", "null", "{\"id\":null}"};

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		char *event =
		    text_format("{\"id\":\"evt_1\",\"type\":\"customer.subscription.created\","
				"\"created\":1767225600,\"livemode\":true,\"request\":%s,"
				"\"data\":{\"object\":" SUBSCRIPTION "}}",
			shapes[i]);
		struct notification *n =
		    expect_authentic(event, strlen(event), SIGNER_STRIPE_SECRET);

		CHECK_INT(n->kind, KIND_STARTED);
		CHECK_INT(n->occurred_at, NOW_S * 1000);
		notification_free(n);
		free(event);
	}
}

static void expect_bad_config(char *live, char *test, const char *message_part)
{
	struct stripe_config bad = {.secrets = {{1, &live}, {1, &test}}};
	struct err err = ERR_INIT;
	struct stripe *stripe = NULL;

	CHECK_INT(stripe_new(&bad, &stripe, &err), -1);
	CHECK_INT(err.kind, ERR_USAGE);
	CHECK(strstr(err.message, message_part) != NULL);
	CHECK(stripe == NULL);
}

static void test_config(void)
{
	char empty[] = "";

	expect_bad_config(empty, test_secret, "--stripe-secret is empty");
	expect_bad_config(live_secret, empty, "--stripe-test-secret is empty");
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"what is not authentic is refused", test_refusals},
	    {"B26 modes and their secrets", test_modes},
	    {"B26 one secret for both modes", test_one_secret_for_both},
	    {"B27 unreadable, kept under its id or its hash", test_unreadable},
	    {"unreadable, in test mode", test_unreadable_test_mode},
	    {"B24 incomplete events are kept", test_incomplete},
	    {"B24 shapes of request", test_request_shapes},
	    {"secrets that would be no secrets", test_config},
	    {NULL, NULL},
	};

	return check_main("producer stripe", checks, argc, argv);
}
