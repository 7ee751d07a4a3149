#include "tests/support/pause.h"

#include <errno.h>
#include <time.h>

int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

void sleep_ms(int64_t ms)
{
	struct timespec wait = {ms / 1000, ms % 1000 * 1000000};

	while (nanosleep(&wait, &wait) < 0 && errno == EINTR)
		;
}

void poll_pause(int64_t since_ms)
{
	const int64_t least_ms = 5, most_ms = 20;
	int64_t part_ms = (now_ms() - since_ms) / 16;

	sleep_ms(part_ms < least_ms ? least_ms : part_ms > most_ms ? most_ms : part_ms);
}
