/* Which chains are verified, and when; and which files are taken for roots. */
#include "producer/chain.h"

#include "tests/producer/chain_fixture.h"
#include "tests/support/check.h"
#include "tests/support/files.h"

#include <stdlib.h>
#include <string.h>

#define VECTORS UMAVEZ_SOURCE_DIR "/tests/vectors/apple"
#define CASES VECTORS "/x509_chain_cases/"

/* The times of the library's own tests: the first is within all validities, the second in none. */
#define VALID_S 1761962975
#define EXPIRED_S 2280946846

static bool verifies(const char *root, const char *leaf, const char *intermediate, int64_t at_s)
{
	struct trust *trust = trust_in(root);
	size_t leaf_len, intermediate_len;
	char *leaf_der = file_read(leaf, &leaf_len);
	char *intermediate_der = file_read(intermediate, &intermediate_len);
	const char *why = NULL;
	struct chain *chain;

	CHECK(leaf_der && intermediate_der);
	chain =
	    chain_verify(trust, leaf_der, leaf_len, intermediate_der, intermediate_len, at_s, &why);
	CHECK((chain == NULL) == (why != NULL));
	free(leaf_der);
	free(intermediate_der);
	trust_free(trust);
	chain_unref(chain);
	return why == NULL;
}

static void official_chains(void)
{
	const char *root = CASES "root_ca.der", *leaf = CASES "leaf_cert.der";
	const char *intermediate = CASES "intermediate_ca.der";

	CHECK(verifies(root, leaf, intermediate, VALID_S));
	CHECK(!verifies(root, leaf, intermediate, EXPIRED_S));
	CHECK(!verifies(root, CASES "leaf_cert_invalid_oid.der", intermediate, VALID_S));
	CHECK(!verifies(root, CASES "leaf_cert_for_intermediate_ca_invalid_oid.der",
	    CASES "intermediate_ca_invalid_oid.der", VALID_S));
	CHECK(!verifies(root, leaf, CASES "intermediate_ca_invalid_oid.der", VALID_S));
	CHECK(!verifies(NULL, leaf, intermediate, VALID_S));
	CHECK(!verifies(root, leaf, root, VALID_S));
	CHECK(!verifies(root, intermediate, root, VALID_S));
	CHECK(!verifies(root, leaf, leaf, VALID_S));
}

static void genuine_chain_under_the_pinned_root(void)
{
	const char *leaf = CASES "real_apple_signing_certificate.der";
	const char *intermediate = CASES "real_apple_intermediate.der";

	CHECK(verifies(NULL, leaf, intermediate, VALID_S));
	CHECK(verifies(CASES "real_apple_root.der", leaf, intermediate, VALID_S));
	CHECK(verifies(VECTORS "/roots/AppleRootCA-G3.pem", leaf, intermediate, VALID_S));
	CHECK(!verifies(NULL, leaf, intermediate, EXPIRED_S));
	CHECK(!verifies(CASES "root_ca.der", leaf, intermediate, VALID_S));
}

static struct chain *verify_ca(const struct trust *trust, const struct test_ca *ca, int64_t at_s)
{
	struct jws_certificate leaf = der_of(test_ca_leaf(ca));
	struct jws_certificate intermediate = der_of(test_ca_intermediate(ca));
	const char *why = NULL;
	struct chain *chain =
	    chain_verify(trust, leaf.der, leaf.len, intermediate.der, intermediate.len, at_s, &why);

	free(leaf.der);
	free(intermediate.der);
	return chain;
}

static bool ca_verifies(const struct test_ca_spec *spec, int64_t at_s)
{
	struct test_ca *ca = test_ca_new(spec);
	struct trust *trust = trust_ca(ca);
	struct chain *chain = verify_ca(trust, ca, at_s);
	bool ok = chain != NULL;

	chain_unref(chain);
	trust_free(trust);
	test_ca_free(ca);
	return ok;
}

static void b02_every_certificate_is_valid_at_the_time(void)
{
	static const struct test_ca_spec specs[] = {
	    {.leaf_from = Y2024, .leaf_to = Y2025},
	    {.intermediate_from = Y2024, .intermediate_to = Y2025},
	    {.root_from = Y2024, .root_to = Y2025},
	};

	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		CHECK(!ca_verifies(&specs[i], Y2024 - 1));
		CHECK(ca_verifies(&specs[i], Y2024));
		CHECK(ca_verifies(&specs[i], Y2025 - 1));
		CHECK(!ca_verifies(&specs[i], Y2025));
		CHECK(!ca_verifies(&specs[i], Y2026));
	}
}

static void shape_of_the_path(void)
{
	CHECK(ca_verifies(NULL, Y2024));
	CHECK(!ca_verifies(&(struct test_ca_spec){.no_leaf_marker = true}, Y2024));
	CHECK(!ca_verifies(&(struct test_ca_spec){.no_intermediate_marker = true}, Y2024));
	CHECK(!ca_verifies(&(struct test_ca_spec){.intermediate_is_no_ca = true}, Y2024));
	CHECK(!ca_verifies(&(struct test_ca_spec){.intermediate_is_ca_by_usage = true}, Y2024));
	CHECK(!ca_verifies(&(struct test_ca_spec){.leaf_p384 = true}, Y2024));
	CHECK(!ca_verifies(&(struct test_ca_spec){.no_intermediate = true}, Y2024));
}

static void only_configured_roots_count(void)
{
	struct test_ca *ours = test_ca_new(NULL), *other = test_ca_new(NULL);
	struct trust *trust = trust_ca(ours);

	CHECK(verify_ca(trust, other, Y2024) == NULL);
	trust_free(trust);
	test_ca_free(ours);
	test_ca_free(other);
}

static void what_is_no_certificate(void)
{
	struct test_ca *ca = test_ca_new(NULL);
	struct trust *trust = trust_ca(ca);
	struct jws_certificate leaf = der_of(test_ca_leaf(ca));
	struct jws_certificate intermediate = der_of(test_ca_intermediate(ca));
	unsigned char *longer = malloc(leaf.len + 1);
	const char *why = NULL;

	memcpy(longer, leaf.der, leaf.len);
	longer[leaf.len] = 0;
	CHECK(!chain_verify(
	    trust, longer, leaf.len + 1, intermediate.der, intermediate.len, Y2024, &why));
	CHECK(!chain_verify(
	    trust, leaf.der, leaf.len - 1, intermediate.der, intermediate.len, Y2024, &why));
	CHECK(!chain_verify(trust, "x", 1, intermediate.der, intermediate.len, Y2024, &why));
	/* A damaged byte anywhere: no path, no crash. */
	for (size_t i = 0; i < leaf.len; i += 3) {
		leaf.der[i] ^= 0x10;
		CHECK(!chain_verify(
		    trust, leaf.der, leaf.len, intermediate.der, intermediate.len, Y2024, &why));
		leaf.der[i] ^= 0x10;
	}
	free(longer);
	free(leaf.der);
	free(intermediate.der);
	trust_free(trust);
	test_ca_free(ca);
}

static void root_files_are_checked_at_start(void)
{
	static const char *const bad[] = {"/nonexistent/root.pem",
	    UMAVEZ_SOURCE_DIR "/CMakeLists.txt", CASES "intermediate_ca.der"};
	const char *two[] = {CASES "root_ca.der", VECTORS "/roots/AppleRootCA-G3.der"};
	struct trust *trust = NULL;
	struct err err = ERR_INIT;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		CHECK_INT(trust_new(&bad[i], 1, &trust, &err), -1);
		CHECK_INT(err.kind, ERR_USAGE);
		CHECK(strstr(err.message, bad[i]) != NULL);
		CHECK(trust == NULL);
	}
	CHECK_INT(trust_new(two, 2, &trust, &err), 0);
	trust_free(trust);
}

static const struct check checks[] = {
    {"official chains", official_chains},
    {"the genuine chain under the pinned root", genuine_chain_under_the_pinned_root},
    {"B02 every certificate is valid at the time", b02_every_certificate_is_valid_at_the_time},
    {"the shape of the path", shape_of_the_path},
    {"only configured roots count", only_configured_roots_count},
    {"what is no certificate is refused", what_is_no_certificate},
    {"root files are checked at start", root_files_are_checked_at_start},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("producer chain", checks, argc, argv);
}
