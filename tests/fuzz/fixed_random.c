#define OPENSSL_SUPPRESS_DEPRECATED /* the only way to set where its random bytes come from */

#include "tests/fuzz/fuzz.h"

#include <openssl/rand.h>

/* splitmix64: https://prng.di.unimi.it/splitmix64.c */
static uint64_t next_random(void)
{
	static uint64_t state;
	uint64_t z = state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static int fill(unsigned char *buf, int n)
{
	for (int i = 0; i < n; i++)
		buf[i] = (unsigned char)next_random();
	return 1;
}

static int status(void)
{
	return 1;
}

void fuzz_fix_random(void)
{
	static const RAND_METHOD method = {.bytes = fill, .pseudorand = fill, .status = status};

	FUZZ_CHECK(RAND_set_rand_method(&method));
}
