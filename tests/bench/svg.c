#include "tests/bench/svg.h"

#include "tests/support/die.h"
#include "tests/support/text.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WIDTH 720
#define HEIGHT 400
#define LEFT 70
#define BOTTOM 40
#define TOP 20
#define LEGEND 260
#define INNER_WIDTH (WIDTH - LEFT - LEGEND)
#define INNER_HEIGHT (HEIGHT - TOP - BOTTOM)

static const char *const colours[] = {"#1b6ca8", "#d1495b", "#2e933c", "#edae49", "#7b4b94",
    "#00798c", "#8d5524", "#5f5f5f", "#e07a5f", "#3d405b", "#81b29a", "#b5179e"};

/* Both axes begin at 0. */
struct plot {
	FILE *out;
	double x_max, y_max;
	int curves;
};

static double place_x(const struct plot *p, double x)
{
	return LEFT + x / p->x_max * INNER_WIDTH;
}

static double place_y(const struct plot *p, double y)
{
	return TOP + (1 - y / p->y_max) * INNER_HEIGHT;
}

static void begin(struct plot *p, const char *dir, const char *name, const char *title)
{
	char *path = text_format("%s/%s", dir, name);

	p->out = fopen(path, "we");
	if (p->out == NULL)
		die("cannot write %s: %s", path, strerror(errno));
	fprintf(p->out,
	    "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\""
	    " font-family=\"sans-serif\" font-size=\"11\">\n"
	    "<rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n"
	    "<text x=\"%d\" y=\"14\" font-weight=\"bold\">%s</text>\n"
	    "<path d=\"M%d %d V%d H%d\" fill=\"none\" stroke=\"black\"/>\n",
	    WIDTH, HEIGHT, LEFT, title, LEFT, TOP, HEIGHT - BOTTOM, LEFT + INNER_WIDTH);
	free(path);
}

static void end(struct plot *p)
{
	fputs("</svg>\n", p->out);
	if (fclose(p->out) != 0)
		die("cannot write a plot: %s", strerror(errno));
}

static void mark_x(const struct plot *p, double x, const char *text)
{
	fprintf(p->out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%s</text>\n",
	    place_x(p, x), HEIGHT - BOTTOM + 16, text);
}

static void mark_y(const struct plot *p, double y, const char *text)
{
	fprintf(p->out,
	    "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n"
	    "<path d=\"M%d %.1f h%d\" stroke=\"#dddddd\"/>\n",
	    LEFT - 6, place_y(p, y) + 4, text, LEFT, place_y(p, y), INNER_WIDTH);
}

static void begin_curve(struct plot *p, const char *name)
{
	const char *colour = colours[p->curves % (int)(sizeof(colours) / sizeof(colours[0]))];
	int y = TOP + 14 * p->curves++;

	fprintf(p->out,
	    "<rect x=\"%d\" y=\"%d\" width=\"10\" height=\"10\" fill=\"%s\"/>"
	    "<text x=\"%d\" y=\"%d\">%s</text>\n",
	    WIDTH - LEGEND + 14, y, colour, WIDTH - LEGEND + 30, y + 9, name);
	fprintf(
	    p->out, "<polyline fill=\"none\" stroke-width=\"1.5\" stroke=\"%s\" points=\"", colour);
}

static void point(const struct plot *p, double x, double y)
{
	fprintf(p->out, "%.1f,%.1f ", place_x(p, x), place_y(p, y < p->y_max ? y : p->y_max));
}

static void end_curve(const struct plot *p)
{
	fputs("\"/>\n", p->out);
}

static void merge_rounds(const struct result *r, struct histogram *ret)
{
	memset(ret, 0, sizeof(*ret));
	for (int i = 0; i < r->n; i++)
		histogram_merge(ret, &r->rounds[i].latency);
}

/* Percentiles as 50, 90, 99, ...: each nine takes the same room; latencies by their logarithm. */
static void latency_curve(struct plot *p, const struct result *r)
{
	struct histogram h;

	merge_rounds(r, &h);
	if (h.n == 0)
		return;
	begin_curve(p, r->contestant->name);
	for (double nines = 0; nines <= p->x_max; nines += 0.05) {
		int64_t us = histogram_quantile(&h, 1 - pow(10, -nines));

		point(p, nines, log10(us < 100 ? 1 : (double)us / 100));
	}
	end_curve(p);
}

static void write_latencies(const char *dir, const struct results *results)
{
	static const char *const shares[] = {"0", "90 %", "99 %", "99.9 %"};
	static const char *const times[] = {"0.1 ms", "1 ms", "10 ms", "100 ms", "1 s"};
	struct plot p = {.x_max = 3, .y_max = 4};

	begin(&p, dir, "latency.svg", "Latency by percentile, all rounds");
	for (int i = 0; i < 4; i++)
		mark_x(&p, i, shares[i]);
	for (int i = 0; i < 5; i++)
		mark_y(&p, i, times[i]);
	for (int i = 0; i < results->n; i++)
		latency_curve(&p, &results->all[i]);
	end(&p);
}

static const struct series *last_series(const struct result *r)
{
	const struct series *s = r->n > 0 ? &r->rounds[r->n - 1].series : NULL;

	return s != NULL && s->n > 0 ? s : NULL;
}

static void find_bounds(struct plot *p, const struct results *results)
{
	p->x_max = 1;
	p->y_max = 1000;
	for (int i = 0; i < results->n; i++) {
		const struct series *s = last_series(&results->all[i]);

		for (int k = 0; s != NULL && k < s->n; k++)
			p->y_max = fmax(p->y_max, s->per_second[k]);
		if (s != NULL)
			p->x_max = fmax(p->x_max, s->n * SERIES_STEP_MS / 1000.0);
	}
}

static void write_throughput(const char *dir, const struct results *results)
{
	struct plot p = {.curves = 0};
	char text[32];

	find_bounds(&p, results);
	begin(&p, dir, "throughput.svg", "Messages a second over seconds, last round");
	for (int i = 0; i <= 4; i++) {
		snprintf(text, sizeof(text), "%.1f", p.x_max * i / 4);
		mark_x(&p, p.x_max * i / 4, text);
		snprintf(text, sizeof(text), "%.0f", p.y_max * i / 4);
		mark_y(&p, p.y_max * i / 4, text);
	}
	for (int i = 0; i < results->n; i++) {
		const struct series *s = last_series(&results->all[i]);

		if (s == NULL)
			continue;
		begin_curve(&p, results->all[i].contestant->name);
		for (int k = 0; k < s->n; k++)
			point(&p, (k + 0.5) * SERIES_STEP_MS / 1000, s->per_second[k]);
		end_curve(&p);
	}
	end(&p);
}

void svg_write(const char *dir, const struct results *results)
{
	if (mkdir(dir, 0777) < 0 && errno != EEXIST)
		die("cannot make %s: %s", dir, strerror(errno));
	write_latencies(dir, results);
	write_throughput(dir, results);
}
