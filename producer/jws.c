#include "producer/jws.h"

#include "common/memory.h"
#include "producer/json.h"

#include <openssl/ecdsa.h>
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

static bool read_signature(struct jws *jws)
{
	const struct jws_parts *parts = &jws->parts;
	size_t len = 0;
	unsigned char *signature =
	    base64_decode(parts->signature, parts->signature_len, BASE64_URL, &len);
	bool fits = signature && len == sizeof(jws->signature);

	if (fits)
		memcpy(jws->signature, signature, len);
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
	if (!read_signature(jws)) {
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

/* SHA-256, and the scheme that is the default of the key's kind. */
static bool verify_sha256(
    const struct jws_parts *parts, EVP_PKEY *key, const unsigned char *signature, size_t len)
{
	const unsigned char *text = (const unsigned char *)parts->header;
	size_t text_len = (size_t)(parts->payload + parts->payload_len - parts->header);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool valid = ctx && EVP_DigestVerifyInit(ctx, NULL, EVP_sha256(), NULL, key) == 1 &&
		     EVP_DigestVerify(ctx, signature, len, text, text_len) == 1;

	EVP_MD_CTX_free(ctx);
	return valid;
}

/* r and s as OpenSSL takes them: a DER sequence of two integers. */
static int encode_signature(const unsigned char *raw, unsigned char **ret_der)
{
	const int half = JWS_ES256_SIGNATURE / 2;
	ECDSA_SIG *pair = ECDSA_SIG_new();
	BIGNUM *r = BN_bin2bn(raw, half, NULL), *s = BN_bin2bn(raw + half, half, NULL);
	int len;

	if (!pair || !r || !s || !ECDSA_SIG_set0(pair, r, s))
		abort(); /* out of memory */
	len = i2d_ECDSA_SIG(pair, ret_der);
	ECDSA_SIG_free(pair);
	return len;
}

bool jws_verify_es256(const struct jws *jws, EVP_PKEY *key)
{
	unsigned char *der = NULL;
	int len = encode_signature(jws->signature, &der);
	bool valid = len > 0 && EVP_PKEY_is_a(key, "EC") &&
		     verify_sha256(&jws->parts, key, der, (size_t)len);

	OPENSSL_free(der);
	return valid;
}

bool jws_verify_rs256(const struct jws_parts *parts, EVP_PKEY *key)
{
	size_t len = 0;
	unsigned char *signature =
	    base64_decode(parts->signature, parts->signature_len, BASE64_URL, &len);
	bool valid =
	    signature && EVP_PKEY_is_a(key, "RSA") && verify_sha256(parts, key, signature, len);

	free(signature);
	return valid;
}
