/*
 * copy.h - rows into a table, by COPY.
 *
 * Columns are added one by one, rows ended.  Any failure ends the program.
 */
#ifndef UMAVEZ_TESTS_COPY_H
#define UMAVEZ_TESTS_COPY_H

#include "tests/support/world.h"

#include <stddef.h>
#include <stdint.h>

struct copy;

/* On a session of its own. End it with copy_end(). */
struct copy *copy_new(struct world *w, const char *table);

/* Any bytes but NUL; NULL is SQL's NULL. */
void copy_column(struct copy *c, const char *s, size_t len);
void copy_text(struct copy *c, const char *s);
void copy_int(struct copy *c, int64_t value);

void copy_row(struct copy *c);

/* Commits, and frees it. */
void copy_end(struct copy *c);

#endif
