#include "tests/support/die.h"
#include "tests/support/signer_private.h"
#include "tests/support/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static int64_t wall_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void set_text(json_t *o, const char *name, const char *value)
{
	if (value != NULL && json_object_set_new(o, name, json_string(value)) < 0)
		die("%s is not UTF-8", name);
}

static void set_time(json_t *o, const char *name, int64_t ms)
{
	if (ms != 0)
		json_object_set_new(o, name, json_integer(ms));
}

/* A compact JWS over the object, which is consumed. */
static char *sign_object(struct signer *s, json_t *o)
{
	char *text = json_dumps(o, JSON_COMPACT), *jws;

	if (text == NULL)
		die("cannot write a payload");
	jws = sign_apple(s, text);
	free(text);
	json_decref(o);
	return jws;
}

static const char *environment(const struct apple_spec *spec)
{
	return spec->environment ? spec->environment : "Production";
}

static char *transaction(struct signer *s, const struct apple_spec *spec, int64_t signed_date)
{
	json_t *o = json_object();

	set_text(o, "bundleId", SIGNER_BUNDLE_ID);
	set_text(o, "environment", environment(spec));
	set_text(o, "originalTransactionId", spec->original_transaction_id);
	set_text(o, "transactionId", spec->transaction_id);
	set_text(o, "productId", spec->product_id);
	set_text(o, "appAccountToken", spec->account_token);
	set_text(o, "currency", spec->currency);
	set_text(o, "type", "Auto-Renewable Subscription");
	set_time(o, "purchaseDate", spec->purchase_date);
	set_time(o, "expiresDate", spec->expires_date);
	set_time(o, "signedDate", signed_date);
	if (spec->price_milliunits >= 0)
		json_object_set_new(o, "price", json_integer(spec->price_milliunits));
	json_object_set_new(o, "quantity", json_integer(1));
	return sign_object(s, o);
}

static char *renewal(struct signer *s, const struct apple_spec *spec, int64_t signed_date)
{
	json_t *o = json_object();

	set_text(o, "bundleId", SIGNER_BUNDLE_ID);
	set_text(o, "environment", environment(spec));
	set_text(o, "originalTransactionId", spec->original_transaction_id);
	set_text(o, "productId", spec->product_id);
	set_text(o, "autoRenewProductId", spec->product_id);
	json_object_set_new(o, "autoRenewStatus", json_integer(spec->auto_renew));
	set_time(o, "signedDate", signed_date);
	return sign_object(s, o);
}

static json_t *data_object(struct signer *s, const struct apple_spec *spec, int64_t signed_date)
{
	json_t *data = json_object();
	char *jws;

	set_text(data, "bundleId", SIGNER_BUNDLE_ID);
	set_text(data, "bundleVersion", "1");
	set_text(data, "environment", environment(spec));
	/* The sandbox knows no app id. */
	if (strcmp(environment(spec), "Production") == 0)
		json_object_set_new(
		    data, "appAppleId", json_integer(strtoll(SIGNER_APP_ID, NULL, 10)));
	if (spec->transaction_id != NULL || spec->original_transaction_id != NULL) {
		jws = transaction(s, spec, signed_date);
		set_text(data, "signedTransactionInfo", jws);
		free(jws);
	}
	if (spec->auto_renew >= 0) {
		jws = renewal(s, spec, signed_date);
		set_text(data, "signedRenewalInfo", jws);
		free(jws);
	}
	return data;
}

char *apple_body(struct signer *s, const struct apple_spec *spec)
{
	int64_t signed_date = spec->signed_date ? spec->signed_date : wall_ms();
	json_t *o = json_object();
	char *jws, *body;

	set_text(o, "notificationType", spec->type);
	set_text(o, "subtype", spec->subtype);
	set_text(o, "notificationUUID", spec->uuid);
	set_text(o, "version", "2.0");
	set_time(o, "signedDate", signed_date);
	json_object_set_new(o, "data", data_object(s, spec, signed_date));
	jws = sign_object(s, o);
	body = text_format("{\"signedPayload\":\"%s\"}", jws);
	free(jws);
	return body;
}

int post_apple(const char *base_url, const char *body, char **ret_body)
{
	const char *const headers[] = {"Content-Type: application/json", NULL};

	return signer_post(base_url, "app-store", headers, body, ret_body);
}
