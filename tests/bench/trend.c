#include "tests/bench/trend.h"

#include "tests/support/die.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void trend_add(struct trend *t, double at, double value)
{
	if (t->n == t->room) {
		t->room = t->room ? 2 * t->room : 256;
		t->samples = realloc(t->samples, t->room * sizeof(*t->samples));
		if (t->samples == NULL)
			die("out of memory");
	}
	t->samples[t->n++] = (struct sample){at, value};
}

void trend_done(struct trend *t)
{
	free(t->samples);
	memset(t, 0, sizeof(*t));
}

/* The slope of the line with the least squares. */
static double slope(const struct sample *samples, size_t n)
{
	double at = 0, value = 0, above = 0, below = 0;

	for (size_t i = 0; i < n; i++) {
		at += samples[i].at / (double)n;
		value += samples[i].value / (double)n;
	}
	for (size_t i = 0; i < n; i++) {
		above += (samples[i].at - at) * (samples[i].value - value);
		below += (samples[i].at - at) * (samples[i].at - at);
	}
	return above / below;
}

bool trend_summarize(const struct trend *t, double from, struct trend_summary *ret)
{
	const struct sample *samples = t->samples;
	size_t n = t->n;

	for (; n > 0 && samples->at < from; samples++)
		n--;
	if (n < 2 || samples[n - 1].at <= samples[0].at)
		return false;
	*ret = (struct trend_summary){samples[0].value, samples[n - 1].value, samples[0].value,
	    slope(samples, n) * (samples[n - 1].at - samples[0].at)};
	for (size_t i = 0; i < n; i++)
		ret->max = fmax(ret->max, samples[i].value);
	return true;
}

bool trend_is_flat(const struct trend_summary *s, double slack, double share)
{
	return s->rise <= fmax(slack, share * s->first);
}
