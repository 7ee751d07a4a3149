#include "tests/support/seed.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* The environment keeps the seed, so that every call and every child sees the same one. */
uint64_t check_seed(void)
{
	const char *text = getenv("SEED");
	char buf[32];
	struct timespec now;

	if (text == NULL || *text == '\0') {
		clock_gettime(CLOCK_REALTIME, &now);
		snprintf(buf, sizeof(buf), "%" PRIu64,
		    ((uint64_t)now.tv_sec * 1000000007U) ^ (uint64_t)now.tv_nsec ^
			(uint64_t)getpid());
		setenv("SEED", buf, 1);
		text = buf;
	}
	return strtoull(text, NULL, 0);
}
