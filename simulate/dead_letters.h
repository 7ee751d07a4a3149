/*
 * dead_letters.h - what the consumer has given up: messages that failed, and those held behind one.
 *
 * Nobody but an operator moves them, so a simulation in which nothing else is left has come to its
 * end.  They are kept, hence not lost.
 */
#ifndef UMAVEZ_SIMULATE_DEAD_LETTERS_H
#define UMAVEZ_SIMULATE_DEAD_LETTERS_H

#include "tests/support/world.h"

struct dead_letters {
	int64_t failed, held;
	char *error;         /* of the first that failed; NULL: none did. malloc'd */
	int64_t same_errors; /* how many have it */
};

/* The views witness.dead_letter and witness.lost. After witness_install(). */
void dead_letters_install(struct world *w);

/* Whether every message has its effect or is one of them. */
bool dead_letters_are_the_rest(struct world *w);

void dead_letters_read(struct world *w, struct dead_letters *ret);
void dead_letters_done(struct dead_letters *d);

#endif
