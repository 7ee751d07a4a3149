#include "producer/refused.h"

#include "common/log.h"
#include "common/memory.h"
#include "common/pace.h"
#include "producer/meter.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

enum { LOG_PACE_MS = 60000 };

struct kind {
	const char *store, *reason, *detail;
	struct tally tally;
	SLIST_ENTRY(kind) link;
};

struct refused {
	struct meter *meter;
	pthread_mutex_t lock;
	SLIST_HEAD(, kind) kinds; /* as many as there are reasons in the code, at most */
};

struct refused *refused_new(struct meter *meter)
{
	struct refused *r = mem_zalloc(1, sizeof(*r));

	r->meter = meter;
	pthread_mutex_init(&r->lock, NULL);
	SLIST_INIT(&r->kinds);
	return r;
}

static struct kind *find(struct refused *r, const char *store, const char *reason)
{
	struct kind *k;

	SLIST_FOREACH (k, &r->kinds, link)
		if (strcmp(k->store, store) == 0 && strcmp(k->reason, reason) == 0)
			return k;
	k = mem_zalloc(1, sizeof(*k));
	k->store = store;
	k->reason = reason;
	SLIST_INSERT_HEAD(&r->kinds, k, link);
	return k;
}

static void tell(const struct kind *k, int64_t count)
{
	if (count > 0)
		log_warn("requests refused", lf_str("store", k->store), lf_str("reason", k->reason),
		    lf_int("count", count), lf_str("detail", k->detail));
}

void refused_add(
    struct refused *r, const char *store, const char *reason, const char *detail, int64_t now_us)
{
	struct kind *k;

	meter_refused(r->meter, store, reason);
	pthread_mutex_lock(&r->lock);
	k = find(r, store, reason);
	k->detail = detail;
	k->tally.n++;
	tell(k, tally_take(&k->tally, now_us, LOG_PACE_MS));
	pthread_mutex_unlock(&r->lock);
}

void refused_tell(struct refused *r, int64_t now_us)
{
	struct kind *k;

	pthread_mutex_lock(&r->lock);
	SLIST_FOREACH (k, &r->kinds, link)
		tell(k, tally_take(&k->tally, now_us, LOG_PACE_MS));
	pthread_mutex_unlock(&r->lock);
}

void refused_free(struct refused *r)
{
	struct kind *k;

	if (!r)
		return;
	while ((k = SLIST_FIRST(&r->kinds))) {
		SLIST_REMOVE_HEAD(&r->kinds, link);
		tell(k, k->tally.n);
		free(k);
	}
	pthread_mutex_destroy(&r->lock);
	free(r);
}
