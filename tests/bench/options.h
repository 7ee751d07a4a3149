/*
 * options.h - the command line of bench_run.
 */
#ifndef UMAVEZ_BENCH_OPTIONS_H
#define UMAVEZ_BENCH_OPTIONS_H

#include "common/option.h"

struct bench_options {
	bool quick;
	double scale; /* of the amounts */
	struct option_list only;
	char *json, *svg; /* NULL: not wanted */
	int64_t rounds;   /* 0: the usual */
	int64_t history;  /* rows */
	bool no_fsync;
	bool smoke;
};

extern const struct option bench_options_table[];
extern const char bench_usage[];

/* Whether --only wants this: all, or its name or its chapter's is in a list. */
bool bench_wants(const struct bench_options *o, const char *chapter, const char *name);

#endif
