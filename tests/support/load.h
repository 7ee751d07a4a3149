/*
 * load.h - signed notifications of all stores, posted as stores do: again until somebody says 200.
 *
 * The plan is a pure function of the options: the same seed gives the same notifications, order and
 * duplicates.  What the producers answered is counted for each notification.
 */
#ifndef UMAVEZ_TESTS_LOAD_H
#define UMAVEZ_TESTS_LOAD_H

#include "tests/support/signer.h"
#include "tests/support/world.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

enum load_store { LOAD_APP_STORE, LOAD_GOOGLE_PLAY, LOAD_STRIPE, LOAD_STORES };

struct load_options {
	uint64_t seed;
	int notifications;
	int purchases;     /* 0: one for about five notifications */
	double duplicates; /* how many of the notifications are delivered once more, 0 to 1 */
	double reorder;    /* how many deliveries change places with a later one, 0 to 1 */
	int threads;       /* 0: 4 */
	int per_second;    /* deliveries; 0: as fast as they are answered */
	unsigned stores;   /* a mix of these, 1 << LOAD_STRIPE; 0: of all */
};

struct load_item {
	enum load_store store;
	char *notification_id; /* as the producer knows it */
	char *body;
	atomic_int sends;      /* requests, answered or not */
	atomic_int accepted;   /* answers "accepted" */
	atomic_int duplicates; /* answers "duplicate" */
};

struct load_totals {
	int64_t notifications, sends, accepted, duplicates;
	int64_t unanswered; /* requests without a 200 that were tried again */
	int64_t refused;    /* 4xx, or a 200 that says neither: never tried again, always a fault */
};

struct load;

/* The signer is borrowed until load_free(). */
struct load *load_new(const struct load_options *options, struct signer *signer);
void load_free(struct load *l); /* stops it; NULL is fine */

/* base_urls: NULL-terminated, copied; every request goes to one of them at random. */
void load_start(struct load *l, const char *const *base_urls);

/* One request about notification i, beside those of load_start(), and counted with them. Gives the
 * HTTP status; 0: no answer. */
int load_post(struct load *l, int i, const char *base_url);

/* Until every delivery was answered with 200; false (and a line on stderr) if that takes longer. */
bool load_wait(struct load *l, int64_t timeout_ms);

/* Until this part (0 to 1) of the deliveries is done. */
bool load_await_part(const struct load *l, double part, int64_t timeout_ms);

/* While it runs: how many deliveries are done, of how many. */
int load_done(const struct load *l);
int load_deliveries(const struct load *l);

void load_totals(const struct load *l, struct load_totals *ret);
int load_count(const struct load *l);
const struct load_item *load_at(const struct load *l, int i);
const char *load_store_name(enum load_store store); /* "app_store"; NULL beyond the last */

#endif
