/*
 * google_keys.h - keys and tokens that Google might have made, and such that it never would; and
 * what it has published.
 *
 * Everything returned is malloc'd unless it says otherwise.
 */
#ifndef UMAVEZ_TESTS_GOOGLE_KEYS_H
#define UMAVEZ_TESTS_GOOGLE_KEYS_H

#include <openssl/evp.h>

#define GOOGLE_VECTORS UMAVEZ_SOURCE_DIR "/tests/vectors/google/"

/* A file of the vectors, one line end removed. Ends the program if it is not there. */
char *google_vector(const char *file);

/* 2048 bits, made once a program and freed at its end. */
EVP_PKEY *test_rsa_key(void);

/* A JWK Set of one key; more: further members of the JWK (",\"use\":\"sig\""), or NULL. */
char *test_jwks(const char *kid, EVP_PKEY *key, const char *more);

/* A compact JWS over any header and claims, RSA PKCS #1 v1.5 with this digest. */
char *test_rsa_token(EVP_PKEY *key, const EVP_MD *md, const char *header, const char *claims);

/* The same signed by HMAC-SHA256, its key the PEM of the RSA key's public half. */
char *test_hmac_token(EVP_PKEY *key, const char *header, const char *claims);

#endif
