/* A JWK Set, as a file; and the same bytes as a Cache-Control header. */
#define OPENSSL_SUPPRESS_DEPRECATED
#include "producer/jwks.h"
#include "producer/json.h"
#include "tests/fuzz/fuzz.h"

#include <openssl/evp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* libjose's work on a key grows with it. */
#define MAX_SIZE 16384

static struct jwks *open_set(const uint8_t *data, size_t size)
{
	char path[40];
	struct jwks_config config = {.file = path, .cooldown_ms = INT64_C(1) << 40};
	int fd = memfd_create("jwks", MFD_CLOEXEC);
	struct jwks *keys = NULL;
	struct err err;

	FUZZ_CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (jwks_open(&config, NULL, &keys, &err) < 0)
		keys = NULL;
	close(fd);
	return keys;
}

static void check_found(const EVP_PKEY *key)
{
	FUZZ_CHECK(key && EVP_PKEY_is_a(key, "RSA") && EVP_PKEY_get_bits(key) >= 2048);
}

/* Each kid of the set, as far as it has one. */
static size_t find_all(struct jwks *keys, const json_t *set)
{
	size_t i, found = 0;
	json_t *jwk;

	json_array_foreach (json_object_get(set, "keys"), i, jwk) {
		const char *kid = json_get_string(jwk, "kid");
		EVP_PKEY *key = NULL;
		enum jwks_result result = kid ? jwks_find(keys, kid, &key) : JWKS_UNKNOWN;

		FUZZ_CHECK(
		    result == JWKS_FOUND || result == JWKS_UNKNOWN || result == JWKS_UNAVAILABLE);
		if (result != JWKS_FOUND)
			continue;
		found++;
		check_found(key);
		EVP_PKEY_free(key);
	}
	return found;
}

static void check_max_age(const uint8_t *data, size_t size)
{
	char *header = fuzz_text((struct fuzz_piece){(const char *)data, size});
	int64_t age = jwks_max_age_ms(header, -1);

	FUZZ_CHECK(age >= -1 && age <= INT64_C(999999999) * 1000);
	free(header);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *why;
	struct jwks *keys;
	json_t *set;

	if (size > MAX_SIZE)
		return 0;
	check_max_age(data, size);
	keys = open_set(data, size);
	set = json_read(data, size, &why);
	/* A set is good as soon as one key of it can be used, and that one can be found. */
	if (keys)
		FUZZ_CHECK(find_all(keys, set) > 0);
	json_decref(set);
	jwks_close(keys);
	return 0;
}
