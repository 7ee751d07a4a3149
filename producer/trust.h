/*
 * trust.h - the root certificates that an App Store chain may end in.
 */
#ifndef UMAVEZ_TRUST_H
#define UMAVEZ_TRUST_H

#include "common/err.h"

#include <openssl/x509.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct trust; /* never changed once it is made: any number of threads */

/*
 * n files with roots, each PEM (one or several) or DER; n = 0: Apple Root CA - G3, built in and
 * pinned by its SHA-256.  ERR_USAGE names the file that does not hold self-signed certificates.
 */
int trust_new(
    const char *const *files, size_t n, struct trust **ret_trust, struct err *err) warn_unused;
void trust_free(struct trust *t); /* NULL is fine */

X509_STORE *trust_store(const struct trust *t);

/* A certificate in DER and nothing behind it; NULL if it is none. X509_free() it. */
X509 *trust_parse_der(const void *der, size_t len);

/* A certificate's or a responder's time, in seconds since 1970. False if it is malformed. */
bool trust_seconds(const ASN1_TIME *time, int64_t *ret_s);

#endif
