#include "common/clock.h"
#include "common/hex.h"
#include "producer/stripe_signature.h"
#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/text.h"

#include <jansson.h>
#include <openssl/hmac.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define VECTORS UMAVEZ_SOURCE_DIR "/tests/vectors/stripe/signature/"
#define NOW_S INT64_C(1767225600)
#define NOW "1767225600"
#define TOLERANCE_MS 300000

static char old_secret[] = "whsec_old", new_secret[] = "whsec_new", test_secret[] = "whsec_test";
static char *live_values[] = {old_secret, new_secret};
static char *test_values[] = {test_secret};
static const struct stripe_secrets secrets = {{2, live_values}, {1, test_values}};
static const char body[] = "{ \"id\":\"evt_1\",\r\n \"t\":\"caf\\u00e9 \\/ \xc3\xa9\"}\n";

static char *hmac_hex(const char *key, const char *text)
{
	unsigned char mac[32];
	unsigned size = 0;
	char *hex = malloc(65);

	HMAC(EVP_sha256(), key, (int)strlen(key), (const unsigned char *)text, strlen(text), mac,
	    &size);
	hex_format(mac, size, hex);
	return hex;
}

/* The v1 of `body` by this secret at this t. */
static char *v1(const char *secret, const char *t)
{
	char *text = text_format("%s.%s", t, body);
	char *hex = hmac_hex(secret, text);

	free(text);
	return hex;
}

static enum stripe_signature check_at(const char *header, int64_t now_ms)
{
	return stripe_signature_check(
	    header, body, sizeof(body) - 1, &secrets, now_ms, TOLERANCE_MS);
}

/* Frees header. */
static void expect(char *header, enum stripe_signature expected)
{
	CHECK_INT(check_at(header, NOW_S * 1000), expected);
	free(header);
}

/* B17: what is signed is the bytes as they came. */
static void test_exact_bytes(void)
{
	char *hex = v1("whsec_new", NOW);
	char *header = text_format("t=%s,v1=%s", NOW, hex);

	CHECK_INT(check_at(header, NOW_S * 1000), STRIPE_SIGNED_LIVE);
	CHECK_INT(stripe_signature_check(
		      header, body, sizeof(body) - 2, &secrets, NOW_S * 1000, TOLERANCE_MS),
	    STRIPE_NOT_SIGNED);
	free(header);
	free(hex);
}

static void test_secrets(void)
{
	char *old = v1("whsec_old", NOW), *test = v1("whsec_test", NOW);
	char *other = v1("whsec_other", NOW), *bare = v1("new", NOW);

	expect(text_format("t=%s,v1=%s", NOW, old), STRIPE_SIGNED_LIVE);
	expect(text_format("t=%s,v1=%s", NOW, test), STRIPE_SIGNED_TEST);
	expect(text_format("t=%s,v1=%s", NOW, other), STRIPE_NOT_SIGNED);
	expect(text_format("t=%s,v1=%s", NOW, bare), STRIPE_NOT_SIGNED);
	free(old);
	free(test);
	free(other);
	free(bare);
}

/* B18: any v1, no other scheme. */
static void test_schemes(void)
{
	char *good = v1("whsec_new", NOW), *bad = v1("whsec_other", NOW);

	expect(text_format("t=%s,v1=%s,v1=%s", NOW, bad, good), STRIPE_SIGNED_LIVE);
	expect(text_format("t=%s,v1=%s,v1=%s", NOW, good, bad), STRIPE_SIGNED_LIVE);
	expect(text_format("v1=%s,t=%s", good, NOW), STRIPE_SIGNED_LIVE);
	expect(text_format("t=%s,v1=bad_signature,v1=%s", NOW, good), STRIPE_SIGNED_LIVE);
	expect(text_format("t=%s,v2=x,v0=%s,v1=%s", NOW, bad, good), STRIPE_SIGNED_LIVE);
	expect(text_format("t=%s,v0=%s", NOW, good), STRIPE_HEADER_MALFORMED);
	expect(text_format("t=%s,V1=%s", NOW, good), STRIPE_HEADER_MALFORMED);
	expect(text_format("t=%s,v0=%s,v1=%s", NOW, good, bad), STRIPE_NOT_SIGNED);
	expect(text_format("t=%s,v1=%s0", NOW, good), STRIPE_NOT_SIGNED);
	expect(text_format("t=%s,v1=%.63s", NOW, good), STRIPE_NOT_SIGNED);
	expect(text_format("t=%s,v1=", NOW), STRIPE_NOT_SIGNED);
	expect(text_format("t=%s,t=%s,v1=%s", NOW, NOW, good), STRIPE_HEADER_MALFORMED);
	expect(text_format("v1=%s", good), STRIPE_HEADER_MALFORMED);
	expect(text_format("t,v1=%s", good), STRIPE_HEADER_MALFORMED);
	free(good);
	free(bad);
}

/* B18: the work grows with the header, not with header times secrets times body. */
static void test_many(void)
{
	char *good = v1("whsec_new", NOW), *bad = v1("whsec_other", NOW);
	char *header = malloc((size_t)500 * 70);
	int64_t begin = clock_mono_us();
	size_t len = (size_t)sprintf(header, "t=%s", NOW);

	for (int i = 0; i < 499; i++)
		len += (size_t)sprintf(header + len, ",v1=%s", bad);
	CHECK_INT(check_at(header, NOW_S * 1000), STRIPE_NOT_SIGNED);
	sprintf(header + len, ",v1=%s", good);
	CHECK_INT(check_at(header, NOW_S * 1000), STRIPE_SIGNED_LIVE);
	CHECK(clock_mono_us() - begin < 1000000);
	free(header);
	free(good);
	free(bad);
}

/* B19: on both sides of now. */
static void test_tolerance(void)
{
	char *hex = v1("whsec_new", NOW);
	char *header = text_format("t=%s,v1=%s", NOW, hex);

	CHECK_INT(check_at(header, (NOW_S + 300) * 1000 + 999), STRIPE_SIGNED_LIVE);
	CHECK_INT(check_at(header, (NOW_S - 300) * 1000), STRIPE_SIGNED_LIVE);
	CHECK_INT(check_at(header, (NOW_S + 301) * 1000), STRIPE_STALE);
	CHECK_INT(check_at(header, (NOW_S - 301) * 1000), STRIPE_STALE);
	free(header);
	free(hex);
}

/* B19: decimal digits, each correctly signed. */
static void test_strict_digits(void)
{
	static const char *const bad[] = {"1e9", "+" NOW, " " NOW, NOW " ", "99999999999999999999",
	    "-1", "", "0x1", NOW ".0", "NaN"};

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char *hex = v1("whsec_new", bad[i]);

		expect(text_format("t=%s,v1=%s", bad[i], hex), STRIPE_HEADER_MALFORMED);
		free(hex);
	}
}

static json_t *vectors(void)
{
	json_t *file = json_load_file(VECTORS "vectors.json", 0, NULL);

	if (!file)
		die("no vectors in %s", VECTORS);
	return file;
}

static const char *text_of(const json_t *object, const char *name)
{
	return json_string_value(json_object_get(object, name));
}

static enum stripe_signature expected_of(const char *word)
{
	if (strcmp(word, "valid") == 0)
		return STRIPE_SIGNED_LIVE;
	if (strcmp(word, "timestamp_out_of_tolerance") == 0)
		return STRIPE_STALE;
	if (strcmp(word, "no_v1_signature") == 0)
		return STRIPE_HEADER_MALFORMED;
	return STRIPE_NOT_SIGNED;
}

static void run_vector(const json_t *v)
{
	char *secret = strdup(text_of(v, "secret"));
	struct stripe_secrets one = {{1, &secret}, {0, NULL}};
	char *path = text_format("%s%s", VECTORS, text_of(v, "body_file"));
	char *file = file_read(path, NULL);
	const char *more = text_of(v, "append_to_body");
	char *text = text_format("%s%s", file, more ? more : "");
	int64_t now = json_integer_value(json_object_get(v, "now"));
	int64_t tolerance = json_integer_value(json_object_get(v, "tolerance"));

	CHECK_INT(stripe_signature_check(
		      text_of(v, "header"), text, strlen(text), &one, now * 1000, tolerance * 1000),
	    expected_of(text_of(v, "expect")));
	free(secret);
	free(path);
	free(file);
	free(text);
}

static void test_vectors(void)
{
	json_t *file = vectors(), *v;
	size_t i;

	CHECK_INT(json_array_size(json_object_get(file, "header_vectors")), 6);
	json_array_foreach (json_object_get(file, "header_vectors"), i, v)
		run_vector(v);
	CHECK_INT(json_array_size(json_object_get(file, "malformed_headers")), 12);
	json_array_foreach (json_object_get(file, "malformed_headers"), i, v)
		expect(strdup(json_string_value(v)), STRIPE_HEADER_MALFORMED);
	json_array_foreach (json_object_get(file, "raw_hmac_sha256_hex"), i, v) {
		char *hex = hmac_hex(text_of(v, "key"), text_of(v, "payload"));

		CHECK_STR(hex, text_of(v, "expect"));
		free(hex);
	}
	json_decref(file);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"B17 the exact bytes", test_exact_bytes},
	    {"B18 any active secret, whole, of either mode", test_secrets},
	    {"B18 any v1, no other scheme", test_schemes},
	    {"B18 500 v1", test_many},
	    {"B19 tolerance on both sides", test_tolerance},
	    {"B19 strict digits", test_strict_digits},
	    {"vectors of Stripe's libraries", test_vectors},
	    {NULL, NULL},
	};

	return check_main("producer stripe_signature", checks, argc, argv);
}
