/* The header on the first line, the body behind it. */
#include "producer/stripe_signature.h"
#include "tests/fuzz/fuzz.h"
#include "tests/support/signer.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOW_S INT64_C(1533204720)
#define TOLERANCE_MS 300000

static char live_secret[] = "webhook_secret"; /* the vectors' */
static char test_secret[] = SIGNER_STRIPE_TEST_SECRET;

static enum stripe_signature check(const char *header, struct fuzz_piece body)
{
	char *live[] = {live_secret}, *test[] = {test_secret};
	struct stripe_secrets secrets = {{1, live}, {1, test}};

	return stripe_signature_check(
	    header, body.at, body.len, &secrets, NOW_S * 1000, TOLERANCE_MS);
}

/* The items of the header that begin so; the last of them. */
static int count_items(const char *header, const char *prefix, const char **ret_value)
{
	size_t len = strlen(prefix);
	int n = 0;

	for (const char *item = header; item;
	     item = strchr(item, ','), item = item ? item + 1 : NULL)
		if (strncmp(item, prefix, len) == 0) {
			*ret_value = item + len;
			n++;
		}
	return n;
}

/* Signed means: one t, near, and the MAC that somebody else computes for it is there. */
static void check_signed(const char *header, struct fuzz_piece body, const char *secret)
{
	const char *t = NULL;
	char *right;

	FUZZ_CHECK(count_items(header, "t=", &t) == 1);
	FUZZ_CHECK(llabs(strtoll(t, NULL, 10) - NOW_S) * 1000 <= TOLERANCE_MS);
	/* As it is written there: leading zeros are signed too. */
	char *signed_text =
	    text_format("%.*s.%.*s", (int)strcspn(t, ","), t, (int)body.len, body.at);
	if (strlen(signed_text) == strcspn(t, ",") + 1 + body.len && *t != '0') {
		right = sign_stripe(secret, strtoll(t, NULL, 10), body.at, body.len);
		FUZZ_CHECK(strstr(header, strchr(right, ',') + 1));
		free(right);
	}
	free(signed_text);
}

/* What comes behind a good signature cannot make it bad, but for another t. */
static void check_suffix(const char *header, struct fuzz_piece body)
{
	const char *t;
	char *good = sign_stripe(live_secret, NOW_S, body.at, body.len);
	char *both = text_format("%s,%s", good, header);
	bool again = count_items(header, "t=", &t) > 0;

	FUZZ_CHECK(check(both, body) == (again ? STRIPE_HEADER_MALFORMED : STRIPE_SIGNED_LIVE));
	free(both);
	free(good);
}

static void check_other_body(const char *header, struct fuzz_piece body)
{
	char *other = fuzz_copy(body);

	other[0] ^= 1;
	FUZZ_CHECK(check(header, (struct fuzz_piece){other, body.len}) == STRIPE_NOT_SIGNED);
	free(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct fuzz_piece body = {(const char *)data, size}, line = {"", 0};
	enum stripe_signature verdict;
	char *header;

	fuzz_cut(&body, '\n', &line);
	header = fuzz_text(line);
	verdict = check(header, body);
	if (verdict == STRIPE_SIGNED_LIVE || verdict == STRIPE_SIGNED_TEST) {
		check_signed(
		    header, body, verdict == STRIPE_SIGNED_LIVE ? live_secret : test_secret);
		if (body.len > 0)
			check_other_body(header, body);
	}
	check_suffix(header, body);
	free(header);
	return 0;
}
