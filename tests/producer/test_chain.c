#include "common/metric.h"
#include "producer/chain.h"
#include "producer/chain_cache.h"
#include "producer/jws.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/test_ca.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define VECTORS UMAVEZ_SOURCE_DIR "/tests/vectors/apple"
#define CASES VECTORS "/x509_chain_cases/"

/* The times of the library's own tests: the first is within all validities, the second in none. */
#define VALID_S 1761962975
#define EXPIRED_S 2280946846

#define Y2024 1704067200
#define Y2025 1735689600
#define Y2026 1767225600

static struct trust *trust_in(const char *path)
{
	struct err err = ERR_INIT;
	struct trust *trust = NULL;

	if (trust_new(&path, path ? 1 : 0, &trust, &err) < 0)
		die("%s", err.message);
	return trust;
}

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

/* A root file of ca's, removed again by whoever gets it. */
static struct trust *trust_ca(const struct test_ca *ca)
{
	char *path = text_format("%s/umavez-test-chain-%d.pem", temp_root(), (int)getpid());
	struct trust *trust;

	test_ca_write_root_pem(ca, path);
	trust = trust_in(path);
	unlink(path);
	free(path);
	return trust;
}

static struct jws_certificate der_of(const X509 *cert)
{
	struct jws_certificate der = {NULL, 0};

	der.len = (size_t)i2d_X509(cert, &der.der);
	return der;
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

/* A cache over the root of ca, and what it counts. */
struct bench {
	struct trust *trust;
	struct metrics *metrics;
	struct chain_cache *cache;
};

static struct bench bench_open(const struct test_ca *ca, size_t size)
{
	struct bench b = {.trust = trust_ca(ca), .metrics = metrics_new()};

	b.cache = chain_cache_new(b.trust, size, b.metrics);
	return b;
}

static void bench_close(struct bench *b)
{
	chain_cache_free(b->cache);
	metrics_free(b->metrics);
	trust_free(b->trust);
}

static int counted(const struct bench *b, const char *outcome)
{
	struct metric_family *family = metric_family(
	    b->metrics, METRIC_COUNTER, "umavez_certificate_chains_total", "", NULL, NULL);

	return (int)metric_value(metric_series(family, &outcome));
}

/* One chain through the cache. */
static bool cached(const struct bench *b, const struct test_ca *ca, int64_t at_s)
{
	struct jws_certificate leaf = der_of(test_ca_leaf(ca));
	struct jws_certificate intermediate = der_of(test_ca_intermediate(ca));
	const char *why = NULL;
	struct chain *chain = chain_cache_verify(b->cache, &leaf, &intermediate, at_s, &why);
	bool ok = chain && EVP_PKEY_eq(chain->key, test_ca_leaf_key(ca)) == 1;

	chain_unref(chain);
	free(leaf.der);
	free(intermediate.der);
	return ok;
}

static void cache_keeps_the_window(void)
{
	struct test_ca *ca = test_ca_new(&(struct test_ca_spec){.leaf_from = Y2024,
	    .leaf_to = Y2026,
	    .intermediate_from = Y2024,
	    .intermediate_to = Y2025});
	struct bench b = bench_open(ca, 4);

	CHECK(cached(&b, ca, Y2024));
	CHECK(cached(&b, ca, Y2025 - 1));
	CHECK_INT(counted(&b, "verified"), 1);
	CHECK(!cached(&b, ca, Y2025));
	CHECK(!cached(&b, ca, Y2024 - 1));
	CHECK(cached(&b, ca, Y2024 + 1));
	CHECK_INT(counted(&b, "verified"), 3);
	CHECK_INT(counted(&b, "found"), 2);
	bench_close(&b);
	test_ca_free(ca);
}

static void cache_forgets_the_longest_unused(void)
{
	struct test_ca *x = test_ca_new(NULL);
	struct test_ca *y = test_ca_new_leaf(x, NULL), *z = test_ca_new_branch(x, NULL);
	struct bench b = bench_open(x, 2);

	CHECK(cached(&b, x, Y2024) && cached(&b, y, Y2024) && cached(&b, x, Y2024));
	CHECK_INT(counted(&b, "verified"), 2);
	CHECK(cached(&b, z, Y2024)); /* in y's place */
	CHECK(cached(&b, x, Y2024));
	CHECK_INT(counted(&b, "verified"), 3);
	CHECK(cached(&b, y, Y2024));
	CHECK_INT(counted(&b, "verified"), 4);
	bench_close(&b);
	test_ca_free(x);
	test_ca_free(y);
	test_ca_free(z);
}

static void cache_knows_pairs(void)
{
	struct test_ca *ca = test_ca_new(NULL), *branch = test_ca_new_branch(ca, NULL);
	struct jws_certificate leaf = der_of(test_ca_leaf(ca));
	struct jws_certificate other = der_of(test_ca_intermediate(branch));
	struct bench b = bench_open(ca, 4);
	const char *why = NULL;

	CHECK(cached(&b, ca, Y2024) && cached(&b, branch, Y2024));
	CHECK(!chain_cache_verify(b.cache, &leaf, &other, Y2024, &why));
	free(leaf.der);
	free(other.der);
	bench_close(&b);
	test_ca_free(ca);
	test_ca_free(branch);
}

/* However little they differ from a chain that is known. */
static void cache_knows_every_byte(void)
{
	struct test_ca *ca = test_ca_new(NULL);
	struct jws_certificate leaf = der_of(test_ca_leaf(ca));
	struct jws_certificate intermediate = der_of(test_ca_intermediate(ca));
	struct jws_certificate *both[] = {&leaf, &intermediate};
	struct bench b = bench_open(ca, 4);
	const char *why = NULL;

	CHECK(cached(&b, ca, Y2024));
	for (size_t i = 0; i < 2; i++) {
		for (size_t at = 0; at < both[i]->len; at += 7) {
			both[i]->der[at] ^= 1;
			CHECK(!chain_cache_verify(b.cache, &leaf, &intermediate, Y2024, &why));
			both[i]->der[at] ^= 1;
		}
	}
	CHECK(cached(&b, ca, Y2024));
	CHECK_INT(counted(&b, "found"), 1);
	free(leaf.der);
	free(intermediate.der);
	bench_close(&b);
	test_ca_free(ca);
}

/* More of them than the cache has room for, and the good one is still there. */
static void cache_keeps_no_failure(void)
{
	struct test_ca *ours = test_ca_new(NULL), *other = test_ca_new(NULL);
	struct bench b = bench_open(ours, 1);

	CHECK(cached(&b, ours, Y2024));
	CHECK(!cached(&b, other, Y2024) && !cached(&b, other, Y2024));
	CHECK_INT(counted(&b, "verified"), 3);
	CHECK(cached(&b, ours, Y2024));
	CHECK_INT(counted(&b, "found"), 1);
	bench_close(&b);
	test_ca_free(ours);
	test_ca_free(other);
}

enum { CROWD = 4, ROUNDS = 50 };

struct user {
	pthread_t thread;
	const struct bench *bench;
	struct test_ca *const *cas;
	int good;
};

static void *use_cache(void *arg)
{
	struct user *u = arg;

	for (int i = 0; i < ROUNDS; i++)
		u->good += cached(u->bench, u->cas[i % 3], Y2024);
	return NULL;
}

/* Three chains in a cache for two: found, evicted and freed by several threads at a time. */
static void cache_is_for_any_thread(void)
{
	struct test_ca *x = test_ca_new(NULL);
	struct test_ca *cas[] = {x, test_ca_new_leaf(x, NULL), test_ca_new_branch(x, NULL)};
	struct bench b = bench_open(x, 2);
	struct user users[CROWD];

	for (int i = 0; i < CROWD; i++) {
		users[i] = (struct user){.bench = &b, .cas = cas};
		CHECK_INT(pthread_create(&users[i].thread, NULL, use_cache, &users[i]), 0);
	}
	for (int i = 0; i < CROWD; i++) {
		pthread_join(users[i].thread, NULL);
		CHECK_INT(users[i].good, ROUNDS);
	}
	CHECK_INT(counted(&b, "found") + counted(&b, "verified"), CROWD * ROUNDS);
	bench_close(&b);
	for (size_t i = 0; i < 3; i++)
		test_ca_free(cas[i]);
}

static const struct check checks[] = {
    {"official chains", official_chains},
    {"the genuine chain under the pinned root", genuine_chain_under_the_pinned_root},
    {"B02 every certificate is valid at the time", b02_every_certificate_is_valid_at_the_time},
    {"the shape of the path", shape_of_the_path},
    {"only configured roots count", only_configured_roots_count},
    {"what is no certificate is refused", what_is_no_certificate},
    {"root files are checked at start", root_files_are_checked_at_start},
    {"the cache keeps the window", cache_keeps_the_window},
    {"the cache forgets the longest unused", cache_forgets_the_longest_unused},
    {"the cache knows pairs", cache_knows_pairs},
    {"the cache knows every byte", cache_knows_every_byte},
    {"the cache keeps no failure", cache_keeps_no_failure},
    {"the cache is for any thread", cache_is_for_any_thread},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("producer chain", checks, argc, argv);
}
