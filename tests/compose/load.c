/*
 * compose_load URL NOTIFICATIONS PER_SECOND SEED: signed Stripe events, each again until it was
 * answered.
 *
 * Prints a row of witness.answered for each, as COPY reads it. Exits with 1 if one was refused, or
 * not answered in time.
 */
#include "tests/support/load.h"
#include "tests/support/die.h"

#include <stdio.h>
#include <stdlib.h>

enum { PATIENCE_MS = 900000 };

static void print_answers(const struct load *load)
{
	for (int i = 0; i < load_count(load); i++) {
		const struct load_item *item = load_at(load, i);

		printf("%s\t%s\t%d\t%d\t%d\n", load_store_name(item->store), item->notification_id,
		    item->sends, item->accepted, item->duplicates);
	}
}

int main(int argc, char **argv)
{
	struct load_options options = {
	    .duplicates = 0.2, .reorder = 0.2, .stores = 1U << LOAD_STRIPE};
	struct load_totals totals;

	if (argc != 5)
		die("usage: compose_load URL NOTIFICATIONS PER_SECOND SEED");
	options.notifications = (int)strtol(argv[2], NULL, 10);
	options.per_second = (int)strtol(argv[3], NULL, 10);
	options.seed = strtoull(argv[4], NULL, 10);

	struct signer *signer = signer_new();
	struct load *load = load_new(&options, signer);
	load_start(load, (const char *const[]){argv[1], NULL});
	bool answered = load_wait(load, PATIENCE_MS);
	print_answers(load);
	load_totals(load, &totals);
	fprintf(stderr, "%lld notifications, %lld sent, %lld tried again, %lld refused\n",
	    (long long)totals.notifications, (long long)totals.sends, (long long)totals.unanswered,
	    (long long)totals.refused);
	load_free(load);
	signer_free(signer);
	return answered && totals.refused == 0 && fflush(stdout) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
