#include "cli/doctor.h"
#include "common/memory.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

const char *const level_names[LEVELS] = {
    [LEVEL_OK] = "ok",
    [LEVEL_WARN] = "warn",
    [LEVEL_FAIL] = "fail",
};

void doctor_turn_to(struct doctor *d, const char *fmt, ...)
{
	char *where = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&where, fmt, ap) < 0)
		abort();
	va_end(ap);
	free(d->where);
	d->where = where;
}

void doctor_note(
    struct doctor *d, enum level level, const char *name, const char *advice, const char *fmt, ...)
{
	char *what = NULL;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&what, fmt, ap) < 0)
		abort();
	va_end(ap);
	d->list = mem_realloc(d->list, (d->n + 1) * sizeof(*d->list));
	d->list[d->n++] = (struct finding){
	    level, mem_strdup(d->where), mem_strdup(name), what, mem_strdup(advice)};
}

void doctor_done(struct doctor *d)
{
	for (size_t i = 0; i < d->n; i++) {
		free(d->list[i].where);
		free(d->list[i].name);
		free(d->list[i].what);
		free(d->list[i].advice);
	}
	free(d->list);
	free(d->where);
	PQclear(d->shards);
	PQclear(d->consumers);
}

size_t doctor_count(const struct doctor *d, enum level level)
{
	size_t n = 0;

	for (size_t i = 0; i < d->n; i++)
		n += d->list[i].level == level;
	return n;
}

void doctor_print_json(FILE *out, const struct doctor *d)
{
	json_t *checks = json_array();

	for (size_t i = 0; i < d->n; i++) {
		const struct finding *f = &d->list[i];

		json_array_append_new(checks,
		    json_pack("{s:s, s:o, s:o, s:o, s:o}", "level", level_names[f->level], "where",
			print_json_text(f->where), "check", print_json_text(f->name), "what",
			print_json_text(f->what), "advice",
			print_json_text(f->level == LEVEL_OK ? NULL : f->advice)));
	}
	json_t *json = json_pack("{s:o, s:I, s:I, s:I}", "checks", checks, "ok",
	    (json_int_t)doctor_count(d, LEVEL_OK), "warn", (json_int_t)doctor_count(d, LEVEL_WARN),
	    "fail", (json_int_t)doctor_count(d, LEVEL_FAIL));
	print_json(out, json);
}

static void add_row(struct table *t, const struct finding *f)
{
	static const enum tint tints[LEVELS] = {TINT_GOOD, TINT_WARN, TINT_BAD};

	table_cell(t, tints[f->level], "%-4s", level_names[f->level]);
	table_cell(t, TINT_PLAIN, "%s", f->name);
	table_cell(t, TINT_PLAIN, "%s", f->what);
	if (f->level == LEVEL_OK)
		return;
	table_cell(t, TINT_PLAIN, "%s", "");
	table_cell(t, TINT_PLAIN, "%s", "");
	table_cell(t, TINT_DIM, "%s", f->advice);
}

/* Those of one heading, from i on; returns where the next one begins. */
static size_t print_part(const struct printer *p, const struct doctor *d, size_t i)
{
	const char *where = d->list[i].where;
	struct table *t = table_new("lll");

	print_text(p, TINT_HEAD, "%s", where);
	fputc('\n', p->out);
	for (; i < d->n && strcmp(d->list[i].where, where) == 0; i++)
		add_row(t, &d->list[i]);
	table_print(t, p, 0);
	table_free(t);
	return i;
}

void doctor_print(const struct printer *p, const struct doctor *d)
{
	for (size_t i = 0; i < d->n;) {
		if (i > 0)
			fputc('\n', p->out);
		i = print_part(p, d, i);
	}
}
