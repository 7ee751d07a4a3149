/*
 * report.h - what came of a simulation, for people and for programs.
 */
#ifndef UMAVEZ_SIMULATE_REPORT_H
#define UMAVEZ_SIMULATE_REPORT_H

#include "simulate/dead_letters.h"
#include "simulate/stack.h"
#include "tests/support/invariants.h"

#include <jansson.h>

struct report {
	uint64_t seed;
	bool finished; /* in time, everything was answered, and applied or given up */
	bool own;      /* the handler is the user's */
	enum count { COUNT_COMMITTED, COUNT_CALLS, COUNT_QUERY } count; /* what an effect is */
	struct ledger ledger; /* lost: without the dead letters */
	struct dead_letters dead;
	int crashes;
	int64_t calls;          /* of the handler, those rolled back included */
	int broken;             /* invariants */
	json_t *lost, *doubled; /* the first of them: arrays of {source, message_id, effects} */
};

/* Look at what the stack has now. The answers must have been witnessed. */
void report_read(struct stack *s, const struct config *config, const struct load *load,
    struct report *ret_report);
void report_done(struct report *r);

/* Nothing lost, doubled, out of order, given up or left undone. */
bool report_is_good(const struct report *r, const struct stack *s);

void report_print(const struct report *r, const struct stack *s);
void report_print_json(const struct report *r, const struct stack *s);

#endif
