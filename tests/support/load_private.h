/*
 * load_private.h - the plan behind load.h: which notifications, and in which order.
 */
#ifndef UMAVEZ_TESTS_LOAD_PRIVATE_H
#define UMAVEZ_TESTS_LOAD_PRIVATE_H

#include "tests/support/load.h"

struct load_plan {
	int n_items;
	struct load_item *items;
	int n_deliveries;
	int *deliveries; /* indices of items */
};

void load_plan_make(
    const struct load_options *options, struct signer *signer, struct load_plan *ret);
void load_plan_done(struct load_plan *plan);

#endif
