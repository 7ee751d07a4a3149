/*
 * wall.h - the clock that PostgreSQL stamps commits with, in microseconds.
 */
#ifndef UMAVEZ_BENCH_WALL_H
#define UMAVEZ_BENCH_WALL_H

#include <stdint.h>
#include <time.h>

static inline int64_t wall_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

#endif
