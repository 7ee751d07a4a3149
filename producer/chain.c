#include "producer/chain.h"

#include "common/memory.h"

#include <openssl/core_names.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>
#include <stdlib.h>
#include <string.h>

/* Apple's markers for a certificate that signs App Store receipts, and for the WWDR authority. */
#define MARKER_LEAF "1.2.840.113635.100.6.11.1"
#define MARKER_INTERMEDIATE "1.2.840.113635.100.6.2.1"

/* Narrow the chain's window to what cert's own validity allows. */
static bool narrow_window(struct chain *c, const X509 *cert)
{
	int64_t from, to;

	if (!trust_seconds(X509_get0_notBefore(cert), &from) ||
	    !trust_seconds(X509_get0_notAfter(cert), &to))
		return false;
	if (from > c->valid_from_s)
		c->valid_from_s = from;
	if (to < c->valid_to_s)
		c->valid_to_s = to;
	return true;
}

static bool is_p256(EVP_PKEY *key)
{
	char group[32] = "";

	return key && EVP_PKEY_is_a(key, "EC") &&
	       EVP_PKEY_get_utf8_string_param(
		   key, OSSL_PKEY_PARAM_GROUP_NAME, group, sizeof(group), NULL) &&
	       strcmp(group, SN_X9_62_prime256v1) == 0;
}

static bool has_marker(const X509 *cert, const char *oid)
{
	ASN1_OBJECT *marker = OBJ_txt2obj(oid, 1);
	bool has = marker && X509_get_ext_by_OBJ(cert, marker, -1) >= 0;

	ASN1_OBJECT_free(marker);
	return has;
}

/* The path that OpenSSL found, or NULL. The intermediate is the only certificate it may take from
 * outside the store. */
static STACK_OF(X509) * build_path(const struct trust *t, const struct chain *c, int64_t at_s)
{
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();
	STACK_OF(X509) *untrusted = sk_X509_new_null();
	STACK_OF(X509) *path = NULL;
	X509_VERIFY_PARAM *param;

	if (!ctx || !untrusted || !sk_X509_push(untrusted, c->intermediate) ||
	    !X509_STORE_CTX_init(ctx, trust_store(t), c->leaf, untrusted))
		abort();
	param = X509_STORE_CTX_get0_param(ctx);
	X509_VERIFY_PARAM_set_time(param, (time_t)at_s);
	X509_VERIFY_PARAM_set_auth_level(param, 2);
	if (X509_verify_cert(ctx) == 1)
		path = X509_STORE_CTX_get1_chain(ctx);
	X509_STORE_CTX_free(ctx);
	sk_X509_free(untrusted);
	return path;
}

/* Find the root, and check what OpenSSL does not know of. NULL if all is well, else why not. */
static const char *check_path(const struct trust *t, struct chain *c, int64_t at_s)
{
	STACK_OF(X509) *path = build_path(t, c, at_s);
	const char *why = NULL;

	if (!path)
		return "The certificates of x5c do not lead to a trusted root, or were not valid "
		       "when this was signed.";
	/* Three: leaf, intermediate, root, since the store holds self-signed certificates only.
	 * That the intermediate is a CA by its basic constraints has been checked by OpenSSL. */
	if (sk_X509_num(path) != 3)
		why = "The certificates of x5c are not a leaf and an intermediate below a trusted "
		      "root.";
	else if (!has_marker(c->leaf, MARKER_LEAF) ||
		 !has_marker(c->intermediate, MARKER_INTERMEDIATE))
		why = "The certificates of x5c lack Apple's markers for the App Store.";
	else
		c->root = sk_X509_value(path, 2);
	if (c->root)
		X509_up_ref(c->root);
	sk_X509_pop_free(path, X509_free);
	return why;
}

struct chain *chain_verify(const struct trust *t, const void *leaf, size_t leaf_len,
    const void *intermediate, size_t intermediate_len, int64_t at_s, const char **ret_why)
{
	struct chain *c = mem_zalloc(1, sizeof(*c));
	const char *why;

	atomic_init(&c->refs, 1);
	c->valid_from_s = INT64_MIN;
	c->valid_to_s = INT64_MAX;
	c->leaf = trust_parse_der(leaf, leaf_len);
	c->intermediate = trust_parse_der(intermediate, intermediate_len);
	if (!c->leaf || !c->intermediate) {
		why = "x5c does not hold X.509 certificates.";
		goto refused;
	}
	c->key = X509_get0_pubkey(c->leaf);
	if (!is_p256(c->key)) {
		why = "The leaf certificate's key is not of the curve P-256.";
		goto refused;
	}
	why = check_path(t, c, at_s);
	if (why)
		goto refused;
	if (!narrow_window(c, c->leaf) || !narrow_window(c, c->intermediate) ||
	    !narrow_window(c, c->root) || !chain_valid_at(c, at_s)) {
		why = "The certificates of x5c were not all valid when this was signed.";
		goto refused;
	}
	return c;
refused:
	*ret_why = why;
	chain_unref(c);
	return NULL;
}

bool chain_valid_at(const struct chain *c, int64_t at_s)
{
	return c->valid_from_s <= at_s && at_s < c->valid_to_s;
}

struct chain *chain_ref(struct chain *c)
{
	atomic_fetch_add(&c->refs, 1);
	return c;
}

void chain_unref(struct chain *c)
{
	if (!c || atomic_fetch_sub(&c->refs, 1) != 1)
		return;
	X509_free(c->leaf);
	X509_free(c->intermediate);
	X509_free(c->root);
	free(c);
}
