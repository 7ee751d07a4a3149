#include "common/reach.h"

#include "common/clock.h"
#include "common/memory.h"
#include "common/redis.h"
#include "common/service.h"

#include <stdatomic.h>
#include <stdlib.h>

/* In place of a time: it answers. */
#define NEVER_US INT64_MAX

/* Who is told to stop meanwhile waits for the answer. */
#define ASK_MS 2000

struct reach {
	const char *redis_url;
	const char *right; /* NULL: it has been seen */
	int64_t patience_ms;
	_Atomic int64_t ask_us; /* when to ask, on clock_mono_us() */
	struct err err;         /* of the last question; the keeper's alone */
};

struct reach *reach_new(const char *redis_url, const char *right, int64_t patience_ms)
{
	struct reach *r = mem_zalloc(1, sizeof(*r));

	r->redis_url = redis_url;
	r->right = right;
	r->patience_ms = patience_ms;
	return r;
}

void reach_free(struct reach *r)
{
	free(r);
}

/* The first loss counts: later ones do not put the question off. */
void reach_lost(struct reach *r)
{
	int64_t answers = NEVER_US;

	atomic_compare_exchange_strong(
	    &r->ask_us, &answers, clock_mono_us() + r->patience_ms * 1000);
}

void reach_answered(struct reach *r)
{
	atomic_store(&r->ask_us, NEVER_US);
}

static int ask(struct reach *r, struct err *err)
{
	int64_t third_ms = r->patience_ms / 3 + 1;
	struct redis *redis = NULL;
	int rc = -1;

	if (redis_open(r->redis_url, third_ms < ASK_MS ? third_ms : ASK_MS, &redis, err) < 0 ||
	    (r->right && redis_command(redis, NULL, err, r->right) < 0))
		goto done;
	/* One that is taken away later is met by the workers. */
	r->right = NULL;
	rc = 0;
done:
	redis_close(redis);
	return rc;
}

const char *reach_problem(struct reach *r)
{
	if (clock_mono_us() < atomic_load(&r->ask_us))
		return NULL;
	r->err = (struct err)ERR_INIT;
	if (ask(r, &r->err) == 0) {
		reach_answered(r);
		return NULL;
	}
	if (r->err.kind != ERR_RETRY)
		service_fail(&r->err);
	return r->err.message;
}
