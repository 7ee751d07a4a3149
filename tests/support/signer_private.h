/*
 * signer_private.h - what the files behind signer.h share.
 */
#ifndef UMAVEZ_TESTS_SIGNER_PRIVATE_H
#define UMAVEZ_TESTS_SIGNER_PRIVATE_H

#include "tests/support/signer.h"

#include <openssl/evp.h>
#include <stdbool.h>

EVP_PKEY *google_key_new(void);
char *google_jwks(EVP_PKEY *key);
EVP_PKEY *signer_google_key(const struct signer *s);

/* Post to base_url/webhooks/<store>. Returns the HTTP status; ret_body may be NULL. */
int signer_post(const char *base_url, const char *store, const char *const *headers,
    const char *body, char **ret_body);

#endif
