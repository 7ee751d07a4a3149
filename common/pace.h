/*
 * pace.h - say a thing at once, and then at most once an interval.
 */
#ifndef UMAVEZ_PACE_H
#define UMAVEZ_PACE_H

#include <stdbool.h>
#include <stdint.h>

/* Zeroed: the next one is due. */
struct pace {
	int64_t next_us;
};

static inline bool pace_due(struct pace *p, int64_t now_us, int64_t interval_ms)
{
	if (now_us < p->next_us)
		return false;
	p->next_us = now_us + interval_ms * 1000;
	return true;
}

#endif
