/*
 * print.h - answers for people: aligned, coloured on a terminal, and nothing raw from outside.
 *
 * Every string that goes through here is escaped: what a terminal would obey (controls, marks that
 * reorder text) and invalid UTF-8 come out as \u{...} and \xNN.
 */
#ifndef UMAVEZ_CLI_PRINT_H
#define UMAVEZ_CLI_PRINT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum tint { TINT_PLAIN, TINT_HEAD, TINT_DIM, TINT_GOOD, TINT_WARN, TINT_BAD };

struct printer {
	FILE *out;
	bool colour;
};

/* Colour only on a terminal, and not if NO_COLOR is set: https://no-color.org/ */
void printer_init(struct printer *p, FILE *out);

/* The word that goes with n. */
const char *print_plural(int64_t n, const char *one, const char *many);

/* malloc'd. */
char *print_escape(const char *text);

void print_text(const struct printer *p, enum tint tint, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Cells are added one after the other, row by row. */
struct table;
struct table *table_new(const char *align); /* "lrr": one letter a column */
void table_free(struct table *t);
void table_cell(struct table *t, enum tint tint, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
void table_print(const struct table *t, const struct printer *p, unsigned indent);

/* A JSON string; JSON null for NULL. Invalid UTF-8, which JSON cannot hold, is escaped. */
json_t *print_json_text(const char *text);

/* One object, one line; it is taken. */
void print_json(FILE *out, json_t *json);

#endif
