#include "producer/stripe_signature.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define SHA256_SIZE 32

/* t has at most 12 digits: up to the year 33658, and milliseconds of it still fit 64 bits. */
#define MAX_T_DIGITS 12

struct text {
	const char *p;
	size_t len;
};

/* Cut the next comma-separated item off *rest and split it at its first "="; without one it is of
 * no scheme. False at the end. */
static bool next_item(const char **rest, struct text *ret_scheme, struct text *ret_value)
{
	const char *item = *rest;
	const char *equals;
	size_t len;

	if (!item)
		return false;
	len = strcspn(item, ",");
	*rest = item[len] ? item + len + 1 : NULL;
	equals = memchr(item, '=', len);
	ret_scheme->p = item;
	ret_scheme->len = equals ? (size_t)(equals - item) : 0;
	ret_value->p = equals ? equals + 1 : item + len;
	ret_value->len = (size_t)(item + len - ret_value->p);
	return true;
}

static bool is_scheme(const struct text *scheme, const char *name)
{
	return scheme->len == strlen(name) && memcmp(scheme->p, name, scheme->len) == 0;
}

/* Find the only t, and that there is a v1. */
static bool read_header(const char *header, struct text *ret_t)
{
	struct text scheme, value;
	bool has_t = false, has_v1 = false;

	while (next_item(&header, &scheme, &value)) {
		if (is_scheme(&scheme, "v1")) {
			has_v1 = true;
		} else if (is_scheme(&scheme, "t")) {
			if (has_t)
				return false;
			has_t = true;
			*ret_t = value;
		}
	}
	return has_t && has_v1;
}

static bool parse_seconds(const struct text *t, int64_t *ret_seconds)
{
	int64_t seconds = 0;

	if (t->len == 0 || t->len > MAX_T_DIGITS)
		return false;
	for (size_t i = 0; i < t->len; i++) {
		if (t->p[i] < '0' || t->p[i] > '9')
			return false;
		seconds = seconds * 10 + (t->p[i] - '0');
	}
	*ret_seconds = seconds;
	return true;
}

static void sign(const char *secret, const struct text *t, const void *body, size_t len,
    unsigned char ret_mac[SHA256_SIZE])
{
	char digest[] = "SHA256";
	OSSL_PARAM params[] = {
	    OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, digest, 0),
	    OSSL_PARAM_construct_end(),
	};
	EVP_MAC *hmac = EVP_MAC_fetch(NULL, "HMAC", NULL);
	EVP_MAC_CTX *ctx = EVP_MAC_CTX_new(hmac);
	size_t size = 0;

	if (!ctx || !EVP_MAC_init(ctx, (const unsigned char *)secret, strlen(secret), params) ||
	    !EVP_MAC_update(ctx, (const unsigned char *)t->p, t->len) ||
	    !EVP_MAC_update(ctx, (const unsigned char *)".", 1) ||
	    !EVP_MAC_update(ctx, body, len) || !EVP_MAC_final(ctx, ret_mac, &size, SHA256_SIZE))
		abort();
	EVP_MAC_CTX_free(ctx);
	EVP_MAC_free(hmac);
}

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

static bool parse_mac(const struct text *value, unsigned char ret_mac[SHA256_SIZE])
{
	if (value->len != (size_t)2 * SHA256_SIZE)
		return false;
	for (size_t i = 0; i < SHA256_SIZE; i++) {
		int high = hex_digit(value->p[2 * i]);
		int low = hex_digit(value->p[2 * i + 1]);

		if (high < 0 || low < 0)
			return false;
		ret_mac[i] = (unsigned char)(high << 4 | low);
	}
	return true;
}

/* Is any v1 this one? An unparsable v1 is skipped. */
static bool has_mac(const char *header, const unsigned char mac[SHA256_SIZE])
{
	struct text scheme, value;
	unsigned char claimed[SHA256_SIZE];
	bool found = false;

	while (next_item(&header, &scheme, &value))
		if (is_scheme(&scheme, "v1") && parse_mac(&value, claimed))
			found |= CRYPTO_memcmp(claimed, mac, SHA256_SIZE) == 0;
	return found;
}

static bool signed_by(const struct option_list *secrets, const char *header, const struct text *t,
    const void *body, size_t len)
{
	unsigned char mac[SHA256_SIZE];

	for (size_t i = 0; i < secrets->n; i++) {
		sign(secrets->values[i], t, body, len, mac);
		if (has_mac(header, mac))
			return true;
	}
	return false;
}

enum stripe_signature stripe_signature_check(const char *header, const void *body, size_t len,
    const struct stripe_secrets *secrets, int64_t now_ms, int64_t tolerance_ms)
{
	struct text t;
	int64_t seconds;
	bool live, test;

	if (!read_header(header, &t) || !parse_seconds(&t, &seconds))
		return STRIPE_HEADER_MALFORMED;
	live = signed_by(&secrets->live, header, &t, body, len);
	test = signed_by(&secrets->test, header, &t, body, len);
	if (!live && !test)
		return STRIPE_NOT_SIGNED;
	/* Both clocks in whole seconds, as Stripe's own libraries compare them. */
	if (llabs(now_ms / 1000 - seconds) * 1000 > tolerance_ms)
		return STRIPE_STALE;
	if (live && test)
		return STRIPE_SIGNED_EITHER;
	return live ? STRIPE_SIGNED_LIVE : STRIPE_SIGNED_TEST;
}
