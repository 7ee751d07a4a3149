#include "tests/chaos/schedule.h"

#include "common/clock.h"
#include "tests/support/die.h"

#include <stdlib.h>

/* What is under way while the schedule is made. */
struct planner {
	const struct fault *faults;
	unsigned weights; /* of all */
	struct rng rng;
	struct schedule *schedule;
	size_t room;
};

static uint64_t below(struct rng *rng, uint64_t bound)
{
	return rng_next(rng) % bound;
}

static void add(struct planner *p, const struct step *step)
{
	struct schedule *s = p->schedule;

	if (s->n == p->room) {
		p->room = 2 * p->room + 64;
		s->steps = realloc(s->steps, p->room * sizeof(*s->steps));
		if (s->steps == NULL)
			die("out of memory");
	}
	s->steps[s->n++] = *step;
}

static const struct fault *draw(struct planner *p)
{
	const struct fault *fault = p->faults;
	uint64_t n = below(&p->rng, p->weights);

	for (; n >= fault->weight; fault++)
		n -= fault->weight;
	return fault;
}

static uint32_t takes(const struct step *step)
{
	return step->fault->takes << step->target;
}

/* Both use something that one of them takes away, at one time. */
static bool collide(const struct step *a, const struct step *b)
{
	bool together = a->at_ms <= b->at_ms + b->for_ms && b->at_ms <= a->at_ms + a->for_ms;

	return together && ((takes(a) & (takes(b) | b->fault->needs)) ||
			       (takes(b) & (takes(a) | a->fault->needs)));
}

static bool fits(const struct planner *p, const struct step *step)
{
	const struct schedule *s = p->schedule;

	for (size_t i = 0; i < s->n; i++)
		if (!s->steps[i].ends && collide(&s->steps[i], step))
			return false;
	return true;
}

/* What does not fit is left out: the seed decides that too. */
static void plan(struct planner *p, int64_t at_ms, int64_t until_ms)
{
	const struct fault *fault = draw(p);
	uint64_t span = (uint64_t)(fault->max_ms - fault->min_ms + 1);
	struct step step = {.fault = fault, .at_ms = at_ms};

	step.target = (unsigned)below(&p->rng, fault->targets);
	step.detail = rng_next(&p->rng);
	step.for_ms = fault->min_ms + (int64_t)below(&p->rng, span);
	if (at_ms + step.for_ms > until_ms)
		step.for_ms = until_ms - at_ms;
	if (!fits(p, &step))
		return;
	add(p, &step);
	if (fault->end == NULL)
		return;
	step.at_ms += step.for_ms;
	step.ends = true;
	add(p, &step);
}

static int compare(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->at_ms != y->at_ms)
		return x->at_ms < y->at_ms ? -1 : 1;
	/* Within a millisecond: what ends makes room for what begins. */
	return y->ends - x->ends;
}

void schedule_make(const struct fault *faults, uint64_t seed, int64_t for_ms, int64_t mean_ms,
    struct schedule *ret)
{
	struct planner p = {.faults = faults, .schedule = ret};

	*ret = (struct schedule){.n = 0};
	rng_seed(&p.rng, seed);
	for (const struct fault *f = faults; f->name != NULL; f++)
		p.weights += f->weight;
	for (int64_t at_ms = 0; at_ms < for_ms;
	     at_ms += 1 + (int64_t)below(&p.rng, (uint64_t)(2 * mean_ms)))
		plan(&p, at_ms, for_ms);
	if (ret->n > 0)
		qsort(ret->steps, ret->n, sizeof(*ret->steps), compare);
}

void schedule_done(struct schedule *s)
{
	free(s->steps);
	*s = (struct schedule){.n = 0};
}
