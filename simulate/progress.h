/*
 * progress.h - what happens, line by line on stderr, for people who wait.
 */
#ifndef UMAVEZ_SIMULATE_PROGRESS_H
#define UMAVEZ_SIMULATE_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	bool quiet;
	int64_t started_ms;
};

void progress_init(struct progress *p, bool quiet);

/* With the time since progress_init(). */
void progress_say(const struct progress *p, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

#endif
