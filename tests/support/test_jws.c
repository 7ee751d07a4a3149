#include "tests/support/test_jws.h"

#include "tests/support/die.h"
#include "tests/support/text.h"

#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <stdlib.h>
#include <string.h>

/* r depends on the nonce alone, and this one's begins 0000: found by trying. A nonce that is known
 * gives the key away, which is no harm to a key of a test. */
#define SHORT_R_NONCE 40393

#define MUST(condition)                                                                            \
	do {                                                                                       \
		if (!(condition))                                                                  \
			die("test_jws.c:%d: %s", __LINE__, #condition);                            \
	} while (0)

char *test_base64(const void *bytes, size_t len)
{
	char *text = malloc(len / 3 * 4 + 5);

	MUST(text);
	EVP_EncodeBlock((unsigned char *)text, bytes, (int)len);
	return text;
}

char *test_base64url(const void *bytes, size_t len)
{
	char *text = test_base64(bytes, len);

	text[strcspn(text, "=")] = '\0';
	for (char *p = text; *p; p++) {
		if (*p == '+')
			*p = '-';
		else if (*p == '/')
			*p = '_';
	}
	return text;
}

char *test_certificate_base64(const X509 *cert)
{
	unsigned char *der = NULL;
	int len = i2d_X509(cert, &der);
	char *text;

	MUST(len > 0);
	text = test_base64(der, (size_t)len);
	OPENSSL_free(der);
	return text;
}

char *test_jws_header(const struct test_ca *ca, const char *alg, const char *more)
{
	char *leaf = test_certificate_base64(test_ca_leaf(ca));
	char *intermediate = test_certificate_base64(test_ca_intermediate(ca));
	char *root = test_certificate_base64(test_ca_root(ca));
	char *header = text_format("{\"alg\":\"%s\",\"x5c\":[\"%s\",\"%s\",\"%s\"]%s}", alg, leaf,
	    intermediate, root, more);

	free(leaf);
	free(intermediate);
	free(root);
	return header;
}

/* What a signature's bytes are made of. */
struct signature {
	unsigned char bytes[128];
	size_t len;
};

static void to_raw(struct signature *s)
{
	const unsigned char *p = s->bytes;
	ECDSA_SIG *sig = d2i_ECDSA_SIG(NULL, &p, (long)s->len);

	MUST(sig && BN_bn2binpad(ECDSA_SIG_get0_r(sig), s->bytes, 32) == 32);
	MUST(BN_bn2binpad(ECDSA_SIG_get0_s(sig), s->bytes + 32, 32) == 32);
	s->len = 64;
	ECDSA_SIG_free(sig);
}

static void sign_der(EVP_PKEY *key, const char *text, struct signature *ret)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();

	ret->len = sizeof(ret->bytes);
	MUST(ctx && EVP_DigestSignInit(ctx, NULL, EVP_sha256(), NULL, key));
	MUST(EVP_DigestSign(ctx, ret->bytes, &ret->len, (const unsigned char *)text, strlen(text)));
	EVP_MD_CTX_free(ctx);
}

/* ECDSA by hand (FIPS 186-4, section 6.4), since no interface lets one choose the nonce. */
static void sign_short_r(EVP_PKEY *key, const char *text, struct signature *ret)
{
	EC_GROUP *group = EC_GROUP_new_by_curve_name(NID_X9_62_prime256v1);
	const BIGNUM *order = EC_GROUP_get0_order(group);
	EC_POINT *point = EC_POINT_new(group);
	BN_CTX *ctx = BN_CTX_new();
	BIGNUM *nonce = BN_new(), *r = BN_new(), *s = BN_new(), *hash = BN_new(), *secret = NULL;
	unsigned char digest[SHA256_DIGEST_LENGTH];

	SHA256((const unsigned char *)text, strlen(text), digest);
	MUST(BN_bin2bn(digest, sizeof(digest), hash) && BN_set_word(nonce, SHORT_R_NONCE));
	MUST(EVP_PKEY_get_bn_param(key, OSSL_PKEY_PARAM_PRIV_KEY, &secret));
	MUST(EC_POINT_mul(group, point, nonce, NULL, NULL, ctx));
	MUST(EC_POINT_get_affine_coordinates(group, point, r, NULL, ctx));
	MUST(BN_mod_mul(s, r, secret, order, ctx) && BN_mod_add(s, s, hash, order, ctx));
	MUST(BN_mod_inverse(nonce, nonce, order, ctx) && BN_mod_mul(s, s, nonce, order, ctx));
	MUST(BN_bn2binpad(r, ret->bytes, 32) == 32 && BN_bn2binpad(s, ret->bytes + 32, 32) == 32);
	MUST(ret->bytes[0] == 0 && ret->bytes[1] == 0);
	ret->len = 64;
	BN_free(nonce);
	BN_free(r);
	BN_free(s);
	BN_free(hash);
	BN_free(secret);
	BN_CTX_free(ctx);
	EC_POINT_free(point);
	EC_GROUP_free(group);
}

static void sign_hmac(EVP_PKEY *key, const char *text, struct signature *ret)
{
	BIO *bio = BIO_new(BIO_s_mem());
	unsigned int len = 0;
	char *pem;
	long pem_len;

	MUST(bio && PEM_write_bio_PUBKEY(bio, key));
	pem_len = BIO_get_mem_data(bio, &pem);
	MUST(HMAC(EVP_sha256(), pem, (int)pem_len, (const unsigned char *)text, strlen(text),
	    ret->bytes, &len));
	ret->len = len;
	BIO_free(bio);
}

static void sign(EVP_PKEY *key, const char *text, enum test_signature kind, struct signature *ret)
{
	memset(ret, 0, sizeof(*ret));
	switch (kind) {
	case SIGNATURE_NONE:
		return;
	case SIGNATURE_ZERO:
		ret->len = 64;
		return;
	case SIGNATURE_HMAC:
		sign_hmac(key, text, ret);
		return;
	case SIGNATURE_DER:
		sign_der(key, text, ret);
		return;
	case SIGNATURE_RAW:
		sign_der(key, text, ret);
		to_raw(ret);
		return;
	case SIGNATURE_SHORT_R:
		sign_short_r(key, text, ret);
		return;
	case SIGNATURE_SHORT_R_STRIPPED:
		sign_short_r(key, text, ret);
		ret->len -= 2;
		memmove(ret->bytes, ret->bytes + 2, ret->len);
		return;
	}
}

char *test_jws_as(const struct test_ca *ca, const char *header, const void *payload, size_t len,
    enum test_signature kind)
{
	char *header64 = test_base64url(header, strlen(header));
	char *payload64 = test_base64url(payload, len);
	char *text = text_format("%s.%s", header64, payload64);
	struct signature signature;
	char *signature64, *jws;

	sign(test_ca_leaf_key(ca), text, kind, &signature);
	signature64 = test_base64url(signature.bytes, signature.len);
	jws = text_format("%s.%s", text, signature64);
	free(header64);
	free(payload64);
	free(text);
	free(signature64);
	return jws;
}

char *test_jws(const struct test_ca *ca, const char *payload)
{
	char *header = test_jws_header(ca, "ES256", "");
	char *jws = test_jws_as(ca, header, payload, strlen(payload), SIGNATURE_RAW);

	free(header);
	return jws;
}
