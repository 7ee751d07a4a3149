/*
 * generator.h - the load: many keep-alive connections from one thread, no pipelining.
 *
 *   closed loop   every connection sends its next request when it has the answer: the peak
 *   open loop     requests are due at fixed moments; each is sent by the first connection that is
 *                 free, and its latency counts from the moment at which it was due, so that waiting
 *                 is not hidden
 */
#ifndef UMAVEZ_BENCH_GENERATOR_H
#define UMAVEZ_BENCH_GENERATOR_H

#include "tests/bench/histogram.h"
#include "tests/bench/requests.h"
#include "tests/bench/series.h"

#include <stdint.h>

struct generator_options {
	const char *url; /* http://127.0.0.1:port */
	int connections;
	double per_second; /* 0: closed loop */
	const struct requests *requests;
	int first, n; /* which of them */
};

struct generator_result {
	int64_t accepted; /* answered 200 "accepted" */
	int64_t others;   /* answered anything else */
	double seconds;   /* from the first request to the last answer */
	struct histogram latency;
	struct series answered;
	int64_t *due_us; /* n moments, wall clock, since 1970: when each was due, or sent; free() */
};

/* Every request once. A connection that breaks ends the program. */
void generator_run(const struct generator_options *options, struct generator_result *ret);

#endif
