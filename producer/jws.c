#include "producer/jws.h"

#include "common/memory.h"
#include "producer/json.h"

#include <jose/jws.h>
#include <jose/openssl.h>
#include <stdlib.h>
#include <string.h>

/* Three certificates in base64, and room for what else a header holds. */
#define MAX_HEADER (JWS_CERTIFICATES * (size_t)JWS_MAX_CERTIFICATE / 3 * 4 + 1024)

bool jws_split(const char *text, size_t len, struct jws_parts *ret_parts)
{
	const char *end = text + len;
	const char *first = memchr(text, '.', len);
	const char *second = first ? memchr(first + 1, '.', (size_t)(end - first - 1)) : NULL;

	if (!second || memchr(second + 1, '.', (size_t)(end - second - 1)))
		return false;
	if (first == text || second == first + 1)
		return false;
	*ret_parts = (struct jws_parts){
	    .header = text,
	    .header_len = (size_t)(first - text),
	    .payload = first + 1,
	    .payload_len = (size_t)(second - first - 1),
	    .signature = second + 1,
	    .signature_len = (size_t)(end - second - 1),
	};
	return true;
}

static bool read_x5c(struct jws *jws, const json_t *x5c)
{
	if (!json_is_array(x5c) || json_array_size(x5c) != JWS_CERTIFICATES)
		return false;
	for (size_t i = 0; i < JWS_CERTIFICATES; i++) {
		struct jws_certificate *cert = &jws->x5c[i];
		const json_t *item = json_array_get(x5c, i);

		if (!json_is_string(item))
			return false;
		cert->der = base64_decode(
		    json_string_value(item), json_string_length(item), BASE64_STANDARD, &cert->len);
		if (!cert->der || cert->len == 0 || cert->len > JWS_MAX_CERTIFICATE)
			return false;
	}
	return true;
}

/* NULL if the header is as jws_read() wants it, else why it is not. */
static const char *read_header(struct jws *jws)
{
	const char *why = NULL, *alg, *fault;
	unsigned char *text = NULL;
	json_t *header = NULL;
	size_t len = 0;

	if (jws->parts.header_len > MAX_HEADER)
		return "The JWS's header is too long.";
	text = base64_decode(jws->parts.header, jws->parts.header_len, BASE64_URL, &len);
	if (!text)
		return "The JWS's header is not base64url.";
	header = json_read(text, len, &fault);
	alg = json_get_string(header, "alg");
	if (!header)
		why = "The JWS's header is not a JSON object.";
	else if (!alg || strcmp(alg, "ES256") != 0)
		why = "The JWS's alg is not ES256.";
	else if (json_object_get(header, "crit"))
		why = "The JWS's header has critical extensions.";
	else if (!read_x5c(jws, json_object_get(header, "x5c")))
		why = "The JWS's x5c is not three certificates.";
	json_decref(header);
	free(text);
	return why;
}

/* The signature is decoded only to be measured: libjose takes the text. */
static bool signature_fits(const struct jws_parts *parts)
{
	size_t len = 0;
	unsigned char *signature =
	    base64_decode(parts->signature, parts->signature_len, BASE64_URL, &len);
	bool fits = signature && len == JWS_ES256_SIGNATURE;

	free(signature);
	return fits;
}

struct jws *jws_read(const char *text, size_t len, const char **ret_why)
{
	struct jws *jws = mem_zalloc(1, sizeof(*jws));
	const char *why;

	if (!jws_split(text, len, &jws->parts)) {
		why = "The JWS has not three parts.";
		goto refused;
	}
	if (!signature_fits(&jws->parts)) {
		why = "The JWS's signature is not 64 bytes.";
		goto refused;
	}
	why = read_header(jws);
	if (why)
		goto refused;
	jws->payload = base64_decode(
	    jws->parts.payload, jws->parts.payload_len, BASE64_URL, &jws->payload_len);
	if (!jws->payload) {
		why = "The JWS's payload is not base64url.";
		goto refused;
	}
	return jws;
refused:
	*ret_why = why;
	jws_free(jws);
	return NULL;
}

void jws_free(struct jws *jws)
{
	if (!jws)
		return;
	for (size_t i = 0; i < JWS_CERTIFICATES; i++)
		free(jws->x5c[i].der);
	free(jws->payload);
	free(jws);
}

bool jws_verify(const struct jws *jws, EVP_PKEY *key)
{
	const struct jws_parts *parts = &jws->parts;
	json_t *jwk = jose_openssl_jwk_from_EVP_PKEY(NULL, key);
	json_t *flattened = json_pack("{s:s%,s:s%,s:s%}", "protected", parts->header,
	    parts->header_len, "payload", parts->payload, parts->payload_len, "signature",
	    parts->signature, parts->signature_len);
	/* A single key: libjose would try each key of a set, whatever kid says. */
	bool valid = jwk && flattened && jose_jws_ver(NULL, flattened, NULL, jwk, false);

	json_decref(flattened);
	json_decref(jwk);
	return valid;
}
