/*
 * schedule.h - what goes wrong when: a pure function of a seed.
 */
#ifndef UMAVEZ_TESTS_CHAOS_SCHEDULE_H
#define UMAVEZ_TESTS_CHAOS_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct scene;

/* One kind of fault for one target, which it begins and ends or does in a moment. */
struct step {
	const struct fault *fault;
	unsigned target;
	uint64_t detail; /* what else is left to chance; the same in begin() and end() */
	int64_t at_ms;   /* since the beginning of the chaos */
	int64_t for_ms;  /* 0: a moment */
	bool ends;       /* this is its end */
};

/*
 * A row of the table of faults.  To add one is to add a row and its functions; `takes` and `needs`
 * keep it apart from others, so that functions can rely on what they use being there.
 */
struct fault {
	const char *name;
	unsigned weight;  /* how often, compared with others */
	unsigned targets; /* 0 ... targets - 1 */
	int64_t min_ms, max_ms;
	/* Of target 0, and shifted by the target: a bit for each thing that it takes away from
	 * others while it lasts. */
	uint32_t takes;
	uint32_t
	    needs; /* what nobody may have taken away, or take meanwhile; whatever the target */
	void (*begin)(struct scene *s, const struct step *step);
	void (*end)(struct scene *s, const struct step *step); /* NULL: nothing to be done */
};

struct schedule {
	size_t n;
	struct step *steps; /* by time; every fault that begins also ends */
};

/* faults: ends with a row without a name; borrowed. mean_ms: between two faults. */
void schedule_make(const struct fault *faults, uint64_t seed, int64_t for_ms, int64_t mean_ms,
    struct schedule *ret);
void schedule_done(struct schedule *s);

#endif
