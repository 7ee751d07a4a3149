#include "common/hex.h"
#include "tests/support/die.h"
#include "tests/support/signer_private.h"
#include "tests/support/text.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* https://docs.stripe.com/webhooks#verify-manually: the key is the whole secret, prefix included.
 */
char *sign_stripe(const char *secret, int64_t t, const void *body, size_t len)
{
	char *prefix = text_format("%lld.", (long long)t), *signed_text, *header;
	char hex[2 * EVP_MAX_MD_SIZE + 1] = "";
	size_t prefix_len = strlen(prefix);
	unsigned char mac[EVP_MAX_MD_SIZE];
	unsigned mac_len = 0;

	signed_text = malloc(prefix_len + len);
	if (signed_text == NULL)
		die("out of memory");
	memcpy(signed_text, prefix, prefix_len);
	memcpy(signed_text + prefix_len, body, len);
	if (HMAC(EVP_sha256(), secret, (int)strlen(secret), (unsigned char *)signed_text,
		prefix_len + len, mac, &mac_len) == NULL)
		die("cannot compute an HMAC");
	hex_format(mac, mac_len, hex);
	header = text_format("t=%lld,v1=%s", (long long)t, hex);
	free(prefix);
	free(signed_text);
	return header;
}

char *stripe_event(
    const char *id, const char *type, int livemode, int64_t created_s, const char *data_object)
{
	return text_format(
	    "{\"id\":\"%s\",\"object\":\"event\",\"api_version\":\"2025-03-31.basil\","
	    "\"created\":%lld,\"livemode\":%s,\"pending_webhooks\":1,"
	    "\"request\":{\"id\":null,\"idempotency_key\":null},\"type\":\"%s\","
	    "\"data\":{\"object\":%s}}",
	    id, (long long)created_s, livemode ? "true" : "false", type, data_object);
}

int post_stripe(const char *base_url, const char *event_json, char **ret_body)
{
	bool test = strstr(event_json, "\"livemode\":false") != NULL;
	char *signature = sign_stripe(test ? SIGNER_STRIPE_TEST_SECRET : SIGNER_STRIPE_SECRET,
	    time(NULL), event_json, strlen(event_json));
	char *header = text_format("Stripe-Signature: %s", signature);
	const char *const headers[] = {"Content-Type: application/json", header, NULL};
	int status = signer_post(base_url, "stripe", headers, event_json, ret_body);

	free(signature);
	free(header);
	return status;
}
