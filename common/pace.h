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

/* Of what comes often: how many there were since that was last said. Zeroed: the first is due. */
struct tally {
	struct pace pace;
	int64_t n;
};

/* How many to tell of now, counted anew from then on; 0: none, or not yet. */
static inline int64_t tally_take(struct tally *t, int64_t now_us, int64_t interval_ms)
{
	int64_t n = t->n;

	if (n == 0 || !pace_due(&t->pace, now_us, interval_ms))
		return 0;
	t->n = 0;
	return n;
}

#endif
