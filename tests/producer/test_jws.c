#include "tests/support/test_jws.h"
#include "producer/base64.h"
#include "producer/jws.h"
#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>

#define VECTORS UMAVEZ_SOURCE_DIR "/tests/vectors"
/* More than a certificate may have, and whole groups of base64. */
#define HUGE_TEXT 8193

#define PAYLOAD "{\"bundleId\":\"com.example\"}"

static struct test_ca *ca;

static bool decodes(const char *text, enum base64_form form, const char *want)
{
	size_t len = 0;
	unsigned char *bytes = base64_decode(text, strlen(text), form, &len);
	bool same =
	    want ? bytes && len == strlen(want) && memcmp(bytes, want, len + 1) == 0 : !bytes;

	free(bytes);
	return same;
}

static void base64_is_strict(void)
{
	/* RFC 4648, section 10 */
	CHECK(decodes("", BASE64_STANDARD, ""));
	CHECK(decodes("Zg==", BASE64_STANDARD, "f"));
	CHECK(decodes("Zm8=", BASE64_STANDARD, "fo"));
	CHECK(decodes("Zm9v", BASE64_STANDARD, "foo"));
	CHECK(decodes("Zm9vYmFy", BASE64_URL, "foobar"));
	CHECK(decodes("Zm9vYg", BASE64_URL, "foob"));
	CHECK(decodes("-_-_", BASE64_URL, "\xfb\xff\xbf"));
	CHECK(decodes("+/+/", BASE64_STANDARD, "\xfb\xff\xbf"));

	CHECK(decodes("-_-_", BASE64_STANDARD, NULL));
	CHECK(decodes("+/+/", BASE64_URL, NULL));
	CHECK(decodes("Zg", BASE64_STANDARD, NULL));
	CHECK(decodes("Zg=", BASE64_STANDARD, NULL));
	CHECK(decodes("Zg==", BASE64_URL, NULL));
	CHECK(decodes("Z", BASE64_URL, NULL));
	CHECK(decodes("Z===", BASE64_STANDARD, NULL));
	CHECK(decodes("====", BASE64_STANDARD, NULL));
	CHECK(decodes("Zg==Zg==", BASE64_STANDARD, NULL));
	CHECK(decodes("Zm 9", BASE64_URL, NULL));
	CHECK(decodes("Zm9v\n", BASE64_URL, NULL));
	/* Bits that no byte uses. */
	CHECK(decodes("Zh", BASE64_URL, NULL));
	CHECK(decodes("Zm9=", BASE64_STANDARD, NULL));
}

static void parts_are_three(void)
{
	struct jws_parts parts;

	CHECK(jws_split("aa.bbb.cccc", 11, &parts));
	CHECK_INT(parts.header_len, 2);
	CHECK_INT(parts.payload_len, 3);
	CHECK_INT(parts.signature_len, 4);
	CHECK(strncmp(parts.signature, "cccc", 4) == 0);
	CHECK(jws_split("a.b.", 4, &parts));
	CHECK_INT(parts.signature_len, 0);
	CHECK(!jws_split("", 0, &parts));
	CHECK(!jws_split("a", 1, &parts));
	CHECK(!jws_split("a.b", 3, &parts));
	CHECK(!jws_split("a.b.c.d", 7, &parts));
	CHECK(!jws_split(".b.c", 4, &parts));
	CHECK(!jws_split("a..c", 4, &parts));
}

enum outcome { UNREADABLE, BAD_SIGNATURE, GOOD };

static enum outcome judge(const char *text)
{
	const char *why = NULL;
	struct jws *jws = jws_read(text, strlen(text), &why);
	enum outcome outcome = UNREADABLE;

	if (jws)
		outcome = jws_verify_es256(jws, test_ca_leaf_key(ca)) ? GOOD : BAD_SIGNATURE;
	else
		CHECK(why != NULL);
	jws_free(jws);
	return outcome;
}

/* Frees header. */
static enum outcome judge_as(char *header, enum test_signature kind)
{
	char *text = test_jws_as(ca, header, PAYLOAD, strlen(PAYLOAD), kind);
	enum outcome outcome = judge(text);

	free(header);
	free(text);
	return outcome;
}

static void b09_signature_is_64_raw_bytes(void)
{
	CHECK_INT(judge_as(test_jws_header(ca, "ES256", ""), SIGNATURE_RAW), GOOD);
	CHECK_INT(judge_as(test_jws_header(ca, "ES256", ""), SIGNATURE_SHORT_R), GOOD);
	CHECK_INT(
	    judge_as(test_jws_header(ca, "ES256", ""), SIGNATURE_SHORT_R_STRIPPED), UNREADABLE);
	CHECK_INT(judge_as(test_jws_header(ca, "ES256", ""), SIGNATURE_DER), UNREADABLE);
	CHECK_INT(judge_as(test_jws_header(ca, "ES256", ""), SIGNATURE_NONE), UNREADABLE);
	CHECK_INT(judge_as(test_jws_header(ca, "ES256", ""), SIGNATURE_ZERO), BAD_SIGNATURE);
}

static void b10_algorithm_is_pinned(void)
{
	static const char *const others[] = {
	    "HS256", "none", "nOnE", "ES384", "ES512", "RS256", "PS256", "es256", "ES256 ", ""};

	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CHECK_INT(judge_as(test_jws_header(ca, others[i], ""), SIGNATURE_RAW), UNREADABLE);
	CHECK_INT(judge_as(test_jws_header(ca, "HS256", ""), SIGNATURE_HMAC), UNREADABLE);
	CHECK_INT(judge_as(test_jws_header(ca, "none", ""), SIGNATURE_NONE), UNREADABLE);
	CHECK_INT(judge_as(test_jws_header(ca, "ES256", ",\"alg\":\"HS256\""), SIGNATURE_RAW),
	    UNREADABLE);
}

static void b10_critical_extensions_are_refused(void)
{
	CHECK_INT(judge_as(test_jws_header(ca, "ES256", ",\"crit\":[\"exp\"]"), SIGNATURE_RAW),
	    UNREADABLE);
	CHECK_INT(
	    judge_as(test_jws_header(ca, "ES256", ",\"crit\":null"), SIGNATURE_RAW), UNREADABLE);
	CHECK_INT(judge_as(test_jws_header(ca, "ES256",
			       ",\"kid\":\"other\",\"typ\":\"JWT\",\"jwk\":{\"kty\":\"oct\"}"),
		      SIGNATURE_RAW),
	    GOOD);
}

/* Frees header. */
static enum outcome judge_header(char *header)
{
	return judge_as(header, SIGNATURE_RAW);
}

/* All is well with it, but for its length. */
static char *long_header(void)
{
	char *more = text_format(",\"typ\":\"%0*d\"", 20000, 0);
	char *header = test_jws_header(ca, "ES256", more);

	free(more);
	return header;
}

static void header_brings_three_certificates(void)
{
	char *leaf = test_certificate_base64(test_ca_leaf(ca));
	char *url = test_base64url("\xfb\xff\xbf", 3);
	char *huge = malloc(HUGE_TEXT);

	memset(huge, 'A', HUGE_TEXT);
	huge[HUGE_TEXT - 1] = '\0';
	CHECK_INT(judge_header(text_format("{\"alg\":\"ES256\"}")), UNREADABLE);
	CHECK_INT(judge_header(text_format("{\"alg\":\"ES256\",\"x5c\":[]}")), UNREADABLE);
	CHECK_INT(
	    judge_header(text_format("{\"alg\":\"ES256\",\"x5c\":[\"%s\"]}", leaf)), UNREADABLE);
	CHECK_INT(
	    judge_header(text_format("{\"alg\":\"ES256\",\"x5c\":[\"%s\",\"%s\"]}", leaf, leaf)),
	    UNREADABLE);
	CHECK_INT(
	    judge_header(text_format("{\"alg\":\"ES256\",\"x5c\":[\"%s\",\"%s\",\"%s\",\"%s\"]}",
		leaf, leaf, leaf, leaf)),
	    UNREADABLE);
	CHECK_INT(
	    judge_header(text_format("{\"alg\":\"ES256\",\"x5c\":[\"%s\",\"%s\",3]}", leaf, leaf)),
	    UNREADABLE);
	CHECK_INT(judge_header(text_format(
		      "{\"alg\":\"ES256\",\"x5c\":[\"%s\",\"%s\",\"%s\"]}", leaf, leaf, url)),
	    UNREADABLE);
	CHECK_INT(judge_header(text_format(
		      "{\"alg\":\"ES256\",\"x5c\":[\"%s\",\"%s\",\"%s\"]}", leaf, leaf, huge)),
	    UNREADABLE);
	CHECK_INT(judge_as(test_jws_header(ca, "ES256", ",\"typ\":\"JWT\""), SIGNATURE_RAW), GOOD);
	CHECK_INT(judge_header(long_header()), UNREADABLE);
	CHECK_INT(judge_header(text_format("[]")), UNREADABLE);
	CHECK_INT(judge_header(text_format("not json")), UNREADABLE);
	free(leaf);
	free(url);
	free(huge);
}

static void what_is_signed_is_header_and_payload(void)
{
	char *text = test_jws(ca, PAYLOAD);
	char *payload = strchr(text, '.') + 1;
	char *dot = strrchr(text, '.');

	CHECK_INT(judge(text), GOOD);
	payload[0] ^= 1;
	CHECK_INT(judge(text), BAD_SIGNATURE);
	payload[0] ^= 1;
	dot[1] = dot[1] == 'A' ? 'B' : 'A';
	CHECK_INT(judge(text), BAD_SIGNATURE);
	free(text);
}

static void one_spelling_only(void)
{
	char *text = test_jws(ca, PAYLOAD);
	char *padded = text_format("%s==", text);
	char *spaced = text_format("%s ", text);

	CHECK_INT(judge(padded), UNREADABLE);
	CHECK_INT(judge(spaced), UNREADABLE);
	/* The last of 86 digits has four bits that no byte uses. */
	text[strlen(text) - 1]++;
	CHECK_INT(judge(text), UNREADABLE);
	free(text);
	free(padded);
	free(spaced);
}

/* Cut genuine and made ones anywhere, and flip what is left: never a crash, never a yes. */
static void damaged_ones_are_refused(void)
{
	char *text = test_jws(ca, PAYLOAD);
	size_t len = strlen(text);

	for (size_t i = 0; i < len; i += 7) {
		char *cut = strndup(text, i);
		char was = text[i];

		CHECK(judge(cut) != GOOD);
		text[i] = was == '.' ? 'A' : '.';
		CHECK(judge(text) != GOOD);
		text[i] = was;
		free(cut);
	}
	free(text);
}

static void official_ones_without_form(void)
{
	static const char *const names[] = {"mock_signed_data/missingX5CHeaderClaim",
	    "mock_signed_data/legacyTransaction", "xcode/xcode-signed-renewal-info",
	    "xcode/xcode-signed-transaction", "xcode/xcode-signed-app-transaction"};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = text_format(VECTORS "/apple/official/%s", names[i]);
		char *text = file_read(path, NULL);

		if (!text)
			die("%s is missing", path);
		CHECK_INT(judge(text), UNREADABLE);
		free(text);
		free(path);
	}
	CHECK_INT(judge("a.b.c"), UNREADABLE);
	CHECK_INT(judge("a.b.c.d"), UNREADABLE);
}

static const struct check checks[] = {
    {"base64 is strict", base64_is_strict},
    {"parts are three", parts_are_three},
    {"B09 a signature is 64 raw bytes", b09_signature_is_64_raw_bytes},
    {"B10 the algorithm is pinned", b10_algorithm_is_pinned},
    {"B10 critical extensions are refused", b10_critical_extensions_are_refused},
    {"the header brings three certificates", header_brings_three_certificates},
    {"what is signed is header and payload", what_is_signed_is_header_and_payload},
    {"there is one spelling only", one_spelling_only},
    {"damaged ones are refused", damaged_ones_are_refused},
    {"official ones without the form are refused", official_ones_without_form},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	ca = test_ca_new(NULL);
	status = check_main("producer jws", checks, argc, argv);
	test_ca_free(ca);
	return status;
}
