#include "common/metric.h"

#include "common/memory.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct metric {
	struct metric *next;
	const struct metric_family *family;
	char **values;            /* one a label */
	_Atomic uint64_t number;  /* bits of a double: the value, or a histogram's sum */
	_Atomic uint64_t *counts; /* histograms: one a bucket and one for +Inf */
};

struct metric_family {
	struct metric_family *next;
	enum metric_type type;
	const char *name, *help;
	const char *const *labels;
	const double *buckets;
	size_t n_labels, n_buckets;
	pthread_mutex_t lock; /* the list of series; their numbers are atomic */
	struct metric *first, **last;
	size_t n_series;
};

struct metrics {
	pthread_mutex_t lock; /* the list of families */
	struct metric_family *first, **last;
};

const double metric_latency_buckets[] = {
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 0};
const double metric_size_buckets[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 0};

static double to_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

static uint64_t to_bits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

static void add_atomic(_Atomic uint64_t *number, double amount)
{
	uint64_t old = atomic_load(number);

	while (!atomic_compare_exchange_weak(number, &old, to_bits(to_double(old) + amount)))
		;
}

struct metrics *metrics_new(void)
{
	struct metrics *m = mem_zalloc(1, sizeof(*m));

	pthread_mutex_init(&m->lock, NULL);
	m->last = &m->first;
	return m;
}

static void series_free(struct metric *s)
{
	for (size_t i = 0; i < s->family->n_labels; i++)
		free(s->values[i]);
	free(s->values);
	free(s->counts);
	free(s);
}

static void family_free(struct metric_family *f)
{
	for (struct metric *s = f->first, *next; s; s = next) {
		next = s->next;
		series_free(s);
	}
	pthread_mutex_destroy(&f->lock);
	free(f);
}

void metrics_free(struct metrics *m)
{
	if (!m)
		return;
	for (struct metric_family *f = m->first, *next; f; f = next) {
		next = f->next;
		family_free(f);
	}
	pthread_mutex_destroy(&m->lock);
	free(m);
}

static struct metric_family *family_new(enum metric_type type, const char *name, const char *help,
    const char *const *labels, const double *buckets)
{
	struct metric_family *f = mem_zalloc(1, sizeof(*f));

	assert((type == METRIC_HISTOGRAM) == (buckets != NULL));
	f->type = type;
	f->name = name;
	f->help = help;
	f->labels = labels;
	f->buckets = buckets;
	while (labels && labels[f->n_labels])
		f->n_labels++;
	while (buckets && buckets[f->n_buckets] != 0)
		f->n_buckets++;
	pthread_mutex_init(&f->lock, NULL);
	f->last = &f->first;
	return f;
}

struct metric_family *metric_family(struct metrics *m, enum metric_type type, const char *name,
    const char *help, const char *const *labels, const double *buckets)
{
	struct metric_family *f;

	pthread_mutex_lock(&m->lock);
	for (f = m->first; f; f = f->next) {
		if (strcmp(f->name, name) == 0)
			break;
	}
	if (!f) {
		f = family_new(type, name, help, labels, buckets);
		*m->last = f;
		m->last = &f->next;
	}
	pthread_mutex_unlock(&m->lock);
	assert(f->type == type);
	return f;
}

static struct metric *series_find(struct metric_family *f, const char *const *values)
{
	for (struct metric *s = f->first; s; s = s->next) {
		size_t same = 0;
		while (same < f->n_labels && strcmp(s->values[same], values[same]) == 0)
			same++;
		if (same == f->n_labels)
			return s;
	}
	return NULL;
}

static struct metric *series_new(struct metric_family *f, const char *const *values)
{
	size_t n = f->n_labels;
	struct metric *s = mem_zalloc(1, sizeof(*s));

	s->family = f;
	s->values = mem_zalloc(n, sizeof(*s->values));
	for (size_t i = 0; i < n; i++)
		s->values[i] = mem_strdup(values[i]);
	if (f->type == METRIC_HISTOGRAM)
		s->counts = mem_zalloc(f->n_buckets + 1, sizeof(*s->counts));
	*f->last = s;
	f->last = &s->next;
	f->n_series++;
	return s;
}

/* Past the bound everything lands in one series; it does not count against the bound itself. */
static struct metric *series_other(struct metric_family *f)
{
	const char **others = mem_alloc(f->n_labels * sizeof(*others));

	for (size_t i = 0; i < f->n_labels; i++)
		others[i] = "other";
	struct metric *s = series_find(f, others);
	if (!s)
		s = series_new(f, others);
	free(others);
	return s;
}

struct metric *metric_series(struct metric_family *f, const char *const *values)
{
	pthread_mutex_lock(&f->lock);
	assert(values || f->n_labels == 0);
	struct metric *s = series_find(f, values);
	if (!s)
		s = f->n_series < METRIC_MAX_SERIES ? series_new(f, values) : series_other(f);
	pthread_mutex_unlock(&f->lock);
	return s;
}

struct metric *metric_plain(struct metrics *m, enum metric_type type, const char *name,
    const char *help, const double *buckets)
{
	return metric_series(metric_family(m, type, name, help, NULL, buckets), NULL);
}

void metric_add(struct metric *m, double amount)
{
	assert(m->family->type == METRIC_GAUGE || amount >= 0);
	add_atomic(&m->number, amount);
}

void metric_set(struct metric *m, double value)
{
	assert(m->family->type == METRIC_GAUGE);
	atomic_store(&m->number, to_bits(value));
}

void metric_observe(struct metric *m, double value)
{
	const struct metric_family *f = m->family;
	size_t i = 0;

	assert(f->type == METRIC_HISTOGRAM);
	while (i < f->n_buckets && !(value <= f->buckets[i]))
		i++;
	atomic_fetch_add(&m->counts[i], 1);
	add_atomic(&m->number, value);
}

double metric_value(const struct metric *m)
{
	double count = 0;

	if (m->family->type != METRIC_HISTOGRAM)
		return to_double(atomic_load(&m->number));
	for (size_t i = 0; i <= m->family->n_buckets; i++)
		count += (double)atomic_load(&m->counts[i]);
	return count;
}

/* The shortest of two precisions that reads back as the same number. */
static void render_number(FILE *out, double value)
{
	char text[32];

	if (isinf(value)) {
		fputs(value > 0 ? "+Inf" : "-Inf", out);
		return;
	}
	if (isnan(value)) {
		fputs("NaN", out);
		return;
	}
	snprintf(text, sizeof(text), "%.15g", value);
	if (strtod(text, NULL) != value)
		snprintf(text, sizeof(text), "%.17g", value);
	fputs(text, out);
}

static void render_escaped(FILE *out, const char *text, const char *also)
{
	for (; *text; text++) {
		if (*text == '\n')
			fputs("\\n", out);
		else if (*text == '\\' || strchr(also, *text))
			fprintf(out, "\\%c", *text);
		else
			putc(*text, out);
	}
}

static void render_name(FILE *out, const struct metric *s, const char *suffix, const double *le)
{
	const struct metric_family *f = s->family;
	const char *separator = "{";

	fprintf(out, "%s%s", f->name, suffix);
	for (size_t i = 0; i < f->n_labels; i++) {
		fprintf(out, "%s%s=\"", separator, f->labels[i]);
		render_escaped(out, s->values[i], "\"");
		putc('"', out);
		separator = ",";
	}
	if (le) {
		fprintf(out, "%sle=\"", separator);
		render_number(out, *le);
		putc('"', out);
		separator = ",";
	}
	fputs(*separator == ',' ? "} " : " ", out);
}

static void render_histogram(FILE *out, const struct metric *s)
{
	const struct metric_family *f = s->family;
	uint64_t total = 0;

	for (size_t i = 0; i <= f->n_buckets; i++) {
		double le = i < f->n_buckets ? f->buckets[i] : INFINITY;
		total += atomic_load(&s->counts[i]);
		render_name(out, s, "_bucket", &le);
		fprintf(out, "%" PRIu64 "\n", total);
	}
	render_name(out, s, "_sum", NULL);
	render_number(out, to_double(atomic_load(&s->number)));
	putc('\n', out);
	/* Of the same reading as the buckets, so that they agree. */
	render_name(out, s, "_count", NULL);
	fprintf(out, "%" PRIu64 "\n", total);
}

static void render_series(FILE *out, const struct metric *s)
{
	if (s->family->type == METRIC_HISTOGRAM) {
		render_histogram(out, s);
		return;
	}
	render_name(out, s, "", NULL);
	render_number(out, metric_value(s));
	putc('\n', out);
}

static void render_family(FILE *out, struct metric_family *f)
{
	static const char *const types[] = {"counter", "gauge", "histogram"};

	fprintf(out, "# HELP %s ", f->name);
	render_escaped(out, f->help, "");
	fprintf(out, "\n# TYPE %s %s\n", f->name, types[f->type]);
	pthread_mutex_lock(&f->lock);
	for (const struct metric *s = f->first; s; s = s->next)
		render_series(out, s);
	pthread_mutex_unlock(&f->lock);
}

char *metrics_render(struct metrics *m, size_t *ret_len)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	if (!out)
		abort();
	pthread_mutex_lock(&m->lock);
	for (struct metric_family *f = m->first; f; f = f->next)
		render_family(out, f);
	pthread_mutex_unlock(&m->lock);
	if (fclose(out) != 0)
		abort();
	*ret_len = len;
	return text;
}
