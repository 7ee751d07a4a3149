#include "common/clock.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <time.h>

int64_t clock_wall_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_REALTIME, &ts);
	return (int64_t)ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

int64_t clock_mono_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (int64_t)ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

void clock_rfc3339(int64_t wall_ms, char buf[CLOCK_RFC3339_SIZE])
{
	int ms = (int)((wall_ms % 1000 + 1000) % 1000); /* also before 1970 */
	time_t s = (time_t)((wall_ms - ms) / 1000);
	struct tm tm;

	gmtime_r(&s, &tm);
	assert(tm.tm_year + 1900 >= 1 && tm.tm_year + 1900 <= 9999);
	size_t n = strftime(buf, CLOCK_RFC3339_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(buf + n, CLOCK_RFC3339_SIZE - n, ".%03dZ", ms);
}

void rng_seed(struct rng *rng, uint64_t seed)
{
	rng->state = seed;
}

void rng_seed_random(struct rng *rng)
{
	random_bytes(&rng->state, sizeof(rng->state));
}

/* splitmix64, https://prng.di.unimi.it/splitmix64.c */
uint64_t rng_next(struct rng *rng)
{
	uint64_t z = rng->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

double rng_unit(struct rng *rng)
{
	return (double)(rng_next(rng) >> 11) * 0x1p-53;
}

void random_bytes(void *buf, size_t len)
{
	char *at = buf;

	while (len > 0) {
		/* At most 256 bytes a call are never cut short by a signal. */
		size_t want = len < 256 ? len : 256;
		if (getrandom(at, want, 0) != (ssize_t)want)
			abort();
		at += want;
		len -= want;
	}
}

int64_t backoff_ms(unsigned attempt, int64_t min_ms, int64_t max_ms, struct rng *rng)
{
	int64_t ceiling = min_ms;

	assert(min_ms > 0 && min_ms <= max_ms);
	for (unsigned i = 0; i < attempt && ceiling < max_ms; i++)
		ceiling = ceiling > max_ms / 2 ? max_ms : ceiling * 2;
	int64_t floor = min_ms / 2;
	return floor + (int64_t)(rng_unit(rng) * (double)(ceiling - floor + 1));
}
