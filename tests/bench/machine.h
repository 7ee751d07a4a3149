/*
 * machine.h - what the figures were measured on.
 */
#ifndef UMAVEZ_BENCH_MACHINE_H
#define UMAVEZ_BENCH_MACHINE_H

#include "tests/bench/ground.h"

#include <stdio.h>

struct machine {
	char processor[128], kernel[160], postgresql[64], redis[32], commit[64], date[32];
	int cores;
	bool fsync; /* commits wait for the disk */
};

void machine_look(struct ground *g, struct machine *ret);
void machine_print(FILE *out, const struct machine *m);

#endif
