/*
 * chain.h - leaf <- intermediate <- configured root: whose key may sign for the App Store.
 *
 * As Apple's own libraries do it (apple/app-store-server-library-*): the anchors are the configured
 * roots alone (a root that the sender brings along counts for nothing), the path has exactly three
 * certificates, and Apple's marker extensions are on the two that are sent.
 */
#ifndef UMAVEZ_CHAIN_H
#define UMAVEZ_CHAIN_H

#include "producer/trust.h"

#include <openssl/x509.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A verified path. Threads share it: once made, only refs changes. */
struct chain {
	X509 *leaf, *intermediate, *root;
	EVP_PKEY *key;        /* the leaf's, P-256; borrowed from it */
	int64_t valid_from_s; /* the window in which all three are valid: */
	int64_t valid_to_s;   /* from <= t < to, seconds since 1970 */
	atomic_int refs;
};

/*
 * Verify the path from these two DER certificates, all valid at second at_s (revocation is not
 * asked here).  NULL, and *ret_why (a sentence, static), if there is none; else chain_unref() the
 * result.
 */
struct chain *chain_verify(const struct trust *t, const void *leaf, size_t leaf_len,
    const void *intermediate, size_t intermediate_len, int64_t at_s, const char **ret_why);

bool chain_valid_at(const struct chain *c, int64_t at_s);

struct chain *chain_ref(struct chain *c);
void chain_unref(struct chain *c); /* NULL is fine */

#endif
