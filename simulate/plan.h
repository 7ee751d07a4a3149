/*
 * plan.h - who dies when: a pure function of the options and the seed.
 */
#ifndef UMAVEZ_SIMULATE_PLAN_H
#define UMAVEZ_SIMULATE_PLAN_H

#include "simulate/config.h"

enum service { PRODUCER, RELAY, CONSUMER, SERVICES };
const char *service_word(enum service service); /* "relay" */

struct kill {
	enum service service;
	double part;  /* of the deliveries, 0 to 1: at that moment */
	int pause_ms; /* before it is started again */
};

struct crash {
	enum service service;
	char *point; /* as given: for people */
	char *env;   /* "UMAVEZ_FAILPOINTS=..." of the life that is to end there */
};

struct plan {
	size_t n_kills;
	struct kill *kills; /* in order of their moments */
	size_t n_crashes;
	struct crash *crashes; /* each service dies at its own, one after the other */
};

/* ERR_USAGE: one of --crash or --kill is not understood. Free the plan with plan_done(). */
int plan_make(
    const struct config *config, uint64_t seed, struct plan *ret_plan, struct err *err) warn_unused;
void plan_done(struct plan *plan);

#endif
