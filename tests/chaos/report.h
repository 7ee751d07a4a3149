/*
 * report.h - a row a seed in a Markdown table.
 */
#ifndef UMAVEZ_TESTS_CHAOS_REPORT_H
#define UMAVEZ_TESTS_CHAOS_REPORT_H

#include "tests/chaos/scene.h"

/* Append to the file, which gets the table's head if it is new. Several processes may do so. */
void report_row(const char *path, uint64_t seed, int64_t for_ms, const struct scene *s,
    const struct ledger *ledger);

#endif
