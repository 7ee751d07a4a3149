#include "producer/jwks.h"
#include "tests/producer/google_keys.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/pause.h"
#include "tests/support/stub_server.h"
#include "tests/support/text.h"

#include <openssl/rsa.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define DAY_MS 86400000

struct bench {
	struct stub_server *server;
	struct fetcher *fetcher;
	struct jwks *keys;
};

static void serve(struct bench *b, const char *headers, char *set)
{
	stub_answer(b->server, 200, headers, set, strlen(set));
	free(set);
}

static void serve_key(struct bench *b, const char *headers, const char *kid)
{
	serve(b, headers, test_jwks(kid, test_rsa_key(), NULL));
}

static void bench_prepare(struct bench *b)
{
	struct err err = ERR_INIT;

	*b = (struct bench){.server = stub_open()};
	CHECK_INT(fetch_open(&b->fetcher, &err), 0);
}

static void bench_open(struct bench *b, int64_t cooldown_ms, int64_t max_stale_ms)
{
	struct jwks_config config = {
	    .url = stub_url(b->server), .cooldown_ms = cooldown_ms, .max_stale_ms = max_stale_ms};
	struct err err = ERR_INIT;

	CHECK_INT(jwks_open(&config, b->fetcher, &b->keys, &err), 0);
}

static void bench_close(struct bench *b)
{
	fetch_close(b->fetcher);
	jwks_close(b->keys);
	stub_close(b->server);
}

static enum jwks_result find(struct jwks *keys, const char *kid)
{
	EVP_PKEY *key = NULL;
	enum jwks_result result = jwks_find(keys, kid, &key);

	CHECK_INT(key != NULL, result == JWKS_FOUND);
	EVP_PKEY_free(key);
	return result;
}

/* The answer once nothing is on its way any more. */
static enum jwks_result settled(struct jwks *keys, const char *kid)
{
	int64_t deadline = now_ms() + 10000;
	enum jwks_result result;

	while ((result = find(keys, kid)) == JWKS_FETCHING && now_ms() < deadline)
		sleep_ms(2);
	return result;
}

static void await_result(struct jwks *keys, const char *kid, enum jwks_result expected)
{
	int64_t deadline = now_ms() + 10000;

	while (find(keys, kid) != expected && now_ms() < deadline)
		sleep_ms(2);
	CHECK_INT(find(keys, kid), expected);
}

/* B15: rotation without a restart. */
static void test_rotation(void)
{
	struct bench b;

	bench_prepare(&b);
	serve_key(&b, "", "k1");
	bench_open(&b, 60000, DAY_MS);
	CHECK_INT(settled(b.keys, "k1"), JWKS_FOUND);
	serve_key(&b, "", "k2");
	CHECK_INT(find(b.keys, "k2"), JWKS_FETCHING);
	CHECK_INT(settled(b.keys, "k2"), JWKS_FOUND);
	CHECK_INT(stub_hits(b.server), 2);
	/* A key that was withdrawn is gone. */
	CHECK_INT(settled(b.keys, "k1"), JWKS_UNKNOWN);
	bench_close(&b);
}

/* B15: random kids cause one fetch in a cool-down, and k2 goes on. */
static void test_flood(void)
{
	struct bench b;

	bench_prepare(&b);
	serve_key(&b, "", "k2");
	bench_open(&b, 60000, DAY_MS);
	CHECK_INT(settled(b.keys, "k2"), JWKS_FOUND);
	for (int i = 0; i < 1000; i++) {
		char kid[16];

		snprintf(kid, sizeof(kid), "r%d", i);
		CHECK_INT(settled(b.keys, kid), JWKS_UNKNOWN);
		CHECK_INT(find(b.keys, "k2"), JWKS_FOUND);
	}
	CHECK_INT(stub_hits(b.server), 2);
	bench_close(&b);
}

static void test_cooldown_ends(void)
{
	struct bench b;

	bench_prepare(&b);
	serve_key(&b, "", "k1");
	bench_open(&b, 50, DAY_MS);
	CHECK_INT(settled(b.keys, "x"), JWKS_UNKNOWN);
	serve_key(&b, "", "x");
	await_result(b.keys, "x", JWKS_FOUND);
	bench_close(&b);
}

/* The answer once the address has answered anew, as it was told last. */
static enum jwks_result renewed(struct bench *b, const char *kid)
{
	int hits = stub_hits(b->server);
	int64_t deadline = now_ms() + 10000;

	/* One fetch may have begun before; when a second one begins, the first of ours is over. */
	while (stub_hits(b->server) < hits + 2 && now_ms() < deadline) {
		find(b->keys, kid);
		sleep_ms(2);
	}
	return settled(b->keys, kid);
}

/* B15: the address is down; what is known stays, what is not known is not refused for good. */
static void test_outage(void)
{
	struct bench b;

	bench_prepare(&b);
	serve_key(&b, "", "k2");
	bench_open(&b, 10, DAY_MS);
	CHECK_INT(settled(b.keys, "k2"), JWKS_FOUND);
	stub_answer(b.server, -1, "", "", 0);
	CHECK_INT(renewed(&b, "k3"), JWKS_UNAVAILABLE);
	CHECK_INT(find(b.keys, "k2"), JWKS_FOUND);
	stub_answer(b.server, 500, "", "", 0);
	CHECK_INT(renewed(&b, "k3"), JWKS_UNAVAILABLE);
	CHECK_INT(find(b.keys, "k2"), JWKS_FOUND);
	serve(&b, "", strdup("{\"keys\":[]}"));
	CHECK_INT(renewed(&b, "k3"), JWKS_UNAVAILABLE);
	CHECK_INT(find(b.keys, "k2"), JWKS_FOUND);
	serve_key(&b, "", "k3");
	await_result(b.keys, "k3", JWKS_FOUND);
	CHECK_INT(settled(b.keys, "k2"), JWKS_UNKNOWN);
	bench_close(&b);
}

static void test_stale_at_most(void)
{
	struct bench b;

	bench_prepare(&b);
	serve_key(&b, "Cache-Control: no-cache\r\n", "k1");
	bench_open(&b, 10, 300);
	CHECK_INT(settled(b.keys, "k1"), JWKS_FOUND);
	stub_answer(b.server, -1, "", "", 0);
	await_result(b.keys, "k1", JWKS_UNAVAILABLE);
	serve_key(&b, "", "k1");
	await_result(b.keys, "k1", JWKS_FOUND);
	bench_close(&b);
}

/* An old set is asked for again without anybody waiting. */
static void test_refresh(void)
{
	struct bench b;

	bench_prepare(&b);
	serve_key(&b, "Cache-Control: public, max-age=0\r\n", "k1");
	bench_open(&b, 10, DAY_MS);
	CHECK_INT(settled(b.keys, "k1"), JWKS_FOUND);
	while (stub_hits(b.server) < 3) {
		CHECK_INT(find(b.keys, "k1"), JWKS_FOUND);
		sleep_ms(2);
	}
	bench_close(&b);
}

static void test_down_at_start(void)
{
	struct bench b;

	bench_prepare(&b);
	stub_answer(b.server, 0, "", "", 0);
	bench_open(&b, 10, DAY_MS);
	CHECK_INT(find(b.keys, "k1"), JWKS_FETCHING);
	bench_close(&b);

	bench_prepare(&b);
	stub_answer(b.server, 503, "", "", 0);
	bench_open(&b, 10, DAY_MS);
	await_result(b.keys, "k1", JWKS_UNAVAILABLE);
	serve_key(&b, "", "k1");
	await_result(b.keys, "k1", JWKS_FOUND);
	bench_close(&b);
}

/* Frees set, all of whose keys are named k. */
static void expect_set(char *set, enum jwks_result expected)
{
	struct bench b;

	bench_prepare(&b);
	serve(&b, "", set);
	bench_open(&b, 60000, DAY_MS);
	CHECK_INT(settled(b.keys, "k"), expected);
	bench_close(&b);
}

static void test_usable_keys(void)
{
	EVP_PKEY *weak = EVP_RSA_gen(1024);
	EVP_PKEY *key = test_rsa_key();

	expect_set(test_jwks("k", key, NULL), JWKS_FOUND);
	expect_set(test_jwks("k", key, ",\"use\":\"sig\",\"alg\":\"RS256\""), JWKS_FOUND);
	expect_set(test_jwks("k", weak, NULL), JWKS_UNAVAILABLE);
	expect_set(test_jwks("k", key, ",\"use\":\"enc\""), JWKS_UNAVAILABLE);
	expect_set(test_jwks("k", key, ",\"alg\":\"RS512\""), JWKS_UNAVAILABLE);
	expect_set(test_jwks("k", key, ",\"key_ops\":[\"verify\"]"), JWKS_FOUND);
	expect_set(test_jwks("k", key, ",\"key_ops\":[\"encrypt\"]"), JWKS_UNAVAILABLE);
	expect_set(test_jwks("k", key, ",\"kid\":\"k\""), JWKS_UNAVAILABLE);
	expect_set(strdup("{\"keys\":[{\"kty\":\"oct\",\"k\":\"AAAA\",\"kid\":\"k\"}]}"),
	    JWKS_UNAVAILABLE);
	expect_set(strdup("{\"keys\":[{\"kty\":\"RSA\",\"kid\":\"k\"}]}"), JWKS_UNAVAILABLE);
	expect_set(strdup("{\"keys\":{\"k\":1}}"), JWKS_UNAVAILABLE);
	expect_set(strdup("[]"), JWKS_UNAVAILABLE);
	EVP_PKEY_free(weak);
}

static void test_too_long(void)
{
	const size_t len = (size_t)256 * 1024 + 1;
	char *set = test_jwks("k1", test_rsa_key(), NULL);
	char *padded = text_format("%-*s", (int)len, set);
	struct bench b;

	bench_prepare(&b);
	stub_answer(b.server, 200, "", padded, len);
	bench_open(&b, 10, DAY_MS);
	CHECK_INT(renewed(&b, "k1"), JWKS_UNAVAILABLE);
	stub_answer(b.server, 200, "", padded, len - 1);
	await_result(b.keys, "k1", JWKS_FOUND);
	bench_close(&b);
	free(set);
	free(padded);
}

static void test_file(void)
{
	char *path = text_format("%s/umavez-jwks-%d.json", temp_root(), (int)getpid());
	struct jwks_config config = {.file = path, .cooldown_ms = 10, .max_stale_ms = 1};
	char *set = test_jwks("k1", test_rsa_key(), NULL);
	struct err err = ERR_INIT;
	struct jwks *keys = NULL;

	CHECK_INT(jwks_open(&config, NULL, &keys, &err), -1);
	CHECK_INT(err.kind, ERR_USAGE);
	CHECK(strstr(err.message, path) != NULL);
	file_write(path, "{}");
	CHECK_INT(jwks_open(&config, NULL, &keys, &err), -1);
	file_write(path, set);
	CHECK_INT(jwks_open(&config, NULL, &keys, &err), 0);
	CHECK_INT(find(keys, "k1"), JWKS_FOUND);
	CHECK_INT(find(keys, "k2"), JWKS_UNKNOWN);
	free(set);
	set = test_jwks("k2", test_rsa_key(), NULL);
	file_write(path, set);
	await_result(keys, "k2", JWKS_FOUND);
	unlink(path);
	await_result(keys, "k3", JWKS_UNAVAILABLE);
	CHECK_INT(find(keys, "k2"), JWKS_FOUND);
	jwks_close(keys);
	jwks_close(NULL);
	free(set);
	free(path);
}

/* RFC 7517, A.1: an EC key and an RSA key. */
static void test_rfc7517(void)
{
	struct jwks_config config = {
	    .file = GOOGLE_VECTORS "jose_rfc_vectors/rfc7517_A.1.jwkset", .cooldown_ms = 60000};
	struct err err = ERR_INIT;
	struct jwks *keys = NULL;

	CHECK_INT(jwks_open(&config, NULL, &keys, &err), 0);
	CHECK_INT(find(keys, "2011-04-29"), JWKS_FOUND);
	CHECK_INT(find(keys, "1"), JWKS_UNKNOWN);
	jwks_close(keys);
}

static void test_insecure_url(void)
{
	struct jwks_config config = {.url = "http://me:secret@www.googleapis.com/oauth2/v3/certs"};
	struct err err = ERR_INIT;
	struct jwks *keys = NULL;

	CHECK_INT(jwks_open(&config, NULL, &keys, &err), -1);
	CHECK_INT(err.kind, ERR_USAGE);
	CHECK(strncmp(err.message, "http://me:***@www.", 18) == 0);
	CHECK(keys == NULL);
}

static void test_max_age(void)
{
	CHECK_INT(jwks_max_age_ms(NULL, 7), 7);
	CHECK_INT(jwks_max_age_ms("", 7), 7);
	CHECK_INT(jwks_max_age_ms("public", 7), 7);
	CHECK_INT(jwks_max_age_ms("public, max-age=21600, must-revalidate", 7), 21600000);
	CHECK_INT(jwks_max_age_ms("Max-Age=5 ", 7), 5000);
	CHECK_INT(jwks_max_age_ms("max-age=0", 7), 0);
	CHECK_INT(jwks_max_age_ms("max-age=5, no-store", 7), 0);
	CHECK_INT(jwks_max_age_ms("no-cache", 7), 0);
	CHECK_INT(jwks_max_age_ms("max-age=", 7), 7);
	CHECK_INT(jwks_max_age_ms("max-age=-1", 7), 7);
	CHECK_INT(jwks_max_age_ms("max-age=9999999999", 7), 7);
	CHECK_INT(jwks_max_age_ms("s-max-age=5,x-max-age=6", 7), 7);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"B15 rotation without a restart", test_rotation},
	    {"B15 a flood of random kids", test_flood},
	    {"B15 the cool-down ends", test_cooldown_ends},
	    {"B15 the address is down", test_outage},
	    {"stale keys end", test_stale_at_most},
	    {"an old set is fetched again", test_refresh},
	    {"down at the start", test_down_at_start},
	    {"only strong RSA keys for signatures", test_usable_keys},
	    {"256 KiB", test_too_long},
	    {"from a file", test_file},
	    {"RFC 7517 A.1", test_rfc7517},
	    {"an address that is not secure", test_insecure_url},
	    {"max-age", test_max_age},
	    {NULL, NULL},
	};

	return check_main("producer jwks", checks, argc, argv);
}
