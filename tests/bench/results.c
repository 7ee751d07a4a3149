#include "tests/bench/results.h"

#include "tests/support/die.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct results *results_new(void)
{
	struct results *r = calloc(1, sizeof(*r));

	if (r == NULL)
		die("out of memory");
	return r;
}

void results_free(struct results *r)
{
	for (int i = 0; i < r->n; i++) {
		free(r->all[i].obstacle);
		free(r->all[i].rounds);
	}
	free(r->all);
	free(r);
}

struct result *results_add(
    struct results *r, const struct chapter *chapter, const struct contestant *c)
{
	r->all = realloc(r->all, (size_t)(r->n + 1) * sizeof(*r->all));
	if (r->all == NULL)
		die("out of memory");
	r->all[r->n] = (struct result){.chapter = chapter, .contestant = c};
	return &r->all[r->n++];
}

struct outcome *result_round(struct result *r)
{
	struct outcome *o;

	r->rounds = realloc(r->rounds, (size_t)(r->n + 1) * sizeof(*r->rounds));
	if (r->rounds == NULL)
		die("out of memory");
	o = &r->rounds[r->n++];
	memset(o, 0, sizeof(*o));
	for (int f = 0; f < FIGURES; f++)
		o->figures[f] = NAN;
	return o;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double result_median(const struct result *r, enum figure figure)
{
	double *values = calloc((size_t)r->n + 1, sizeof(*values)), median = NAN;
	int n = 0;

	if (values == NULL)
		die("out of memory");
	for (int i = 0; i < r->n; i++)
		if (!isnan(r->rounds[i].figures[figure]))
			values[n++] = r->rounds[i].figures[figure];
	qsort(values, (size_t)n, sizeof(*values), ascending);
	if (n > 0)
		median = (values[(n - 1) / 2] + values[n / 2]) / 2;
	free(values);
	return median;
}

double results_median(const struct results *r, const char *contestant, enum figure figure)
{
	for (int i = 0; i < r->n; i++)
		if (strcmp(r->all[i].contestant->name, contestant) == 0)
			return result_median(&r->all[i], figure);
	return NAN;
}

int results_failed(const struct results *r)
{
	int failed = 0;

	for (int i = 0; i < r->n; i++)
		for (int k = 0; k < r->all[i].n; k++)
			failed += r->all[i].rounds[k].failed;
	return failed;
}
