#include "tests/bench/account.h"

#include "tests/support/invariants.h"

#include <stdio.h>

#define SETTLE_MS 600000

void account_add(struct account *a, struct world *w, const struct load *l)
{
	struct load_totals t;

	witness_answers(w, l);
	load_totals(l, &t);
	a->totals.notifications += t.notifications;
	a->totals.sends += t.sends;
	a->totals.accepted += t.accepted;
	a->totals.duplicates += t.duplicates;
	a->totals.unanswered += t.unanswered;
	a->totals.refused += t.refused;
}

int account_judge(const struct account *a, struct world *w)
{
	struct ledger_line lines[LEDGER_LINES];
	struct ledger ledger = {.load = a->totals};
	int wrong = 0;

	if (!invariants_await(w, SETTLE_MS))
		return 1;
	ledger_read(w, NULL, &ledger);
	ledger_print(stdout, &ledger);
	ledger_lines(&ledger, lines);
	for (size_t i = 0; i < LEDGER_LINES; i++)
		wrong += lines[i].must_be_zero && lines[i].value != 0;
	return wrong + invariants_broken(w, INVARIANTS_ALL | INVARIANTS_TRIMMED);
}
