/*
 * svg.h - plots: latencies by percentile, and throughput over time.
 */
#ifndef UMAVEZ_BENCH_SVG_H
#define UMAVEZ_BENCH_SVG_H

#include "tests/bench/results.h"

/* latency.svg and throughput.svg, of what has been measured. The directory is made. */
void svg_write(const char *dir, const struct results *results);

#endif
