/*
 * table.h - the results for people.
 */
#ifndef UMAVEZ_BENCH_TABLE_H
#define UMAVEZ_BENCH_TABLE_H

#include "tests/bench/results.h"

#include <stdio.h>

void table_print(FILE *out, const struct results *results);

#endif
