/*
 * requests.h - signed notifications as whole HTTP requests, made ahead of time.
 *
 * Signing costs more than sending: done before the run, it takes nothing from what is measured.
 * Signatures and tokens are good for the producer of an hour's --stripe-tolerance.
 */
#ifndef UMAVEZ_BENCH_REQUESTS_H
#define UMAVEZ_BENCH_REQUESTS_H

#include "tests/support/load.h"
#include "tests/support/world.h"

#include <stddef.h>
#include <stdint.h>

struct request {
	const char *store;     /* static */
	char *notification_id; /* as the producer knows it */
	char *bytes;
	size_t len;
};

struct requests {
	int n;
	struct request *all;
};

/* n different notifications of one store, about one purchase for five; the same seed, the same
 * ones. */
struct requests *requests_new(struct world *w, enum load_store store, int n, uint64_t seed);
void requests_free(struct requests *r); /* NULL is fine */

/* Put them into witness.answered as accepted once, for the invariants. */
void requests_witness(struct world *w, const struct requests *r, int first, int n);

#endif
