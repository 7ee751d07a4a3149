#include "cli/print.h"

#include "common/memory.h"
#include "common/utf8.h"

#include <assert.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct cell {
	char *text;
	size_t width; /* in characters */
	enum tint tint;
};

struct table {
	const char *align;
	size_t columns;
	size_t n, cap;
	struct cell *cells;
};

void printer_init(struct printer *p, FILE *out)
{
	const char *no_color = getenv("NO_COLOR");

	*p =
	    (struct printer){.out = out, .colour = isatty(fileno(out)) && !(no_color && *no_color)};
}

const char *print_plural(int64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

/* "\u{10ffff}" */
enum { ESCAPE_MAX = 10 };

char *print_escape(const char *text)
{
	size_t len = strlen(text);
	char *escaped = mem_alloc(len * ESCAPE_MAX + 1), *end = escaped;

	while (len > 0) {
		uint32_t code;
		size_t n = utf8_decode(text, len, &code);

		if (n > 0 && utf8_printable(code)) {
			memcpy(end, text, n);
			end += n;
		} else if (n > 0) {
			end += sprintf(end, "\\u{%x}", (unsigned)code);
		} else {
			end += sprintf(end, "\\x%02x", (unsigned char)*text);
			n = 1;
		}
		text += n;
		len -= n;
	}
	*end = '\0';
	return escaped;
}

static void put(const struct printer *p, enum tint tint, const char *text)
{
	static const char *const codes[] = {
	    [TINT_PLAIN] = "",
	    [TINT_HEAD] = "\033[1m",
	    [TINT_DIM] = "\033[2m",
	    [TINT_GOOD] = "\033[32m",
	    [TINT_WARN] = "\033[33m",
	    [TINT_BAD] = "\033[31m",
	};
	bool colour = p->colour && tint != TINT_PLAIN;

	fprintf(p->out, "%s%s%s", colour ? codes[tint] : "", text, colour ? "\033[0m" : "");
}

static char *format_escaped(const char *fmt, va_list ap)
{
	char *raw = NULL, *escaped;

	if (vasprintf(&raw, fmt, ap) < 0)
		abort();
	escaped = print_escape(raw);
	free(raw);
	return escaped;
}

void print_text(const struct printer *p, enum tint tint, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	char *text = format_escaped(fmt, ap);
	va_end(ap);
	put(p, tint, text);
	free(text);
}

struct table *table_new(const char *align)
{
	struct table *t = mem_zalloc(1, sizeof(*t));

	t->align = align;
	t->columns = strlen(align);
	return t;
}

void table_free(struct table *t)
{
	for (size_t i = 0; i < t->n; i++)
		free(t->cells[i].text);
	free(t->cells);
	free(t);
}

/* Characters, as far as we can tell: every one that is not a continuation byte. */
static size_t width_of(const char *text)
{
	size_t width = 0;

	for (; *text; text++)
		width += ((unsigned char)*text & 0xc0) != 0x80;
	return width;
}

void table_cell(struct table *t, enum tint tint, const char *fmt, ...)
{
	va_list ap;

	if (t->n == t->cap) {
		t->cap = t->cap ? 2 * t->cap : 64;
		t->cells = mem_realloc(t->cells, t->cap * sizeof(*t->cells));
	}
	va_start(ap, fmt);
	char *text = format_escaped(fmt, ap);
	va_end(ap);
	t->cells[t->n++] = (struct cell){text, width_of(text), tint};
}

static size_t column_width(const struct table *t, size_t column)
{
	size_t width = 0;

	for (size_t i = column; i < t->n; i += t->columns) {
		if (t->cells[i].width > width)
			width = t->cells[i].width;
	}
	return width;
}

/* Columns of the row up to its last cell that is not empty: no line ends in blanks. */
static size_t used_columns(const struct table *t, const struct cell *row)
{
	size_t n = t->columns;

	while (n > 0 && row[n - 1].width == 0)
		n--;
	return n;
}

static void print_row(
    const struct table *t, const struct cell *row, const struct printer *p, unsigned indent)
{
	size_t used = used_columns(t, row);

	for (size_t column = 0; column < used; column++) {
		const struct cell *c = &row[column];
		int padding = (int)(column_width(t, column) - c->width);
		bool right = t->align[column] == 'r';

		fprintf(p->out, "%*s", column == 0 ? (int)indent : 2, "");
		if (right)
			fprintf(p->out, "%*s", padding, "");
		put(p, c->tint, c->text);
		if (!right && column + 1 < used)
			fprintf(p->out, "%*s", padding, "");
	}
	fputc('\n', p->out);
}

void table_print(const struct table *t, const struct printer *p, unsigned indent)
{
	assert(t->n % t->columns == 0);
	for (size_t i = 0; i < t->n; i += t->columns)
		print_row(t, &t->cells[i], p, indent);
}

json_t *print_json_text(const char *text)
{
	if (!text)
		return json_null();
	if (utf8_valid(text, strlen(text)))
		return json_string(text);
	char *escaped = print_escape(text);
	json_t *json = json_string(escaped);
	free(escaped);
	return json;
}

void print_json(FILE *out, json_t *json)
{
	/* ASCII only: this may go to a terminal too. */
	json_dumpf(json, out, JSON_COMPACT | JSON_ENSURE_ASCII | JSON_REAL_PRECISION(12));
	fputc('\n', out);
	json_decref(json);
}
