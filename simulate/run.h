/*
 * run.h - one simulation: load, deaths, and waiting for the end of it.
 */
#ifndef UMAVEZ_SIMULATE_RUN_H
#define UMAVEZ_SIMULATE_RUN_H

#include "simulate/plan.h"

/* Prints the report; its verdict is *ret_good.  bin_dir: where umavez's programs are. */
int simulation_run(const struct config *config, const struct plan *plan, uint64_t seed,
    const char *bin_dir, bool *ret_good, struct err *err) warn_unused;

#endif
