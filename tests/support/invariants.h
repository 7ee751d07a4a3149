/*
 * invariants.h - what must hold after everything that was sent has been applied, crashes or not.
 *
 * Each invariant is a view in sql/invariants.sql with its promise as a comment.  With KEEP=1 they
 * can be looked at in psql.
 */
#ifndef UMAVEZ_TESTS_INVARIANTS_H
#define UMAVEZ_TESTS_INVARIANTS_H

#include "tests/support/witness.h"

#include <stdio.h>

enum invariants {
	INVARIANTS_INTAKE = 1,
	INVARIANTS_STREAM = 2,
	INVARIANTS_EFFECTS = 4,
	INVARIANTS_ALL = 7,
	/* What a scenario excuses. */
	INVARIANTS_REPEATS = 8,  /* rows published again under other IDs: repair ticks */
	INVARIANTS_TRIMMED = 16, /* entries trimmed from the beginning of a stream */
	INVARIANTS_FOREIGN = 32, /* entries of no tick or row: others added them, or it was lost */
	INVARIANTS_HANDLER = 64, /* tables of the default handler, which is not the one that ran */
	INVARIANTS_LOST = 128,   /* the intake lost messages that were applied and came again */
};

/* Wait until every outbox row has an inbox row of the default consumer, which may not have begun
 * yet, and of every other one that has a cursor. False, and logs, otherwise. */
bool invariants_await(struct world *w, int64_t timeout_ms);

/* How many invariants do not hold; each is printed to stderr with examples. Looks at the streams
 * anew if asked about them. */
int invariants_broken(struct world *w, unsigned which);

/* The account of a run. lost: notifications answered with 200 that had no effect. doubled: effects
 * beyond one for a message. out_of_order: effects before an earlier one of their purchase. */
struct ledger {
	struct load_totals load;
	int64_t stream_entries, effects, lost, doubled, out_of_order;
};
/* l NULL: ret->load stays as it is, for who sums up several loads. */
void ledger_read(struct world *w, const struct load *l, struct ledger *ret);
void ledger_print(FILE *out, const struct ledger *ledger);

/* The same for who prints it by other means. */
struct ledger_line {
	const char *name;
	int64_t value;
	const char *meaning;
	bool must_be_zero;
};
#define LEDGER_LINES 11
void ledger_lines(const struct ledger *ledger, struct ledger_line ret[LEDGER_LINES]);

#endif
