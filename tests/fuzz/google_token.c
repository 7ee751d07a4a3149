/*
 * An Authorization header, against the key that Google had published for its sample; or, if it is
 * two lines, header and claims of a token that we sign.
 */
#include "producer/google_token.h"
#include "producer/json.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/files.h"
#include "tests/support/signer.h"
#include "tests/support/text.h"

#include <stdlib.h>
#include <string.h>

#define NOW_S INT64_C(1550182400)

/* libjose takes as long for each further kilobyte; a request's head is not longer either. */
#define MAX_SIZE 8192

struct fixture {
	struct signer *signer;
	struct jwks *signers, *googles;
	char *sample; /* the whole token */
};

static struct jwks *open_keys(const char *path)
{
	struct jwks_config config = {
	    .file = path, .cooldown_ms = INT64_C(1) << 40, .max_stale_ms = INT64_C(1) << 40};
	struct jwks *keys = NULL;
	struct err err;

	FUZZ_CHECK(jwks_open(&config, NULL, &keys, &err) == 0);
	return keys;
}

static const struct fixture *open_fixture(void)
{
	static struct fixture f;
	char dir[] = "/tmp/fuzz.XXXXXX";

	if (f.signer)
		return &f;
	fuzz_fix_random();
	f.signer = signer_new();
	FUZZ_CHECK(mkdtemp(dir));
	signer_write(f.signer, dir);
	f.signers = open_keys(signer_jwks_path(f.signer));
	tree_remove(dir);
	f.googles =
	    open_keys(UMAVEZ_SOURCE_DIR "/tests/vectors/google/push_auth/google-jwks-2019-02.json");
	f.sample = fuzz_vector("google/push_auth/doc-sample-push.jwt", NULL);
	f.sample[strcspn(f.sample, "\n")] = '\0';
	return &f;
}

static void check_refusal(enum verdict verdict, const struct refusal *refusal)
{
	FUZZ_CHECK(verdict == VERDICT_FORGED || verdict == VERDICT_UNAVAILABLE);
	FUZZ_CHECK(refusal->reason && refusal->detail);
}

static void check_header(const struct fixture *f, const char *header)
{
	struct google_token_rules rules = {
	    "https://example.com", "gae-gcp@appspot.gserviceaccount.com"};
	struct refusal refusal = {NULL, NULL};
	enum verdict verdict =
	    google_token_check(header, &rules, f->googles, NOW_S * 1000, &refusal);

	if (verdict != VERDICT_AUTHENTIC)
		check_refusal(verdict, &refusal);
	else
		FUZZ_CHECK(strcmp(header + 7 + strspn(header + 7, " "), f->sample) == 0);
}

static void check_claims(const char *text)
{
	const char *why;
	json_t *claims = json_read(text, strlen(text), &why);
	json_int_t exp = json_integer_value(json_object_get(claims, "exp"));
	json_int_t iat = json_integer_value(json_object_get(claims, "iat"));
	const char *iss = json_string_value(json_object_get(claims, "iss"));

	FUZZ_CHECK(iss && strstr(iss, "accounts.google.com"));
	FUZZ_CHECK(strcmp(json_string_value(json_object_get(claims, "aud")), SIGNER_AUDIENCE) == 0);
	FUZZ_CHECK(
	    strcmp(json_string_value(json_object_get(claims, "email")), SIGNER_PUSH_ACCOUNT) == 0);
	FUZZ_CHECK(json_is_true(json_object_get(claims, "email_verified")));
	FUZZ_CHECK(json_is_integer(json_object_get(claims, "exp")) && exp >= NOW_S - 60);
	FUZZ_CHECK(json_is_integer(json_object_get(claims, "iat")) && iat <= NOW_S + 60);
	json_decref(claims);
}

static void check_signed(const struct fixture *f, const char *header, const char *claims)
{
	struct google_token_rules rules = {SIGNER_AUDIENCE, SIGNER_PUSH_ACCOUNT};
	struct refusal refusal = {NULL, NULL};
	char *jwt = google_jwt(f->signer, header, claims);
	char *bearer = text_format("Bearer %s", jwt);
	enum verdict verdict =
	    google_token_check(bearer, &rules, f->signers, NOW_S * 1000, &refusal);

	if (verdict == VERDICT_AUTHENTIC)
		check_claims(claims);
	else
		check_refusal(verdict, &refusal);
	free(bearer);
	free(jwt);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct fixture *f = open_fixture();
	struct fuzz_piece rest = {(const char *)data, size}, first = {"", 0};
	char *header, *claims;

	if (size > MAX_SIZE)
		return 0;
	fuzz_cut(&rest, '\n', &first);
	header = fuzz_text(first);
	claims = fuzz_text(rest);
	if (*claims)
		check_signed(f, header, claims);
	else
		check_header(f, header);
	free(header);
	free(claims);
	return 0;
}
