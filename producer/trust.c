#include "producer/trust.h"

#include "common/hex.h"
#include "common/memory.h"
#include "producer/notification.h"
#include "producer_text.h"

#include <openssl/pem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* SHA-256 of Apple Root CA - G3 in DER: https://www.apple.com/certificateauthority/ */
#define PINNED_ROOT "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179"

/* No root is larger; a file that is (a bundle of all public roots, say) is a mistake. */
#define MAX_ROOT_FILE 65536

struct trust {
	X509_STORE *store;
};

X509 *trust_parse_der(const void *der, size_t len)
{
	const unsigned char *p = der;
	X509 *cert = d2i_X509(NULL, &p, (long)len);

	if (cert && p != (const unsigned char *)der + len) {
		X509_free(cert);
		cert = NULL;
	}
	return cert;
}

bool trust_seconds(const ASN1_TIME *time, int64_t *ret_s)
{
	struct tm tm;

	if (!ASN1_TIME_to_tm(time, &tm))
		return false;
	*ret_s = timegm(&tm);
	return true;
}

static int add_root(struct trust *t, X509 *root, const char *name, struct err *err)
{
	if (X509_self_signed(root, 1) != 1)
		return err_set(err, ERR_USAGE, "%s: a certificate in it is not self-signed", name);
	if (!X509_STORE_add_cert(t->store, root))
		return err_set(err, ERR_FATAL, "%s: cannot be added to the trusted roots", name);
	return 0;
}

static int add_pem(struct trust *t, const char *text, size_t len, const char *name, struct err *err)
{
	BIO *bio = BIO_new_mem_buf(text, (int)len);
	X509 *root = NULL;
	int n = 0, rc = -1;

	if (!bio)
		abort();
	while ((root = PEM_read_bio_X509(bio, NULL, NULL, NULL)) != NULL) {
		if (add_root(t, root, name, err) < 0)
			goto done;
		X509_free(root);
		n++;
	}
	if (n == 0)
		err_set(err, ERR_USAGE, "%s: it holds no certificate", name);
	else
		rc = 0;
done:
	X509_free(root);
	BIO_free(bio);
	return rc;
}

static int add_file(struct trust *t, const char *path, struct err *err)
{
	char *bytes = mem_alloc(MAX_ROOT_FILE + 1);
	FILE *file = fopen(path, "rb");
	X509 *root = NULL;
	size_t len;
	int rc = -1;

	if (!file) {
		err_set(err, ERR_USAGE, "%s: cannot be read: %m", path);
		goto done;
	}
	len = fread(bytes, 1, MAX_ROOT_FILE + 1, file);
	if (ferror(file) || len > MAX_ROOT_FILE) {
		err_set(err, ERR_USAGE, "%s: is too large or cannot be read", path);
		goto done;
	}
	root = trust_parse_der(bytes, len);
	rc = root ? add_root(t, root, path, err) : add_pem(t, bytes, len, path, err);
done:
	X509_free(root);
	if (file)
		fclose(file);
	free(bytes);
	return rc;
}

static int add_pinned(struct trust *t, struct err *err)
{
	BIO *bio = BIO_new_mem_buf(producer_apple_root_ca_g3_pem, -1);
	X509 *root = bio ? PEM_read_bio_X509(bio, NULL, NULL, NULL) : NULL;
	char hex[HEX_SHA256_SIZE] = "";
	unsigned char *der = NULL;
	int len = i2d_X509(root, &der), rc = -1;

	if (len > 0)
		hex_sha256(der, (size_t)len, hex);
	if (strcmp(hex, PINNED_ROOT) != 0)
		err_set(err, ERR_FATAL, "the built-in Apple Root CA - G3 is not the pinned one");
	else
		rc = add_root(t, root, "the built-in Apple Root CA - G3", err);
	OPENSSL_free(der);
	X509_free(root);
	BIO_free(bio);
	return rc;
}

int trust_new(const char *const *files, size_t n, struct trust **ret_trust, struct err *err)
{
	struct trust *t = mem_zalloc(1, sizeof(*t));
	int rc = -1;

	t->store = X509_STORE_new();
	if (!t->store)
		abort();
	if (n == 0 && add_pinned(t, err) < 0)
		goto done;
	for (size_t i = 0; i < n; i++)
		if (add_file(t, files[i], err) < 0)
			goto done;
	*ret_trust = t;
	t = NULL;
	rc = 0;
done:
	trust_free(t);
	return rc;
}

void trust_free(struct trust *t)
{
	if (!t)
		return;
	X509_STORE_free(t->store);
	free(t);
}

X509_STORE *trust_store(const struct trust *t)
{
	return t->store;
}
