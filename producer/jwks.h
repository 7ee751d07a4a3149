/*
 * jwks.h - the keys that may sign Google's push tokens: a JWK Set (RFC 7517) from an address or a
 * file.
 *
 * A set from an address is fetched at once, again when Cache-Control says that it is old, and again
 * for a kid that it does not have, but the latter at most once in a cool-down: whoever sends random
 * kids causes no traffic.  While the address is down the old keys stay, for at most max_stale_ms.
 * A file is read again for an unknown kid, in the same rhythm.  Any thread may ask.
 */
#ifndef UMAVEZ_JWKS_H
#define UMAVEZ_JWKS_H

#include "common/err.h"
#include "producer/fetch.h"

#include <openssl/evp.h>
#include <stdint.h>

#define JWKS_COOLDOWN_MS 60000
#define JWKS_MAX_STALE_MS 86400000

struct jwks_config {
	const char *file; /* one of the two */
	const char *url;  /* https, or this machine */
	int64_t cooldown_ms;
	int64_t max_stale_ms;
};

struct jwks;

/*
 * fetcher: for a url; it must be closed before the set is.  ERR_USAGE: the file holds no usable
 * key, or the URL is not secure.  An address that is down is no error here.
 */
int jwks_open(const struct jwks_config *config, struct fetcher *fetcher, struct jwks **ret_jwks,
    struct err *err) warn_unused;
void jwks_close(struct jwks *j); /* NULL is fine */

enum jwks_result {
	JWKS_FOUND,
	JWKS_UNKNOWN,    /* no such key in a set that is good */
	JWKS_FETCHING,   /* not known now, but an answer is on its way */
	JWKS_UNAVAILABLE /* not known, and the set could not be read lately */
};

/* The RSA key of at least 2048 bits that is named kid; EVP_PKEY_free() it. Never waits for the
 * network. */
enum jwks_result jwks_find(struct jwks *j, const char *kid, EVP_PKEY **ret_key);

/* max-age of a Cache-Control header (RFC 9111) in ms; no-store and no-cache are 0; otherwise:
 * fallback. header may be NULL. */
int64_t jwks_max_age_ms(const char *header, int64_t fallback_ms);

#endif
