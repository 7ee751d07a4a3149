#include "producer/chain.h"
#include "producer/json.h"
#include "producer/jws.h"
#include "tests/producer/apple_fixture.h"
#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/test_jws.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>

#define VECTORS UMAVEZ_SOURCE_DIR "/tests/vectors/apple"

static void official_notifications(void)
{
	struct app_store *theirs =
	    store_for("com.example", "1234", VECTORS "/official/certs/testCA.der");
	char *text = file_read(VECTORS "/official/mock_signed_data/testNotification", NULL);

	CHECK_INT(read_jws(theirs, text), VERDICT_AUTHENTIC);
	CHECK_STR(apple.n->store, "app_store_sandbox");
	CHECK_INT(apple.n->kind, KIND_TEST);
	CHECK_STR(apple.n->notification_id, "9ad56bd2-0bc6-42e0-af24-fd996d87a1e6");
	CHECK_INT(apple.n->occurred_at, 1681314324000);

	text = file_read(VECTORS "/official/mock_signed_data/wrongBundleId", NULL);
	expect_refused(read_jws(theirs, text), "wrong_bundle");
	text = file_read(VECTORS "/official/mock_signed_data/missingX5CHeaderClaim", NULL);
	expect_refused(read_jws(theirs, text), "bad_jws");
	/* Authentic JWS, but no notifications: nobody is named. */
	text = file_read(VECTORS "/official/mock_signed_data/transactionInfo", NULL);
	expect_refused(read_jws(theirs, text), "wrong_bundle");
	text = file_read(VECTORS "/official/mock_signed_data/renewalInfo", NULL);
	expect_refused(read_jws(theirs, text), "wrong_bundle");
	expect_refused(read_jws(theirs, strdup("a.b.c")), "bad_jws");
	expect_refused(read_jws(theirs, strdup("a.b.c.d")), "bad_jws");
	/* The same bytes under another root. */
	text = file_read(VECTORS "/official/mock_signed_data/testNotification", NULL);
	expect_refused(read_jws(apple.store, text), "bad_chain");
	app_store_free(theirs);
}

static void xcode_is_refused(void)
{
	static const char *const names[] = {"xcode-signed-renewal-info", "xcode-signed-transaction",
	    "xcode-signed-app-transaction"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = text_format(VECTORS "/official/xcode/%s", names[i]);

		expect_refused(read_jws(apple.store, file_read(path, NULL)), "bad_jws");
		free(path);
	}
}

/* Its leaf expired on 2023-09-24; it was signed in 2022. */
static void genuine_test_notification(void)
{
	struct app_store *apples = store_for("com.Abilities", NULL, NULL);
	char *body = file_read(VECTORS "/signed_genuine/16-TEST.json", NULL);

	CHECK_INT(read_at(apples, body, NOW_MS), VERDICT_AUTHENTIC);
	CHECK_STR(apple.n->store, "app_store_sandbox");
	CHECK_STR(apple.n->notification_id, "5e09dcfc-205e-4ea1-9883-96676f394992");
	CHECK_INT(apple.n->kind, KIND_TEST);
	CHECK_INT(apple.n->occurred_at, 1662122492884);
	/* Six minutes before it was signed. */
	CHECK_INT(read_at(apples, body, 1662122492884 - 360000), VERDICT_FORGED);
	expect_refused(read_at(apple.store, body, NOW_MS), "bad_chain");
	app_store_free(apples);
	free(body);
}

static void genuine_renewal_info(void)
{
	char *text = file_read(VECTORS "/signed_genuine/17-renewal.jws", NULL);
	const char *why = NULL;
	struct jws *jws = jws_read(text, strlen(text), &why);
	struct trust *trust = NULL;
	struct err err = ERR_INIT;
	struct chain *chain;
	int64_t signed_at = 0;
	json_t *json;

	if (!jws)
		die("%s", why);
	CHECK_INT(trust_new(NULL, 0, &trust, &err), 0);
	json = json_read(jws->payload, jws->payload_len, &why);
	CHECK(json_get_int(json, "signedDate", &signed_at));
	chain = chain_verify(trust, jws->x5c[0].der, jws->x5c[0].len, jws->x5c[1].der,
	    jws->x5c[1].len, signed_at / 1000, &why);
	if (!chain)
		die("%s", why);
	CHECK(jws_verify_es256(jws, chain->key));
	chain_unref(chain);
	CHECK(!chain_verify(trust, jws->x5c[0].der, jws->x5c[0].len, jws->x5c[1].der,
	    jws->x5c[1].len, NOW_MS / 1000, &why));
	json_decref(json);
	trust_free(trust);
	jws_free(jws);
	free(text);
}

/* A model as the library brings it, but for an environment that is signed. */
static json_t *model(const char *name)
{
	char *path = text_format(VECTORS "/official/models/%s.json", name);
	char *text = file_read(path, NULL);
	json_t *json = json_loads(text, 0, NULL);
	static const char *const holders[] = {"data", "summary", "appData"};

	CHECK(json != NULL);
	if (json_object_get(json, "environment"))
		json_object_set_new(json, "environment", json_string("Production"));
	for (size_t i = 0; i < sizeof(holders) / sizeof(holders[0]); i++)
		if (json_object_get(json, holders[i]))
			json_object_set_new(json_object_get(json, holders[i]), "environment",
			    json_string("Production"));
	free(text);
	free(path);
	return json;
}

/* Takes json over. */
static char *sign_json(json_t *json)
{
	char *text = json_dumps(json, 0), *jws = test_jws(apple.ca, text);

	free(text);
	json_decref(json);
	return jws;
}

static enum verdict read_model(const char *name, const char *transaction)
{
	json_t *outer = model(name), *data = json_object_get(outer, "data");

	if (transaction) {
		char *jws = sign_json(model(transaction));

		json_object_set_new(data, "signedTransactionInfo", json_string(jws));
		free(jws);
		jws = sign_json(model("signedRenewalInfo"));
		json_object_set_new(data, "signedRenewalInfo", json_string(jws));
		free(jws);
	}
	return read_jws(apple.store, sign_json(outer));
}

static void official_models(void)
{
	struct notification *n;

	CHECK_INT(read_model("signedNotification", "signedTransaction"), VERDICT_AUTHENTIC);
	n = apple.n;
	CHECK_STR(n->store, "app_store");
	CHECK_STR(n->notification_id, "002e14d5-51f5-4503-b5a8-c3a1af68eb20");
	CHECK_STR(n->native_type, "SUBSCRIBED/INITIAL_BUY");
	CHECK_INT(n->kind, KIND_STARTED);
	CHECK_INT(n->state, STATE_ACTIVE);
	CHECK_INT(n->occurred_at, 1698148900000);
	CHECK_STR(n->store_purchase_id, "12345");
	CHECK_STR(n->transaction_id, "23456");
	CHECK_STR(n->product_id, "com.example.product");
	CHECK_STR(n->account_ref, "7e3fb20b-4cdb-47cc-936d-99d65f608138");
	CHECK_INT(n->expires_at, 1698149000000);
	CHECK_INT(n->will_renew, RENEW_YES);
	CHECK(n->has_amount);
	CHECK_INT(n->amount_minor, 1099);
	CHECK_STR(n->currency, "USD");
	CHECK_INT(n->quantity, 1);
	CHECK(n->remark == NULL);

	CHECK_INT(
	    read_model("signedConsumptionRequestNotification", "signedTransactionWithRevocation"),
	    VERDICT_AUTHENTIC);
	CHECK_INT(apple.n->kind, KIND_NOTED);
	CHECK_INT(apple.n->state, STATE_SAME);
	CHECK_STR(apple.n->store_purchase_id, "12345");
	CHECK_INT(read_model("signedSummaryNotification", NULL), VERDICT_AUTHENTIC);
	CHECK_INT(apple.n->kind, KIND_NOTED);
	CHECK_INT(read_model("signedRescindConsentNotification", NULL), VERDICT_AUTHENTIC);
	CHECK_INT(
	    read_model("signedExternalPurchaseTokenSandboxNotification", NULL), VERDICT_AUTHENTIC);
	CHECK_STR(apple.n->store, "app_store_sandbox");
	/* Its app is 55555. */
	expect_refused(read_model("signedExternalPurchaseTokenNotification", NULL), "wrong_app");
}

static const struct check checks[] = {
    {"official notifications", official_notifications},
    {"official models", official_models},
    {"Xcode is refused", xcode_is_refused},
    {"the genuine TEST notification", genuine_test_notification},
    {"the genuine renewal info", genuine_renewal_info},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	apple_open();
	status = check_main("producer app store vectors", checks, argc, argv);
	apple_close();
	return status;
}
