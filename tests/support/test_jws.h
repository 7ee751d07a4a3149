/*
 * test_jws.h - compact JWS as Apple makes them, and as nobody should.
 *
 * Everything returned is malloc'd.
 */
#ifndef UMAVEZ_TESTS_TEST_JWS_H
#define UMAVEZ_TESTS_TEST_JWS_H

#include "tests/support/test_ca.h"

/* Header {"alg":"ES256","x5c":[leaf, intermediate, root]}, signed by the leaf. */
char *test_jws(const struct test_ca *ca, const char *payload);

enum test_signature {
	SIGNATURE_RAW,     /* r and s, 64 bytes: the right one */
	SIGNATURE_SHORT_R, /* right too: r begins with two zero bytes */
	SIGNATURE_SHORT_R_STRIPPED,
	SIGNATURE_DER,
	SIGNATURE_ZERO,
	SIGNATURE_NONE,
	SIGNATURE_HMAC, /* HMAC-SHA256, its key the PEM of the leaf's public key */
};

/* Any header, payload and signature. */
char *test_jws_as(const struct test_ca *ca, const char *header, const void *payload, size_t len,
    enum test_signature kind);

/* The header of test_jws() but for alg, and with more at its end: `,"crit":["x"]`, or "". */
char *test_jws_header(const struct test_ca *ca, const char *alg, const char *more);

char *test_base64(const void *bytes, size_t len);
char *test_base64url(const void *bytes, size_t len); /* without padding */
char *test_certificate_base64(const X509 *cert);     /* as in x5c */

#endif
