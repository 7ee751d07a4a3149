/*
 * copy.h - rows into a table, by COPY.
 */
#ifndef UMAVEZ_BENCH_COPY_H
#define UMAVEZ_BENCH_COPY_H

#include "tests/support/world.h"

struct copy;

struct copy *copy_new(struct world *w, const char *table);

/* One row in COPY's text format, its line end included: nothing is escaped. */
void copy_row(struct copy *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Commits, and frees it. */
void copy_end(struct copy *c);

#endif
