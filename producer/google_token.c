#include "producer/google_token.h"

#include "producer/base64.h"
#include "producer/json.h"
#include "producer/jws.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The token of "Bearer <token>" (RFC 6750), or NULL. */
static const char *bearer(const char *authorization)
{
	static const char scheme[] = "Bearer ";

	if (strncasecmp(authorization, scheme, sizeof(scheme) - 1) != 0)
		return NULL;
	authorization += sizeof(scheme) - 1;
	return authorization + strspn(authorization, " ");
}

/* The JSON object that a part of a JWS encodes, or NULL. */
static json_t *decode_part(const char *part, size_t len)
{
	size_t n;
	const char *why;
	unsigned char *bytes = base64_decode(part, len, BASE64_URL, &n);
	json_t *object = bytes ? json_read(bytes, n, &why) : NULL;

	free(bytes);
	return object;
}

static bool is_text(const json_t *object, const char *name, const char *expected)
{
	const char *text = json_get_string(object, name);

	return text && strcmp(text, expected) == 0;
}

/* The token never chooses its algorithm, nor extensions that change what is signed. */
static bool is_rs256(const json_t *header)
{
	return is_text(header, "alg", "RS256") && !json_object_get(header, "crit");
}

/* NULL, or what does not hold. */
static const char *check_claims(
    const json_t *claims, const struct google_token_rules *rules, int64_t now_s)
{
	int64_t issued, expires;

	if (!is_text(claims, "iss", "https://accounts.google.com") &&
	    !is_text(claims, "iss", "accounts.google.com"))
		return "The token was not issued by Google.";
	if (!is_text(claims, "aud", rules->audience))
		return "The token is for another audience. Check --google-audience against the "
		       "push subscription.";
	if (!is_text(claims, "email", rules->push_account) ||
	    !json_get_true(claims, "email_verified"))
		return "The token is of another account. Check --google-push-account against the "
		       "push subscription.";
	if (!json_get_int(claims, "exp", &expires) || expires < now_s - GOOGLE_TOKEN_LEEWAY_S)
		return "The token has expired. Check this machine's clock.";
	if (!json_get_int(claims, "iat", &issued) || issued > now_s + GOOGLE_TOKEN_LEEWAY_S)
		return "The token was issued in the future. Check this machine's clock.";
	return NULL;
}

static enum verdict find_key(
    struct jwks *keys, const char *kid, EVP_PKEY **ret_key, struct refusal *ret_refusal)
{
	switch (jwks_find(keys, kid, ret_key)) {
	case JWKS_FOUND:
		return VERDICT_AUTHENTIC;
	case JWKS_UNKNOWN:
		return store_refuse(
		    VERDICT_FORGED, "unknown_key", "No key of Google's has this kid.", ret_refusal);
	case JWKS_FETCHING:
		return store_refuse(VERDICT_LATER, "key_pending",
		    "The keys of Google are being fetched. Try again.", ret_refusal);
	case JWKS_UNAVAILABLE:
		break;
	}
	return store_refuse(VERDICT_UNAVAILABLE, "keys_unavailable",
	    "The keys of Google cannot be fetched now. Try again later.", ret_refusal);
}

static enum verdict check_token(const struct jws_parts *parts, EVP_PKEY *key,
    const struct google_token_rules *rules, int64_t now_s, struct refusal *ret_refusal)
{
	enum verdict verdict = VERDICT_AUTHENTIC;
	const char *fault;
	json_t *claims;

	if (!jws_verify_rs256(parts, key))
		return store_refuse(VERDICT_FORGED, "bad_signature",
		    "The token is not signed by the key that it names.", ret_refusal);
	claims = decode_part(parts->payload, parts->payload_len);
	fault = claims ? check_claims(claims, rules, now_s) : "The token's claims are no JSON.";
	if (fault)
		verdict = store_refuse(VERDICT_FORGED, "bad_claims", fault, ret_refusal);
	json_decref(claims);
	return verdict;
}

enum verdict google_token_check(const char *authorization, const struct google_token_rules *rules,
    struct jwks *keys, int64_t now_ms, struct refusal *ret_refusal)
{
	const char *token = authorization ? bearer(authorization) : NULL;
	json_t *header = NULL;
	EVP_PKEY *key = NULL;
	struct jws_parts parts;
	enum verdict verdict;
	const char *kid;

	if (!token)
		return store_refuse(VERDICT_FORGED, "missing_token",
		    "The request has no bearer token. Enable authentication on the push "
		    "subscription.",
		    ret_refusal);
	if (jws_split(token, strlen(token), &parts))
		header = decode_part(parts.header, parts.header_len);
	kid = json_get_string(header, "kid");
	if (!is_rs256(header) || !kid) {
		verdict = store_refuse(VERDICT_FORGED, "bad_token",
		    "The bearer token is no JWT of Google's: RS256, with a kid.", ret_refusal);
		goto done;
	}
	verdict = find_key(keys, kid, &key, ret_refusal);
	if (verdict == VERDICT_AUTHENTIC)
		verdict = check_token(&parts, key, rules, now_ms / 1000, ret_refusal);
done:
	EVP_PKEY_free(key);
	json_decref(header);
	return verdict;
}
