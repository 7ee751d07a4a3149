#include "producer/google_token.h"
#include "tests/producer/google_keys.h"
#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/pause.h"
#include "tests/support/stub_server.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NOW_S INT64_C(1767225600)
#define HEADER "{\"alg\":\"RS256\",\"kid\":\"k1\",\"typ\":\"JWT\"}"

static const struct google_token_rules rules = {
    .audience = "https://example.com/push",
    .push_account = "push@example.com",
};

static struct jwks *keys;

/* A set that holds the test key as k1. The file stays: an unknown kid is looked for in it again. */
static void open_keys(const char *path)
{
	char *set = test_jwks("k1", test_rsa_key(), ",\"alg\":\"RS256\",\"use\":\"sig\"");
	struct jwks_config config = {.file = path, .cooldown_ms = 3600000};
	struct err err = ERR_INIT;

	file_write(path, set);
	if (jwks_open(&config, NULL, &keys, &err) < 0)
		die("%s", err.message);
	free(set);
}

/* Frees token, which is put behind "Bearer ". */
static void expect(char *token, const char *reason)
{
	char *authorization = text_format("Bearer %s", token);
	struct refusal refusal = {0};

	CHECK_INT(google_token_check(authorization, &rules, keys, NOW_S * 1000, &refusal),
	    reason ? VERDICT_FORGED : VERDICT_AUTHENTIC);
	CHECK_STR(refusal.reason, reason);
	CHECK_INT(refusal.detail != NULL, reason != NULL);
	free(authorization);
	free(token);
}

/* Claims that hold, with one replaced or (value NULL) left out. */
static char *claims_but(const char *name, const char *value)
{
	static const char *const claims[][2] = {
	    {"iss", "\"https://accounts.google.com\""},
	    {"aud", "\"https://example.com/push\""},
	    {"email", "\"push@example.com\""},
	    {"email_verified", "true"},
	    {"iat", "1767225000"},
	    {"exp", "1767228600"},
	};
	char *text = strdup("{\"sub\":\"1\""), *closed;

	for (size_t i = 0; i < sizeof(claims) / sizeof(claims[0]); i++) {
		bool is_it = name && strcmp(claims[i][0], name) == 0;
		char *before = text;

		if (is_it && !value)
			continue;
		text =
		    text_format("%s,\"%s\":%s", before, claims[i][0], is_it ? value : claims[i][1]);
		free(before);
	}
	closed = text_format("%s}", text);
	free(text);
	return closed;
}

static void expect_claims(const char *name, const char *value, const char *reason)
{
	char *claims = claims_but(name, value);

	expect(test_rsa_token(test_rsa_key(), EVP_sha256(), HEADER, claims), reason);
	free(claims);
}

static void test_claims(void)
{
	expect_claims(NULL, NULL, NULL);
	expect_claims("iss", "\"accounts.google.com\"", NULL);
	expect_claims("iss", "\"https://accounts.google.com.example.com\"", "bad_claims");
	expect_claims("iss", NULL, "bad_claims");
	expect_claims("aud", "\"https://example.com/push/\"", "bad_claims");
	expect_claims("aud", "[\"https://example.com/push\"]", "bad_claims");
	expect_claims("aud", NULL, "bad_claims");
	expect_claims("email", "\"other@example.com\"", "bad_claims");
	expect_claims("email", "\"Push@example.com\"", "bad_claims");
	expect_claims("email", NULL, "bad_claims");
	expect_claims("email_verified", "false", "bad_claims");
	expect_claims("email_verified", "\"true\"", "bad_claims");
	expect_claims("email_verified", "1", "bad_claims");
	expect_claims("email_verified", NULL, "bad_claims");
}

static void test_times(void)
{
	expect_claims("exp", "1767225540", NULL); /* 60 s ago */
	expect_claims("exp", "1767225539", "bad_claims");
	expect_claims("exp", "\"1767228600\"", "bad_claims");
	expect_claims("exp", "1e300", "bad_claims");
	expect_claims("exp", NULL, "bad_claims");
	expect_claims("iat", "1767222000", NULL); /* an hour ago */
	expect_claims("iat", "1767225660", NULL);
	expect_claims("iat", "1767225661", "bad_claims");
	expect_claims("iat", "-9223372036854775808", NULL);
	expect_claims("iat", NULL, "bad_claims");
}

static void expect_header(const char *header, const char *reason)
{
	char *claims = claims_but(NULL, NULL);

	expect(test_rsa_token(test_rsa_key(), EVP_sha256(), header, claims), reason);
	free(claims);
}

static void test_headers(void)
{
	expect_header("{\"alg\":\"RS256\",\"kid\":\"k1\"}", NULL);
	expect_header("{\"alg\":\"RS256\",\"kid\":\"k1\",\"new\":{}}", NULL);
	expect_header("{\"alg\":\"RS256\"}", "bad_token");
	expect_header("{\"alg\":\"RS256\",\"kid\":1}", "bad_token");
	expect_header("{\"alg\":\"RS256\",\"kid\":\"k1\",\"crit\":[\"exp\"]}", "bad_token");
	expect_header("{\"alg\":\"RS256\",\"kid\":\"k1\",\"crit\":null}", "bad_token");
	expect_header("{\"alg\":\"none\",\"alg\":\"RS256\",\"kid\":\"k1\"}", "bad_token");
	expect_header("{\"kid\":\"k1\"}", "bad_token");
	expect_header("{\"alg\":\"rs256\",\"kid\":\"k1\"}", "bad_token");
	expect_header("{\"alg\":\"RS256\",\"kid\":\"k2\"}", "unknown_key");
	expect_header("[]", "bad_token");
	expect_header("nonsense", "bad_token");
}

/* B10: the token does not choose its algorithm. Each is signed well by the algorithm that it names.
 */
static void test_algorithms(void)
{
	EVP_PKEY *key = test_rsa_key();
	char *claims = claims_but(NULL, NULL);

	expect(test_rsa_token(key, EVP_sha384(), "{\"alg\":\"RS384\",\"kid\":\"k1\"}", claims),
	    "bad_token");
	expect(test_rsa_token(key, EVP_sha512(), "{\"alg\":\"RS512\",\"kid\":\"k1\"}", claims),
	    "bad_token");
	expect(test_rsa_token(key, EVP_sha512(), HEADER, claims), "bad_signature");
	expect(test_hmac_token(key, "{\"alg\":\"HS256\",\"kid\":\"k1\"}", claims), "bad_token");
	expect(test_hmac_token(key, HEADER, claims), "bad_signature");
	free(claims);
}

/* Cut the token's last part. */
static char *without_signature(const char *header, bool keep_dot)
{
	char *claims = claims_but(NULL, NULL);
	char *token = test_rsa_token(test_rsa_key(), EVP_sha256(), header, claims);

	strrchr(token, '.')[keep_dot] = '\0';
	free(claims);
	return token;
}

static void test_unsigned(void)
{
	expect(without_signature("{\"alg\":\"none\",\"kid\":\"k1\"}", true), "bad_token");
	expect(without_signature("{\"alg\":\"nOnE\",\"kid\":\"k1\"}", true), "bad_token");
	expect(without_signature(HEADER, true), "bad_signature");
	expect(without_signature(HEADER, false), "bad_token");
	expect(strdup(""), "bad_token");
	expect(strdup(".."), "bad_token");
	expect(strdup("a.b.c"), "bad_token");
	expect(strdup("a.b.c.d"), "bad_token");
}

static void test_changed(void)
{
	char *claims = claims_but(NULL, NULL);
	char *token = test_rsa_token(test_rsa_key(), EVP_sha256(), HEADER, claims);
	EVP_PKEY *other = EVP_PKEY_Q_keygen(NULL, NULL, "RSA", (size_t)2048);
	char *dot = strchr(token, '.');

	dot[5] = dot[5] == 'A' ? 'B' : 'A';
	expect(token, "bad_signature");
	expect(test_rsa_token(other, EVP_sha256(), HEADER, claims), "bad_signature");
	EVP_PKEY_free(other);
	free(claims);
}

static void expect_authorization(const char *authorization, const char *reason)
{
	struct refusal refusal = {0};

	CHECK_INT(google_token_check(authorization, &rules, keys, NOW_S * 1000, &refusal),
	    reason ? VERDICT_FORGED : VERDICT_AUTHENTIC);
	CHECK_STR(refusal.reason, reason);
}

static void test_scheme(void)
{
	char *claims = claims_but(NULL, NULL);
	char *token = test_rsa_token(test_rsa_key(), EVP_sha256(), HEADER, claims);
	char *lower = text_format("bearer  %s", token);
	char *basic = text_format("Basic %s", token);

	expect_authorization(lower, NULL);
	expect_authorization(basic, "missing_token");
	expect_authorization(token, "missing_token");
	expect_authorization(NULL, "missing_token");
	expect_authorization("", "missing_token");
	expect_authorization("Bearer", "missing_token");
	free(lower);
	free(basic);
	free(token);
	free(claims);
}

/* RFC 7515: A.2 is signed well by RS256, but names no key; A.3 is ES256; A.5 is not signed. */
static void test_rfc7515(void)
{
	static const char *const files[] = {"A.2", "A.3", "A.5"};

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		char *file = text_format("jose_rfc_vectors/rfc7515_%s.jwsc", files[i]);

		expect(google_vector(file), "bad_token");
		free(file);
	}
}

/* The token of Google's documentation and the key that signed it, with a pinned clock. */
static void test_documented_token(void)
{
	static const struct google_token_rules theirs = {.audience = "https://example.com",
	    .push_account = "gae-gcp@appspot.gserviceaccount.com"};
	struct jwks_config config = {
	    .file = GOOGLE_VECTORS "push_auth/google-jwks-2019-02.json", .cooldown_ms = 3600000};
	char *token = google_vector("push_auth/doc-sample-push.jwt");
	char *authorization = text_format("Bearer %s", token);
	struct refusal refusal = {0};
	struct err err = ERR_INIT;
	struct jwks *their_keys = NULL;

	CHECK_INT(jwks_open(&config, NULL, &their_keys, &err), 0);
	CHECK_INT(google_token_check(
		      authorization, &theirs, their_keys, INT64_C(1550182400000), &refusal),
	    VERDICT_AUTHENTIC);
	CHECK_INT(google_token_check(authorization, &theirs, their_keys,
		      INT64_C(1550185936000) + INT64_C(1000) * GOOGLE_TOKEN_LEEWAY_S, &refusal),
	    VERDICT_FORGED);
	CHECK_INT(
	    google_token_check(authorization, &rules, their_keys, INT64_C(1550182400000), &refusal),
	    VERDICT_FORGED);
	jwks_close(their_keys);
	free(authorization);
	free(token);
}

static enum verdict check_pending(struct jwks *pending, struct refusal *ret_refusal)
{
	char *claims = claims_but(NULL, NULL);
	char *token = test_rsa_token(test_rsa_key(), EVP_sha256(), HEADER, claims);
	char *authorization = text_format("Bearer %s", token);
	enum verdict verdict =
	    google_token_check(authorization, &rules, pending, NOW_S * 1000, ret_refusal);

	free(authorization);
	free(token);
	free(claims);
	return verdict;
}

/* Google's keys are on their way, then cannot be had: neither says anything against the token. */
static void test_pending(void)
{
	struct stub_server *server = stub_open();
	struct jwks_config config = {
	    .url = stub_url(server), .cooldown_ms = 3600000, .max_stale_ms = 1};
	struct fetcher *fetcher = NULL;
	struct refusal refusal = {0};
	struct err err = ERR_INIT;
	struct jwks *pending = NULL;
	enum verdict verdict;

	stub_answer(server, 0, "", "", 0);
	CHECK_INT(fetch_open(&fetcher, &err), 0);
	CHECK_INT(jwks_open(&config, fetcher, &pending, &err), 0);
	CHECK_INT(check_pending(pending, &refusal), VERDICT_LATER);
	CHECK_STR(refusal.reason, "key_pending");
	fetch_close(fetcher);
	jwks_close(pending);

	stub_answer(server, 500, "", "", 0);
	CHECK_INT(fetch_open(&fetcher, &err), 0);
	CHECK_INT(jwks_open(&config, fetcher, &pending, &err), 0);
	while ((verdict = check_pending(pending, &refusal)) == VERDICT_LATER)
		sleep_ms(2);
	CHECK_INT(verdict, VERDICT_UNAVAILABLE);
	CHECK_STR(refusal.reason, "keys_unavailable");
	fetch_close(fetcher);
	jwks_close(pending);
	stub_close(server);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"claims", test_claims},
	    {"times", test_times},
	    {"headers", test_headers},
	    {"B10 algorithms", test_algorithms},
	    {"B10 unsigned and misshapen", test_unsigned},
	    {"changed, or signed by another", test_changed},
	    {"the authorization scheme", test_scheme},
	    {"RFC 7515 A.2, A.3, A.5", test_rfc7515},
	    {"the documentation's token", test_documented_token},
	    {"a key that is not there yet", test_pending},
	    {NULL, NULL},
	};

	char *path = text_format("%s/umavez-token-%d.json", temp_root(), (int)getpid());
	int status;

	open_keys(path);
	status = check_main("producer google_token", checks, argc, argv);
	jwks_close(keys);
	unlink(path);
	free(path);
	return status;
}
