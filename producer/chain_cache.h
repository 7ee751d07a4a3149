/*
 * chain_cache.h - the chains that were verified lately.
 *
 * Apple signs everything with a handful of leaves, and a notification carries up to three times the
 * same chain: verifying its three signatures each time would cost more than the notification
 * itself. A chain is found by the digest of its leaf and intermediate, and only within the window
 * in which all of its certificates are valid.  Failures are not kept: who has no
 * certificate of Apple's evicts nothing.  Any thread.
 */
#ifndef UMAVEZ_CHAIN_CACHE_H
#define UMAVEZ_CHAIN_CACHE_H

#include "producer/chain.h"
#include "producer/jws.h"

struct chain_cache;
struct metrics;

/*
 * At most `size` chains; the one unused for longest makes room.  trust is borrowed, and so is
 * metrics, which counts what was found and what had to be verified (NULL: nobody counts).
 */
struct chain_cache *chain_cache_new(
    const struct trust *trust, size_t size, struct metrics *metrics);
void chain_cache_free(struct chain_cache *cache); /* NULL is fine */

/* As chain_verify(), from memory where possible. chain_unref() the result. */
struct chain *chain_cache_verify(struct chain_cache *cache, const struct jws_certificate *leaf,
    const struct jws_certificate *intermediate, int64_t at_s, const char **ret_why);

#endif
