#include "tests/bench/limit_chains.h"

#include "common/clock.h"
#include "producer/chain.h"
#include "producer/jws.h"
#include "producer/trust.h"
#include "tests/support/die.h"
#include "tests/support/signer.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 64

struct work {
	const struct trust *trust;
	const char *signed_part;
	atomic_long left;
};

static void verify_one(const struct work *w)
{
	const char *why;
	struct jws *jws = jws_read(w->signed_part, strlen(w->signed_part), &why);
	struct chain *chain;

	if (jws == NULL)
		die("jws_read: %s", why);
	chain = chain_verify(w->trust, jws->x5c[0].der, jws->x5c[0].len, jws->x5c[1].der,
	    jws->x5c[1].len, time(NULL), &why);
	if (chain == NULL)
		die("chain_verify: %s", why);
	chain_unref(chain);
	jws_free(jws);
}

static void *verify(void *arg)
{
	struct work *w = arg;

	while (atomic_fetch_sub(&w->left, 1) > 0)
		verify_one(w);
	return NULL;
}

double limit_chains(struct world *w, int64_t n)
{
	struct signer *signer = world_signer(w);
	const char *root = signer_root_path(signer);
	char *signed_part = sign_apple(signer, "{}");
	long threads = sysconf(_SC_NPROCESSORS_ONLN);
	pthread_t ids[MAX_THREADS];
	struct work work = {.signed_part = signed_part, .left = n};
	struct trust *trust;
	struct err err = ERR_INIT;
	int64_t began_us;

	if (trust_new(&root, 1, &trust, &err) < 0)
		die("%s", err.message);
	work.trust = trust;
	threads = threads > MAX_THREADS ? MAX_THREADS : threads;
	began_us = clock_mono_us();
	for (long i = 0; i < threads; i++)
		if (pthread_create(&ids[i], NULL, verify, &work) != 0)
			die("no thread");
	for (long i = 0; i < threads; i++)
		pthread_join(ids[i], NULL);
	trust_free(trust);
	free(signed_part);
	return (double)(clock_mono_us() - began_us) / 1e6;
}
