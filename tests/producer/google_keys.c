#include "tests/producer/google_keys.h"

#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/test_jws.h"
#include "tests/support/text.h"

#include <openssl/bio.h>
#include <openssl/core_names.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <stdlib.h>
#include <string.h>

char *google_vector(const char *file)
{
	char *path = text_format("%s%s", GOOGLE_VECTORS, file);
	char *text = file_read(path, NULL);
	size_t len;

	if (!text)
		die("cannot read %s", path);
	len = strlen(text);
	if (len > 0 && text[len - 1] == '\n')
		text[len - 1] = '\0';
	free(path);
	return text;
}

static EVP_PKEY *rsa_key;

static void free_key(void)
{
	EVP_PKEY_free(rsa_key);
}

EVP_PKEY *test_rsa_key(void)
{
	if (!rsa_key) {
		rsa_key = EVP_RSA_gen(2048);
		if (!rsa_key)
			die("cannot make an RSA key");
		atexit(free_key);
	}
	return rsa_key;
}

static char *number(EVP_PKEY *key, const char *name)
{
	unsigned char bytes[512];
	BIGNUM *n = NULL;
	int len;

	if (EVP_PKEY_get_bn_param(key, name, &n) != 1)
		die("cannot read an RSA key");
	len = BN_bn2bin(n, bytes);
	BN_free(n);
	return test_base64url(bytes, (size_t)len);
}

char *test_jwks(const char *kid, EVP_PKEY *key, const char *more)
{
	char *n = number(key, OSSL_PKEY_PARAM_RSA_N), *e = number(key, OSSL_PKEY_PARAM_RSA_E);
	char *set =
	    text_format("{\"keys\":[{\"kty\":\"RSA\",\"kid\":\"%s\",\"n\":\"%s\",\"e\":\"%s\"%s}]}",
		kid, n, e, more ? more : "");

	free(n);
	free(e);
	return set;
}

static char *signing_input(const char *header, const char *claims)
{
	char *h = test_base64url(header, strlen(header));
	char *c = test_base64url(claims, strlen(claims));
	char *input = text_format("%s.%s", h, c);

	free(h);
	free(c);
	return input;
}

static char *join(char *input, const void *signature, size_t len)
{
	char *s = test_base64url(signature, len);
	char *token = text_format("%s.%s", input, s);

	free(s);
	free(input);
	return token;
}

char *test_rsa_token(EVP_PKEY *key, const EVP_MD *md, const char *header, const char *claims)
{
	char *input = signing_input(header, claims);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	unsigned char signature[512];
	size_t len = sizeof(signature);

	if (EVP_DigestSignInit(ctx, NULL, md, NULL, key) != 1 ||
	    EVP_DigestSign(ctx, signature, &len, (unsigned char *)input, strlen(input)) != 1)
		die("cannot sign a token");
	EVP_MD_CTX_free(ctx);
	return join(input, signature, len);
}

char *test_hmac_token(EVP_PKEY *key, const char *header, const char *claims)
{
	char *input = signing_input(header, claims);
	BIO *pem = BIO_new(BIO_s_mem());
	unsigned char mac[32];
	char *bytes;
	long len;

	PEM_write_bio_PUBKEY(pem, key);
	len = BIO_get_mem_data(pem, &bytes);
	HMAC(EVP_sha256(), bytes, (int)len, (unsigned char *)input, strlen(input), mac, NULL);
	BIO_free(pem);
	return join(input, mac, sizeof(mac));
}
