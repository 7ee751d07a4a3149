#include "tests/support/load.h"

#include "common/clock.h"
#include "tests/support/die.h"
#include "tests/support/load_private.h"
#include "tests/support/pause.h"
#include "tests/support/text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 64
#define MAX_URLS 8
#define RETRY_MS 20

struct load {
	struct signer *signer;
	struct load_plan plan;
	int n_threads, per_second;
	uint64_t seed;

	int n_urls;
	char *urls[MAX_URLS];
	int64_t started_ms;
	int n_running; /* threads to be joined */
	pthread_t threads[MAX_THREADS];

	atomic_int next; /* delivery that nobody has taken yet */
	atomic_int done;
	atomic_int unanswered;
	atomic_int refused;
	atomic_bool stop;
};

struct load *load_new(const struct load_options *options, struct signer *signer)
{
	struct load *l = calloc(1, sizeof(*l));

	if (l == NULL)
		die("out of memory");
	l->signer = signer;
	l->seed = options->seed;
	l->n_threads = options->threads > 0 ? options->threads : 4;
	l->per_second = options->per_second;
	if (l->n_threads > MAX_THREADS)
		die("a load of more than %d threads", MAX_THREADS);
	load_plan_make(options, signer, &l->plan);
	return l;
}

static int post(struct load *l, const struct load_item *item, const char *url, char **ret_body)
{
	switch (item->store) {
	case LOAD_APP_STORE:
		return post_apple(url, item->body, ret_body);
	case LOAD_GOOGLE_PLAY:
		return post_google(l->signer, url, item->body, ret_body);
	default:
		return post_stripe(url, item->body, ret_body);
	}
}

/* What a store would do after this answer: true to try again. Counts it. */
static bool judge(struct load *l, struct load_item *item, int status, const char *body)
{
	if (status == 200 && strstr(body, "\"accepted\"") != NULL) {
		item->accepted++;
		return false;
	}
	if (status == 200 && strstr(body, "\"duplicate\"") != NULL) {
		item->duplicates++;
		return false;
	}
	if (status == 0 || status >= 500) {
		l->unanswered++;
		return true;
	}
	l->refused++;
	fprintf(stderr, "refused: %s %s: %d %s\n", load_store_name(item->store),
	    item->notification_id, status, body);
	return false;
}

/* True: again. */
static bool attempt(struct load *l, struct load_item *item, const char *url, int *ret_status)
{
	char *body = NULL;
	bool again;

	item->sends++;
	*ret_status = post(l, item, url, &body);
	again = judge(l, item, *ret_status, body);
	free(body);
	return again;
}

int load_post(struct load *l, int i, const char *base_url)
{
	int status;

	attempt(l, &l->plan.items[i], base_url, &status);
	return status;
}

/* Until it was answered; false if stopped before. */
static bool deliver(struct load *l, struct load_item *item, struct rng *rng)
{
	int status;

	while (!l->stop) {
		const char *url = l->urls[rng_next(rng) % (uint64_t)l->n_urls];

		if (!attempt(l, item, url, &status))
			return true;
		sleep_ms(RETRY_MS + (int64_t)(rng_next(rng) % RETRY_MS));
	}
	return false;
}

/* Wait for the moment that per_second gives this delivery. */
static void pace(struct load *l, int delivery)
{
	int64_t wait_ms;

	if (l->per_second <= 0)
		return;
	wait_ms = l->started_ms + INT64_C(1000) * delivery / l->per_second - now_ms();
	if (wait_ms > 0)
		sleep_ms(wait_ms);
}

static void *run(void *ctx)
{
	struct load *l = ctx;
	struct rng rng;
	int i;

	rng_seed(&rng, l->seed ^ (uint64_t)now_ms());
	while (!l->stop && (i = atomic_fetch_add(&l->next, 1)) < l->plan.n_deliveries) {
		pace(l, i);
		if (deliver(l, &l->plan.items[l->plan.deliveries[i]], &rng))
			l->done++;
	}
	return NULL;
}

void load_start(struct load *l, const char *const *base_urls)
{
	for (; *base_urls != NULL && l->n_urls < MAX_URLS; base_urls++)
		l->urls[l->n_urls++] = text_format("%s", *base_urls);
	l->started_ms = now_ms();
	for (; l->n_running < l->n_threads; l->n_running++)
		if (pthread_create(&l->threads[l->n_running], NULL, run, l) != 0)
			die("cannot start a thread of the load");
}

static void join(struct load *l)
{
	for (int i = 0; i < l->n_running; i++)
		pthread_join(l->threads[i], NULL);
	l->n_running = 0;
}

static bool is_done(void *ctx)
{
	const struct load *l = ctx;

	return l->done == l->plan.n_deliveries;
}

bool load_wait(struct load *l, int64_t timeout_ms)
{
	bool done = await(is_done, l, timeout_ms);

	l->stop = true;
	join(l);
	if (!done)
		fprintf(stderr, "not within %lld ms: %d of %d deliveries were answered\n",
		    (long long)timeout_ms, (int)l->done, l->plan.n_deliveries);
	return done;
}

struct mark {
	const struct load *load;
	double part;
};

static bool is_reached(void *ctx)
{
	const struct mark *mark = ctx;

	return load_done(mark->load) >= mark->part * load_deliveries(mark->load);
}

bool load_await_part(const struct load *l, double part, int64_t timeout_ms)
{
	struct mark mark = {l, part};

	return await(is_reached, &mark, timeout_ms);
}

void load_free(struct load *l)
{
	if (l == NULL)
		return;
	l->stop = true;
	join(l);
	load_plan_done(&l->plan);
	for (int i = 0; i < l->n_urls; i++)
		free(l->urls[i]);
	free(l);
}

int load_done(const struct load *l)
{
	return l->done;
}

int load_deliveries(const struct load *l)
{
	return l->plan.n_deliveries;
}

void load_totals(const struct load *l, struct load_totals *ret)
{
	*ret = (struct load_totals){
	    .notifications = l->plan.n_items, .unanswered = l->unanswered, .refused = l->refused};
	for (int i = 0; i < l->plan.n_items; i++) {
		const struct load_item *item = &l->plan.items[i];

		ret->sends += item->sends;
		ret->accepted += item->accepted;
		ret->duplicates += item->duplicates;
	}
}

int load_count(const struct load *l)
{
	return l->plan.n_items;
}

const struct load_item *load_at(const struct load *l, int i)
{
	return &l->plan.items[i];
}

const char *load_store_name(enum load_store store)
{
	static const char *const names[LOAD_STORES] = {"app_store", "google_play", "stripe"};

	return store < LOAD_STORES ? names[store] : NULL;
}
