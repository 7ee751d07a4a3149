#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/signer_private.h"

#include <jansson.h>
#include <jose/b64.h>
#include <jose/jws.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void a_stripe_signature_is_the_hmac_of_time_and_body(void)
{
	/* printf '1533204620.{"id":1}' | openssl dgst -sha256 -hmac whsec_abc */
	char *header = sign_stripe("whsec_abc", 1533204620, "{\"id\":1}", 8);

	CHECK_STR(header,
	    "t=1533204620,v1=e92a0f46f9d13836047bcee1db2e27cf8d5b29b8895996e42ca34c7ac22459ed");
	free(header);
}

static void a_stripe_event_is_json(void)
{
	char *text = stripe_event("evt_1", "invoice.paid", 1, 1700000000, "{\"id\":\"in_1\"}");
	json_t *event = json_loads(text, 0, NULL);

	CHECK_STR(json_string_value(json_object_get(event, "id")), "evt_1");
	CHECK(json_is_true(json_object_get(event, "livemode")));
	CHECK_INT(json_integer_value(json_object_get(event, "created")), 1700000000);
	json_decref(event);
	free(text);
}

/* "h.p.s" as the object that jose takes. */
static json_t *split_jws(const char *compact)
{
	const char *payload = strchr(compact, '.') + 1, *signature = strchr(payload, '.') + 1;

	return json_pack("{s:s%, s:s%, s:s}", "protected", compact, (size_t)(payload - compact - 1),
	    "payload", payload, (size_t)(signature - payload - 1), "signature", signature);
}

static json_t *decode_part(const json_t *jws, const char *part)
{
	return jose_b64_dec_load(json_object_get(jws, part));
}

static void a_google_token_verifies_under_the_written_keys(void)
{
	char dir[] = "/tmp/umavez-signer-XXXXXX";
	struct signer *s = signer_new();
	char *token = google_token(s, 1700000000);
	json_t *jws = split_jws(token + strlen("Bearer ")), *jwks, *claims;

	CHECK(mkdtemp(dir) != NULL);
	signer_write(s, dir);
	jwks = json_load_file(signer_jwks_path(s), 0, NULL);
	tree_remove(dir);
	CHECK(jose_jws_ver(NULL, jws, NULL, jwks, false));
	claims = decode_part(jws, "payload");
	CHECK_STR(json_string_value(json_object_get(claims, "aud")), SIGNER_AUDIENCE);
	CHECK_INT(json_integer_value(json_object_get(claims, "exp")), 1700003600);
	json_object_set_new(jws, "payload", json_string("e30"));
	CHECK(!jose_jws_ver(NULL, jws, NULL, jwks, false));
	json_decref(claims);
	json_decref(jwks);
	json_decref(jws);
	free(token);
	signer_free(s);
}

static void a_google_body_wraps_the_notification(void)
{
	char *rtdn = google_subscription(4, "token\"1", "premium", 1700000000123);
	char *body = google_body("77", rtdn);
	json_t *o = json_loads(body, 0, NULL), *message = json_object_get(o, "message"), *inner;

	CHECK_STR(json_string_value(json_object_get(message, "messageId")), "77");
	/* Standard base64: jose decodes the url alphabet only, without padding. */
	CHECK(strncmp(json_string_value(json_object_get(message, "data")), "eyJ", 3) == 0);
	inner = json_loads(rtdn, 0, NULL);
	CHECK_STR(json_string_value(json_object_get(inner, "eventTimeMillis")), "1700000000123");
	json_decref(inner);
	json_decref(o);
	free(rtdn);
	free(body);
}

static void an_apple_body_holds_three_signed_parts(void)
{
	struct apple_spec spec = {.uuid = "u-1",
	    .type = "DID_RENEW",
	    .transaction_id = "2",
	    .original_transaction_id = "1",
	    .product_id = "monthly",
	    .signed_date = 1700000000000,
	    .price_milliunits = 1990,
	    .currency = "EUR",
	    .auto_renew = 1};
	struct signer *s = signer_new();
	char *body = apple_body(s, &spec);
	json_t *outer = json_loads(body, 0, NULL), *payload, *data, *transaction, *jws;

	jws = split_jws(json_string_value(json_object_get(outer, "signedPayload")));
	payload = decode_part(jws, "payload");
	CHECK_STR(json_string_value(json_object_get(payload, "notificationUUID")), "u-1");
	CHECK(json_object_get(payload, "subtype") == NULL);
	json_decref(jws);
	data = json_object_get(payload, "data");
	CHECK_INT(json_integer_value(json_object_get(data, "appAppleId")), 41234);
	CHECK(json_is_string(json_object_get(data, "signedRenewalInfo")));
	jws = split_jws(json_string_value(json_object_get(data, "signedTransactionInfo")));
	transaction = decode_part(jws, "payload");
	CHECK_STR(json_string_value(json_object_get(transaction, "transactionId")), "2");
	CHECK_INT(json_integer_value(json_object_get(transaction, "price")), 1990);
	CHECK(json_object_get(transaction, "expiresDate") == NULL);
	json_decref(transaction);
	json_decref(jws);
	json_decref(payload);
	json_decref(outer);
	free(body);
	signer_free(s);
}

static const struct check checks[] = {
    {"a stripe signature is the hmac of time and body",
	a_stripe_signature_is_the_hmac_of_time_and_body},
    {"a stripe event is json", a_stripe_event_is_json},
    {"a google token verifies under the written keys",
	a_google_token_verifies_under_the_written_keys},
    {"a google body wraps the notification", a_google_body_wraps_the_notification},
    {"an apple body holds three signed parts", an_apple_body_holds_three_signed_parts},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("signer", checks, argc, argv);
}
