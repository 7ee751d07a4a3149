/*
 * clock.h - time, and how long to wait before trying again.
 */
#ifndef UMAVEZ_CLOCK_H
#define UMAVEZ_CLOCK_H

#include <stddef.h>
#include <stdint.h>

/* Milliseconds since 1970, UTC: for people and for stores.  May step. */
int64_t clock_wall_ms(void);

/* Microseconds on a clock that never steps: for deadlines and durations. */
int64_t clock_mono_us(void);

/* "2026-01-01T00:00:00.123Z" and its NUL. */
#define CLOCK_RFC3339_SIZE 32

/* RFC 3339, UTC, milliseconds.  wall_ms must lie in the years 1 to 9999. */
void clock_rfc3339(int64_t wall_ms, char buf[CLOCK_RFC3339_SIZE]);

/* A splitmix64 stream: every random choice that a seed must be able to repeat. */
struct rng {
	uint64_t state;
};
void rng_seed(struct rng *rng, uint64_t seed);
void rng_seed_random(struct rng *rng); /* by random_bytes(): where nothing is to be repeated */
uint64_t rng_next(struct rng *rng);
double rng_unit(struct rng *rng); /* [0, 1) */

/* From getrandom(2): nonces, trace ids. Aborts if the kernel has no entropy source. */
void random_bytes(void *buf, size_t len);

/* Exponential backoff with full jitter, pure: attempt counts from 0; result in [min/2, max] ms. */
int64_t backoff_ms(unsigned attempt, int64_t min_ms, int64_t max_ms, struct rng *rng);

#endif
