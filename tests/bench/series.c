#include "tests/bench/series.h"

void series_add(struct series *s, int64_t elapsed_us, int64_t messages)
{
	int64_t at = elapsed_us / (SERIES_STEP_MS * 1000);

	if (at < 0 || at >= SERIES_MAX)
		return;
	if (s->n <= at)
		s->n = (int)at + 1;
	s->per_second[at] += (double)messages * 1000 / SERIES_STEP_MS;
}
