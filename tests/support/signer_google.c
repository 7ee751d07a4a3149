#include "tests/support/die.h"
#include "tests/support/signer_private.h"
#include "tests/support/test_jws.h"
#include "tests/support/text.h"

#include <jansson.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/rsa.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define KEY_ID "umavez-test-key"

EVP_PKEY *google_key_new(void)
{
	EVP_PKEY *key = EVP_RSA_gen(2048);

	if (key == NULL)
		die("cannot make an RSA key");
	return key;
}

static char *key_number(EVP_PKEY *key, const char *name)
{
	unsigned char bytes[512];
	BIGNUM *n = NULL;
	int len;

	if (EVP_PKEY_get_bn_param(key, name, &n) != 1)
		die("cannot read an RSA key");
	len = BN_bn2bin(n, bytes);
	BN_free(n);
	return test_base64url(bytes, (size_t)len);
}

char *google_jwks(EVP_PKEY *key)
{
	char *n = key_number(key, OSSL_PKEY_PARAM_RSA_N);
	char *e = key_number(key, OSSL_PKEY_PARAM_RSA_E);
	char *jwks = text_format("{\"keys\":[{\"kty\":\"RSA\",\"use\":\"sig\",\"alg\":\"RS256\","
				 "\"kid\":\"" KEY_ID "\",\"n\":\"%s\",\"e\":\"%s\"}]}\n",
	    n, e);

	free(n);
	free(e);
	return jwks;
}

/* RSASSA-PKCS1-v1_5 with SHA-256, as RS256 is defined in RFC 7518, 3.3. */
static char *sign(EVP_PKEY *key, const char *text)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char signature[512];
	size_t len = sizeof(signature);

	if (ctx == NULL || EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key) != 1 ||
	    EVP_DigestSign(ctx, signature, &len, (const unsigned char *)text, strlen(text)) != 1)
		die("cannot sign a token");
	EVP_MD_CTX_free(ctx);
	return test_base64url(signature, len);
}

char *google_jwt(struct signer *s, const char *header, const char *claims)
{
	char *h = test_base64url(header, strlen(header));
	char *c = test_base64url(claims, strlen(claims));
	char *input = text_format("%s.%s", h, c);
	char *signature = sign(signer_google_key(s), input);
	char *jwt = text_format("%s.%s", input, signature);

	free(h);
	free(c);
	free(input);
	free(signature);
	return jwt;
}

char *google_token(struct signer *s, int64_t now_s)
{
	char *claims = text_format("{\"iss\":\"https://accounts.google.com\",\"aud\":\"%s\","
				   "\"email\":\"%s\",\"email_verified\":true,\"azp\":\"1\","
				   "\"sub\":\"1\",\"iat\":%lld,\"exp\":%lld}",
	    SIGNER_AUDIENCE, SIGNER_PUSH_ACCOUNT, (long long)now_s, (long long)now_s + 3600);
	char *jwt =
	    google_jwt(s, "{\"alg\":\"RS256\",\"kid\":\"" KEY_ID "\",\"typ\":\"JWT\"}", claims);
	char *token = text_format("Bearer %s", jwt);

	free(claims);
	free(jwt);
	return token;
}

char *google_body(const char *message_id, const char *rtdn_json)
{
	char *data = test_base64(rtdn_json, strlen(rtdn_json));
	char *body = text_format("{\"message\":{\"data\":\"%s\",\"messageId\":\"%s\","
				 "\"message_id\":\"%s\","
				 "\"publishTime\":\"2026-01-01T00:00:00.000Z\","
				 "\"publish_time\":\"2026-01-01T00:00:00.000Z\"},"
				 "\"subscription\":\"projects/example/subscriptions/umavez\"}",
	    data, message_id, message_id);

	free(data);
	return body;
}

char *google_subscription(int type, const char *token, const char *product, int64_t event_ms)
{
	json_t *o =
	    json_pack("{s:s, s:s, s:s, s:{s:s, s:i, s:s, s:s}}", "version", "1.0", "packageName",
		SIGNER_PACKAGE, "eventTimeMillis", "", "subscriptionNotification", "version", "1.0",
		"notificationType", type, "purchaseToken", token, "subscriptionId", product);
	char *at = text_format("%lld", (long long)event_ms), *text;

	json_object_set_new(o, "eventTimeMillis", json_string(at));
	text = json_dumps(o, JSON_COMPACT);
	if (text == NULL)
		die("a subscription notification with invalid text");
	json_decref(o);
	free(at);
	return text;
}

int post_google(struct signer *s, const char *base_url, const char *body, char **ret_body)
{
	char *token = google_token(s, time(NULL));
	char *header = text_format("Authorization: %s", token);
	const char *const headers[] = {"Content-Type: application/json", header, NULL};
	int status = signer_post(base_url, "google-play", headers, body, ret_body);

	free(token);
	free(header);
	return status;
}
