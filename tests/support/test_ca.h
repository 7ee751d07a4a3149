/*
 * test_ca.h - a certificate authority shaped like Apple's, and the mistakes that one could make.
 *
 * root -> intermediate -> leaf with P-256 keys, and Apple's marker extensions on the last two.
 * Failures abort.
 */
#ifndef UMAVEZ_TESTS_TEST_CA_H
#define UMAVEZ_TESTS_TEST_CA_H

#include <openssl/x509.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct test_ca;

/* When a year begins, in seconds since 1970. */
#define Y2024 1704067200
#define Y2025 1735689600
#define Y2026 1767225600

/* Zeroed: as Apple's, all valid from 2020 to 2060. Times in seconds since 1970. */
struct test_ca_spec {
	int64_t root_from, root_to;
	int64_t intermediate_from, intermediate_to;
	int64_t leaf_from, leaf_to;
	bool no_leaf_marker;
	bool no_intermediate_marker;
	bool intermediate_is_no_ca;
	bool intermediate_is_ca_by_usage; /* keyCertSign, but no basic constraints */
	bool leaf_p384;
	bool no_intermediate;  /* the root, with the intermediate's marker, issued the leaf */
	const char *root_name; /* NULL: the one of all others; trust knows roots by name */
	const char *ocsp_url;  /* the responder that leaf and intermediate name; NULL: none */
};

/* spec NULL: zeroed. */
struct test_ca *test_ca_new(const struct test_ca_spec *spec);

/* A new leaf under ca's intermediate; a new intermediate and leaf under ca's root. ca may be freed
 * before the result. */
struct test_ca *test_ca_new_leaf(const struct test_ca *ca, const struct test_ca_spec *spec);
struct test_ca *test_ca_new_branch(const struct test_ca *ca, const struct test_ca_spec *spec);

void test_ca_free(struct test_ca *ca); /* NULL is fine */

/* Borrowed. */
X509 *test_ca_root(const struct test_ca *ca);
X509 *test_ca_intermediate(const struct test_ca *ca);
X509 *test_ca_leaf(const struct test_ca *ca);
EVP_PKEY *test_ca_leaf_key(const struct test_ca *ca);

/* The root, to be trusted by --apple-root-file. */
void test_ca_write_root_pem(const struct test_ca *ca, const char *path);
void test_ca_write_root_der(const struct test_ca *ca, const char *path);

/*
 * What a responder answers to a DER request about one certificate of ca's, malloc'd: status is one
 * of V_OCSP_CERTSTATUS_* (openssl/ocsp.h), signed by the certificate's issuer.  next_update 0: left
 * out.
 */
void *test_ca_ocsp_answer(const struct test_ca *ca, const void *request, size_t len, int status,
    int64_t this_update, int64_t next_update, size_t *ret_len);

#endif
