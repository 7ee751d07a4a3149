/*
 * The schedule of chaos is a function of its seed, and keeps apart what must not happen at once.
 */
#include "tests/chaos/faults.h"
#include "tests/support/check.h"

#define FOR_MS 60000
#define MEAN_MS 100

static bool is_same(const struct step *a, const struct step *b)
{
	return a->fault == b->fault && a->target == b->target && a->detail == b->detail &&
	       a->at_ms == b->at_ms && a->for_ms == b->for_ms && a->ends == b->ends;
}

static void a_seed_gives_the_same_schedule(void)
{
	struct schedule a, b, c;
	bool differs = false;

	schedule_make(faults, check_seed(), FOR_MS, MEAN_MS, &a);
	schedule_make(faults, check_seed(), FOR_MS, MEAN_MS, &b);
	schedule_make(faults, check_seed() + 1, FOR_MS, MEAN_MS, &c);
	CHECK(a.n > 100);
	CHECK_INT(a.n, b.n);
	for (size_t i = 0; i < a.n; i++)
		CHECK(is_same(&a.steps[i], &b.steps[i]));
	for (size_t i = 0; i < a.n && i < c.n; i++)
		differs |= !is_same(&a.steps[i], &c.steps[i]);
	CHECK(differs);
	schedule_done(&a);
	schedule_done(&b);
	schedule_done(&c);
}

/* Goes through the schedule as a run does. */
static void nothing_is_used_that_was_taken_away(void)
{
	uint32_t taken = 0;
	struct schedule s;
	int64_t last_ms = 0;

	schedule_make(faults, check_seed(), FOR_MS, MEAN_MS, &s);
	for (size_t i = 0; i < s.n; i++) {
		const struct step *step = &s.steps[i];
		uint32_t takes = step->fault->takes << step->target;

		CHECK(step->at_ms >= last_ms && step->at_ms <= FOR_MS);
		last_ms = step->at_ms;
		CHECK(step->target < step->fault->targets);
		CHECK((taken & step->fault->needs) == 0);
		CHECK((taken & takes) == (step->ends ? takes : 0));
		if (step->fault->end != NULL)
			taken ^= takes;
	}
	CHECK_INT(taken, 0);
	schedule_done(&s);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"a seed gives the same schedule", a_seed_gives_the_same_schedule},
	    {"nothing is used that was taken away", nothing_is_used_that_was_taken_away},
	    {NULL, NULL},
	};

	return check_main("chaos schedule", checks, argc, argv);
}
