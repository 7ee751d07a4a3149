#include "consumer/failure.h"

/* A batch that deadlocks or times out this often in a row may be too much for one transaction. */
#define TRANSIENT_MAX 3

/* What is nobody's fault is over soon, or is an outage whose end should be noticed soon. */
#define TRANSIENT_WAIT_MAX_MS 5000

static bool is_suspect(enum failure_kind kind, unsigned attempts)
{
	return kind != FAILURE_TRANSIENT || attempts >= TRANSIENT_MAX;
}

static int64_t wait_max_ms(enum failure_kind kind, const struct failure_policy *policy)
{
	int64_t max_ms = policy->retry_max_ms;

	if (kind != FAILURE_HANDLER && max_ms > TRANSIENT_WAIT_MAX_MS)
		max_ms = TRANSIENT_WAIT_MAX_MS;
	return max_ms > policy->retry_min_ms ? max_ms : policy->retry_min_ms;
}

struct failure_plan failure_next(struct failure *f, enum failure_kind kind, uint64_t n,
    struct stream_id last, const struct failure_policy *policy, struct rng *rng)
{
	struct failure_plan plan = {.attempt = ++f->attempts};

	if (n > 1 && is_suspect(kind, f->attempts)) {
		f->until = last;
		f->attempts = 0;
		plan.action = FAILURE_ONE_BY_ONE;
		return plan;
	}
	plan.action =
	    n == 1 && kind == FAILURE_HANDLER ? FAILURE_MESSAGE_AGAIN : FAILURE_BATCH_AGAIN;
	plan.wait_ms =
	    backoff_ms(plan.attempt - 1, policy->retry_min_ms, wait_max_ms(kind, policy), rng);
	return plan;
}

void failure_over(struct failure *f, struct stream_id cursor)
{
	f->attempts = 0;
	if (stream_id_compare(cursor, f->until) >= 0)
		f->until = STREAM_ID_ZERO;
}

bool failure_alone(const struct failure *f)
{
	return stream_id_compare(f->until, STREAM_ID_ZERO) > 0;
}
