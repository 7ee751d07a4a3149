#include "tests/support/signer.h"

#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/http.h"
#include "tests/support/signer_private.h"
#include "tests/support/test_ca.h"
#include "tests/support/test_jws.h"
#include "tests/support/text.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define POST_MS 30000

/* Made once a program, freed at its end: signers, of which there may be many, share them. */
static struct {
	struct test_ca *apple;
	EVP_PKEY *google;
} keys;

struct signer {
	char *root_path;
	char *jwks_path;
};

static void free_keys(void)
{
	test_ca_free(keys.apple);
	EVP_PKEY_free(keys.google);
}

static void make_keys(void)
{
	keys.apple = test_ca_new(NULL);
	keys.google = google_key_new();
	atexit(free_keys);
}

struct signer *signer_new(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct signer *s = calloc(1, sizeof(*s));

	if (s == NULL)
		die("out of memory");
	pthread_once(&once, make_keys);
	return s;
}

void signer_free(struct signer *s)
{
	if (s == NULL)
		return;
	free(s->root_path);
	free(s->jwks_path);
	free(s);
}

void signer_write(struct signer *s, const char *dir)
{
	char *jwks = google_jwks(keys.google);

	free(s->root_path);
	free(s->jwks_path);
	s->root_path = text_format("%s/apple-test-root.pem", dir);
	s->jwks_path = text_format("%s/google-jwks.json", dir);
	test_ca_write_root_pem(keys.apple, s->root_path);
	file_write(s->jwks_path, jwks);
	free(jwks);
}

const char *signer_root_path(const struct signer *s)
{
	return s->root_path;
}

const char *signer_jwks_path(const struct signer *s)
{
	return s->jwks_path;
}

EVP_PKEY *signer_google_key(const struct signer *s)
{
	(void)s;
	return keys.google;
}

char *sign_apple(struct signer *s, const char *payload_json)
{
	(void)s;
	return test_jws(keys.apple, payload_json);
}

int signer_post(const char *base_url, const char *store, const char *const *headers,
    const char *body, char **ret_body)
{
	char *url = text_format("%s/webhooks/%s", base_url, store);
	struct http_answer answer;
	int status;

	http_request("POST", url, headers, body, strlen(body), POST_MS, &answer);
	status = answer.status;
	if (ret_body != NULL) {
		*ret_body = answer.body;
		answer.body = NULL;
	}
	http_answer_done(&answer);
	free(url);
	return status;
}
