#include "consumer/failure.h"

#include <string.h>

/* A batch that deadlocks or times out this often in a row may be too much for one transaction. */
#define TRANSIENT_MAX 3

/* What is nobody's fault is over soon, or is an outage whose end should be noticed soon. */
#define TRANSIENT_WAIT_MAX_MS 5000

static const char *const state_names[] = {
    [PARKED_RETRYING] = "retrying",
    [PARKED_HELD] = "held",
    [PARKED_FAILED] = "failed",
    [PARKED_RETRY] = "retry",
    [PARKED_DISCARD] = "discard",
};

const char *parked_state_name(enum parked_state state)
{
	return state_names[state];
}

bool parked_state_parse(const char *name, enum parked_state *ret_state)
{
	for (unsigned i = 0; i < sizeof(state_names) / sizeof(state_names[0]); i++) {
		if (strcmp(name, state_names[i]) == 0) {
			*ret_state = (enum parked_state)i;
			return true;
		}
	}
	return false;
}

struct parking failure_parking(
    unsigned starts, const struct failure_policy *policy, struct rng *rng)
{
	return (struct parking){
	    .state = starts < policy->max_attempts ? PARKED_RETRYING : PARKED_FAILED,
	    .starts = starts,
	    .wait_ms = backoff_ms(
		starts > 0 ? starts - 1 : 0, policy->retry_min_ms, policy->retry_max_ms, rng),
	};
}

void failure_took_over(struct failure *f)
{
	*f = (struct failure){.first = true};
}

bool failure_divides(struct failure *f, uint64_t n, struct stream_id last)
{
	if (!f->first || n == 0)
		return false;
	f->first = false;
	f->until = last;
	return n > 1;
}

bool failure_alone(const struct failure *f)
{
	return stream_id_compare(f->until, STREAM_ID_ZERO) > 0;
}

bool failure_counts(const struct failure *f, uint64_t n)
{
	return failure_alone(f) && n == 1 && f->starts == 0;
}

bool failure_started(struct failure *f, unsigned starts, const struct failure_policy *policy)
{
	f->starts = starts;
	return starts <= policy->max_attempts;
}

static bool is_often(enum failure_kind kind, unsigned attempts)
{
	return kind == FAILURE_TRANSIENT && attempts >= TRANSIENT_MAX;
}

static bool must_divide(const struct failure *f, enum failure_kind kind, uint64_t n)
{
	if (kind == FAILURE_LOST)
		return !failure_alone(f);
	return n > 1 && (kind == FAILURE_HANDLER || f->attempts >= TRANSIENT_MAX);
}

static int64_t outage_wait_ms(
    unsigned attempts, const struct failure_policy *policy, struct rng *rng)
{
	int64_t max_ms = policy->retry_max_ms;

	if (max_ms > TRANSIENT_WAIT_MAX_MS)
		max_ms = TRANSIENT_WAIT_MAX_MS;
	if (max_ms < policy->retry_min_ms)
		max_ms = policy->retry_min_ms;
	return backoff_ms(attempts - 1, policy->retry_min_ms, max_ms, rng);
}

struct failure_plan failure_next(struct failure *f, enum failure_kind kind, uint64_t n,
    struct stream_id last, const struct failure_policy *policy, struct rng *rng)
{
	struct failure_plan plan = {.action = FAILURE_AGAIN, .attempt = ++f->attempts};

	/* Whatever else happens, this start is accounted for only if somebody told how it ended. */
	if (kind == FAILURE_LOST)
		f->starts = 0;
	if (must_divide(f, kind, n)) {
		f->until = last;
		f->attempts = 0;
		plan.action = FAILURE_ONE_BY_ONE;
	} else if (n == 1 && (kind == FAILURE_HANDLER || is_often(kind, f->attempts))) {
		plan.action = FAILURE_PARK;
		plan.parking = failure_parking(f->starts > 0 ? f->starts : 1, policy, rng);
	} else {
		plan.wait_ms = outage_wait_ms(f->attempts, policy, rng);
	}
	return plan;
}

void failure_over(struct failure *f, struct stream_id cursor)
{
	f->attempts = 0;
	f->starts = 0;
	if (stream_id_compare(cursor, f->until) >= 0)
		f->until = STREAM_ID_ZERO;
}

void failure_elsewhere(struct failure *f)
{
	*f = (struct failure){.first = f->first};
}

enum due_action failure_due(
    enum parked_state state, unsigned starts, const struct failure_policy *policy)
{
	if (state == PARKED_DISCARD)
		return DUE_DISCARD;
	return state == PARKED_RETRYING && starts >= policy->max_attempts ? DUE_GIVE_UP : DUE_START;
}
