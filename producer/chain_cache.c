#include "producer/chain_cache.h"

#include "common/memory.h"
#include "common/metric.h"

#include <openssl/evp.h>
#include <openssl/sha.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct slot {
	unsigned char digest[SHA256_DIGEST_LENGTH];
	struct chain *chain; /* NULL: free */
	uint64_t used;       /* greater: later */
};

struct chain_cache {
	const struct trust *trust;
	struct metric *found, *verified; /* NULL: nobody counts */
	pthread_mutex_t lock;            /* guards all that follows */
	uint64_t now;
	size_t size;
	struct slot slots[];
};

static void count_in(struct chain_cache *cache, struct metrics *metrics)
{
	static const char *const labels[] = {"outcome", NULL};
	static const char *const found[] = {"found"}, *const verified[] = {"verified"};
	struct metric_family *family =
	    metric_family(metrics, METRIC_COUNTER, "umavez_certificate_chains_total",
		"Chains of certificates by whether they were known or had to be verified", labels,
		NULL);

	cache->found = metric_series(family, found);
	cache->verified = metric_series(family, verified);
}

static void count(struct metric *outcome)
{
	if (outcome)
		metric_add(outcome, 1);
}

struct chain_cache *chain_cache_new(const struct trust *trust, size_t size, struct metrics *metrics)
{
	struct chain_cache *cache = mem_zalloc(1, sizeof(*cache) + size * sizeof(cache->slots[0]));

	cache->trust = trust;
	cache->size = size;
	if (metrics)
		count_in(cache, metrics);
	pthread_mutex_init(&cache->lock, NULL);
	return cache;
}

void chain_cache_free(struct chain_cache *cache)
{
	if (!cache)
		return;
	for (size_t i = 0; i < cache->size; i++)
		chain_unref(cache->slots[i].chain);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

/* The length of the leaf goes in too, so that no other cut of the same bytes has this digest. */
static void digest_pair(const struct jws_certificate *leaf,
    const struct jws_certificate *intermediate, unsigned char ret_digest[SHA256_DIGEST_LENGTH])
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	if (!ctx || !EVP_DigestInit_ex(ctx, EVP_sha256(), NULL) ||
	    !EVP_DigestUpdate(ctx, &leaf->len, sizeof(leaf->len)) ||
	    !EVP_DigestUpdate(ctx, leaf->der, leaf->len) ||
	    !EVP_DigestUpdate(ctx, intermediate->der, intermediate->len) ||
	    !EVP_DigestFinal_ex(ctx, ret_digest, NULL))
		abort();
	EVP_MD_CTX_free(ctx);
}

/* The slot of this digest, or else the one to overwrite: a free one (never used), or the one unused
 * for longest. */
static struct slot *find_slot(struct chain_cache *cache, const unsigned char *digest)
{
	struct slot *oldest = &cache->slots[0];

	for (size_t i = 0; i < cache->size; i++) {
		struct slot *slot = &cache->slots[i];

		if (slot->chain && memcmp(slot->digest, digest, sizeof(slot->digest)) == 0)
			return slot;
		if (slot->used < oldest->used)
			oldest = slot;
	}
	return oldest;
}

static struct chain *look_up(struct chain_cache *cache, const unsigned char *digest, int64_t at_s)
{
	struct chain *found = NULL;
	struct slot *slot;

	pthread_mutex_lock(&cache->lock);
	slot = find_slot(cache, digest);
	if (slot->chain && memcmp(slot->digest, digest, sizeof(slot->digest)) == 0 &&
	    chain_valid_at(slot->chain, at_s)) {
		slot->used = ++cache->now;
		found = chain_ref(slot->chain);
	}
	pthread_mutex_unlock(&cache->lock);
	return found;
}

static void keep(struct chain_cache *cache, const unsigned char *digest, struct chain *chain)
{
	struct chain *evicted;
	struct slot *slot;

	pthread_mutex_lock(&cache->lock);
	slot = find_slot(cache, digest);
	evicted = slot->chain;
	memcpy(slot->digest, digest, sizeof(slot->digest));
	slot->chain = chain_ref(chain);
	slot->used = ++cache->now;
	pthread_mutex_unlock(&cache->lock);
	chain_unref(evicted);
}

struct chain *chain_cache_verify(struct chain_cache *cache, const struct jws_certificate *leaf,
    const struct jws_certificate *intermediate, int64_t at_s, const char **ret_why)
{
	unsigned char digest[SHA256_DIGEST_LENGTH];
	struct chain *chain;

	digest_pair(leaf, intermediate, digest);
	chain = look_up(cache, digest, at_s);
	count(chain ? cache->found : cache->verified);
	if (chain)
		return chain;
	chain = chain_verify(cache->trust, leaf->der, leaf->len, intermediate->der,
	    intermediate->len, at_s, ret_why);
	if (chain)
		keep(cache, digest, chain);
	return chain;
}
