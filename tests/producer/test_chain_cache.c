/* Which chains are found again without being verified: whole ones, while they are valid. */
#include "producer/chain_cache.h"

#include "common/metric.h"
#include "tests/producer/chain_fixture.h"
#include "tests/support/check.h"

#include <pthread.h>
#include <stdlib.h>

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
	return check_main("producer chain cache", checks, argc, argv);
}
