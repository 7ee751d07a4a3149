/*
 * contestant.h - who competes, in chapters: each does the same work and gives the same figures.
 *
 * Contestants of a chapter alternate, round after round, so that what the machine does meanwhile
 * hits all of them alike.  Each round ends by checking the ledger: a wrong run is a failed run.
 */
#ifndef UMAVEZ_BENCH_CONTESTANT_H
#define UMAVEZ_BENCH_CONTESTANT_H

#include "tests/bench/ground.h"
#include "tests/bench/histogram.h"
#include "tests/bench/series.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum figure {
	FIGURE_RATE, /* messages a second */
	FIGURE_P50,  /* latencies, ms */
	FIGURE_P99,
	FIGURE_MAX,
	FIGURE_STREAM_P50, /* from commit to stream, ms */
	FIGURE_STREAM_P99,
	FIGURE_COMMIT,     /* median time of one commit meanwhile, ms */
	FIGURE_BATCH,      /* messages a transaction */
	FIGURE_CPU,        /* percent of one core */
	FIGURE_STATEMENTS, /* a second and shard */
	FIGURE_READY,      /* from start to ready, ms */
	FIGURE_RSS,        /* MiB */
	FIGURES
};
extern const char *const figure_names[FIGURES]; /* as JSON has them */

/* What one round gave. */
struct outcome {
	bool failed;             /* the ledger did not hold */
	double figures[FIGURES]; /* NAN: not measured */
	struct series series;
	struct histogram latency;
};

struct heat {
	struct ground *g;
	const struct contestant *contestant;
	void *state; /* its chapter's */
	int64_t n;   /* messages */
};

struct contestant {
	const char *name, *what; /* what: for people */
	int64_t full, quick;     /* how many messages */

	/* One of ours: */
	void (*setup)(const struct heat *h); /* not timed; NULL: nothing to do */
	void (*measure)(const struct heat *h, struct outcome *ret);
	int variant; /* the chapter's */

	/* Or a program (program.h): */
	const char *program;
	const char *mode; /* BENCH_MODE; NULL: drain */
};

struct chapter {
	const char *name, *what;
	const struct contestant *contestants;
	size_t n;
	void *(*open)(struct ground *g); /* before its first round; may be NULL, as close */
	void (*close)(void *state);
};

extern const struct chapter producer_chapter, relay_chapter, consumer_chapter, latency_chapter,
    idle_chapter, start_chapter;

/* False, and a line on stderr, unless nothing was lost or doubled. */
bool ledger_holds(const struct heat *h, int64_t lost, int64_t doubled);

#endif
