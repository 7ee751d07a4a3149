/*
 * seed.h - what every random choice of a run comes from.
 */
#ifndef UMAVEZ_TESTS_SEED_H
#define UMAVEZ_TESTS_SEED_H

#include <stdint.h>

/* $SEED, or one made from the clock; printed by check_main(). */
uint64_t check_seed(void);

#endif
