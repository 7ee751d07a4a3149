#include "tests/bench/histogram.h"

#define SUB (1 << HISTOGRAM_BITS)

static int bucket_of(int64_t us)
{
	uint64_t v = us < 0 ? 0 : (uint64_t)us;
	int shift, at;

	if (v < SUB)
		return (int)v;
	shift = 63 - __builtin_clzll(v) - HISTOGRAM_BITS;
	at = SUB * (shift + 1) + (int)(v >> shift) - SUB;
	return at < HISTOGRAM_BUCKETS ? at : HISTOGRAM_BUCKETS - 1;
}

/* The greatest value that falls into it. */
static int64_t bucket_top(int at)
{
	int shift = at / SUB - 1;

	if (at < SUB)
		return at;
	return (((int64_t)(at % SUB + SUB) + 1) << shift) - 1;
}

void histogram_add(struct histogram *h, int64_t us)
{
	h->buckets[bucket_of(us)]++;
	h->n++;
	if (us > h->max)
		h->max = us;
}

void histogram_merge(struct histogram *into, const struct histogram *h)
{
	for (int i = 0; i < HISTOGRAM_BUCKETS; i++)
		into->buckets[i] += h->buckets[i];
	into->n += h->n;
	if (h->max > into->max)
		into->max = h->max;
}

int64_t histogram_quantile(const struct histogram *h, double share)
{
	int64_t below = 0, wanted = (int64_t)(share * (double)h->n);

	if (h->n == 0)
		return 0;
	for (int i = 0; i < HISTOGRAM_BUCKETS; i++) {
		below += h->buckets[i];
		if (below > wanted || below == h->n)
			return bucket_top(i) < h->max ? bucket_top(i) : h->max;
	}
	return h->max;
}
