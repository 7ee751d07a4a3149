/*
 * json_report.h - the results for programs: machine, versions, all rounds, medians and goals.
 */
#ifndef UMAVEZ_BENCH_JSON_REPORT_H
#define UMAVEZ_BENCH_JSON_REPORT_H

#include "tests/bench/machine.h"
#include "tests/bench/results.h"

/* Ends the program if the file cannot be written. */
void json_report_write(
    const char *path, const struct machine *machine, const struct results *results);

#endif
