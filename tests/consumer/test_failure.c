#include "consumer/failure.h"

#include "tests/support/check.h"

static const struct failure_policy policy = {100, 1000, 5}, slow_policy = {10, 600000, 5};

static struct stream_id at(uint64_t seq)
{
	return (struct stream_id){1000, seq};
}

static struct failure_plan fail(
    struct failure *f, enum failure_kind kind, uint64_t n, uint64_t last)
{
	struct rng rng;

	rng_seed(&rng, check_seed());
	return failure_next(f, kind, n, at(last), &policy, &rng);
}

static void a_handlers_error_divides_the_batch_at_once(void)
{
	struct failure f = {.attempts = 0};
	struct failure_plan plan = fail(&f, FAILURE_HANDLER, 256, 300);

	CHECK_INT(plan.action, FAILURE_ONE_BY_ONE);
	CHECK_INT(plan.wait_ms, 0);
	CHECK(failure_alone(&f));
}

static void so_does_a_session_lost_while_it_ran(void)
{
	struct failure f = {.attempts = 0};

	CHECK_INT(fail(&f, FAILURE_LOST, 2, 300).action, FAILURE_ONE_BY_ONE);
	CHECK(failure_alone(&f));
	/* Also of one: so that its next start is counted. */
	f = (struct failure){.attempts = 0};
	CHECK_INT(fail(&f, FAILURE_LOST, 1, 300).action, FAILURE_ONE_BY_ONE);
	CHECK(failure_alone(&f) && failure_counts(&f, 1));
}

static void the_third_transient_failure_in_a_row_does(void)
{
	struct failure f = {.attempts = 0};

	CHECK_INT(fail(&f, FAILURE_TRANSIENT, 9, 300).action, FAILURE_AGAIN);
	CHECK_INT(fail(&f, FAILURE_TRANSIENT, 9, 300).action, FAILURE_AGAIN);
	failure_over(&f, at(300));
	CHECK_INT(fail(&f, FAILURE_TRANSIENT, 9, 400).action, FAILURE_AGAIN);
	CHECK_INT(fail(&f, FAILURE_AWAY, 9, 400).action, FAILURE_AGAIN);
	CHECK(!failure_alone(&f));
	CHECK_INT(fail(&f, FAILURE_TRANSIENT, 9, 400).action, FAILURE_ONE_BY_ONE);
}

static void alone_until_the_batch_is_done(void)
{
	struct failure f = {.attempts = 0};

	(void)fail(&f, FAILURE_HANDLER, 3, 303);
	failure_over(&f, at(301));
	CHECK(failure_alone(&f));
	CHECK_INT(fail(&f, FAILURE_HANDLER, 1, 302).action, FAILURE_PARK);
	failure_over(&f, at(302));
	CHECK(failure_alone(&f));
	failure_over(&f, at(303));
	CHECK(!failure_alone(&f));
}

static void the_first_batch_of_an_owner_goes_alone(void)
{
	struct failure f;

	failure_took_over(&f);
	CHECK(!failure_alone(&f));
	failure_elsewhere(&f); /* the cursor was read for the first time */
	CHECK(!failure_divides(&f, 0, at(299)));
	CHECK(failure_divides(&f, 9, at(300)));
	CHECK(failure_alone(&f) && failure_counts(&f, 1));
	CHECK(!failure_divides(&f, 1, at(292)));
	failure_over(&f, at(300));
	CHECK(!failure_divides(&f, 9, at(400)));
	CHECK(!failure_alone(&f) && !failure_counts(&f, 1));
	/* One of one need not be read again. */
	failure_took_over(&f);
	CHECK(!failure_divides(&f, 1, at(500)));
	CHECK(failure_alone(&f));
}

/* Counted once, and again only if nobody told how it ended. */
static void a_start_is_counted_before_it(void)
{
	struct failure f = {.until = at(300)};

	CHECK(failure_counts(&f, 1));
	CHECK(!failure_counts(&f, 0));
	CHECK(failure_started(&f, 1, &policy));
	CHECK(!failure_counts(&f, 1));
	(void)fail(&f, FAILURE_TRANSIENT, 1, 292);
	(void)fail(&f, FAILURE_AWAY, 1, 292);
	CHECK(!failure_counts(&f, 1));
	(void)fail(&f, FAILURE_LOST, 1, 292);
	CHECK(failure_counts(&f, 1));
	CHECK(failure_started(&f, 5, &policy));
	failure_over(&f, at(292));
	CHECK(failure_counts(&f, 1));
	CHECK(!failure_started(&f, 6, &policy));
}

static void a_message_that_fails_is_parked(void)
{
	struct failure f = {.until = at(300)};
	struct failure_plan plan;

	CHECK(failure_started(&f, 3, &policy));
	plan = fail(&f, FAILURE_HANDLER, 1, 292);
	CHECK_INT(plan.action, FAILURE_PARK);
	CHECK_INT(plan.parking.state, PARKED_RETRYING);
	CHECK_INT(plan.parking.starts, 3);
	/* In a batch of one it was not counted, and this was its first. */
	f = (struct failure){.attempts = 0};
	plan = fail(&f, FAILURE_HANDLER, 1, 292);
	CHECK_INT(plan.action, FAILURE_PARK);
	CHECK_INT(plan.parking.starts, 1);
}

static void it_waits_longer_and_longer_and_then_is_failed(void)
{
	int64_t ceiling = 100;
	struct rng rng;

	rng_seed(&rng, check_seed());
	for (unsigned starts = 1; starts <= 20; starts++) {
		struct parking parking = failure_parking(starts, &policy, &rng);

		CHECK_INT(parking.state, starts < 5 ? PARKED_RETRYING : PARKED_FAILED);
		CHECK_INT(parking.starts, starts);
		CHECK(parking.wait_ms >= 50 && parking.wait_ms <= ceiling);
		ceiling = ceiling * 2 < 1000 ? ceiling * 2 : 1000;
	}
}

static void what_is_due(void)
{
	CHECK_INT(failure_due(PARKED_RETRYING, 0, &policy), DUE_START);
	CHECK_INT(failure_due(PARKED_RETRYING, 4, &policy), DUE_START);
	CHECK_INT(failure_due(PARKED_RETRYING, 5, &policy), DUE_GIVE_UP);
	CHECK_INT(failure_due(PARKED_RETRY, 5, &policy), DUE_START);
	CHECK_INT(failure_due(PARKED_DISCARD, 5, &policy), DUE_DISCARD);
}

static void states_have_names(void)
{
	enum parked_state state;

	for (int i = PARKED_RETRYING; i <= PARKED_DISCARD; i++) {
		CHECK(parked_state_parse(parked_state_name((enum parked_state)i), &state));
		CHECK_INT(state, i);
	}
	CHECK(!parked_state_parse("applied", &state));
}

static void a_conflict_that_does_not_end_is_the_messages(void)
{
	struct failure f = {.attempts = 0};

	CHECK_INT(fail(&f, FAILURE_TRANSIENT, 1, 5).action, FAILURE_AGAIN);
	CHECK_INT(fail(&f, FAILURE_TRANSIENT, 1, 5).action, FAILURE_AGAIN);
	CHECK_INT(fail(&f, FAILURE_TRANSIENT, 1, 5).action, FAILURE_PARK);
}

static void the_server_is_nobodys_fault(void)
{
	struct failure f = {.attempts = 0};

	for (unsigned i = 1; i <= 20; i++)
		CHECK_INT(fail(&f, FAILURE_AWAY, 1, 5).action, FAILURE_AGAIN);
}

/* A day's worth of retries for a message is no reason to sleep through the end of an outage. */
static void an_outage_is_looked_at_often(void)
{
	struct failure f = {.attempts = 0};
	int64_t longest = 0;
	struct rng rng;

	rng_seed(&rng, check_seed());
	for (unsigned i = 1; i <= 1000; i++) {
		int64_t wait_ms = failure_parking(i, &slow_policy, &rng).wait_ms;

		CHECK(failure_next(&f, FAILURE_AWAY, 1, at(5), &slow_policy, &rng).wait_ms <= 5000);
		longest = wait_ms > longest ? wait_ms : longest;
	}
	CHECK(longest > 5000);
}

static const struct check checks[] = {
    {"a handler's error divides the batch at once", a_handlers_error_divides_the_batch_at_once},
    {"so does a session lost while it ran", so_does_a_session_lost_while_it_ran},
    {"the third transient failure in a row does", the_third_transient_failure_in_a_row_does},
    {"alone until the batch is done", alone_until_the_batch_is_done},
    {"the first batch of an owner goes alone", the_first_batch_of_an_owner_goes_alone},
    {"a start is counted before it", a_start_is_counted_before_it},
    {"a message that fails is parked", a_message_that_fails_is_parked},
    {"it waits longer and longer, and then is failed",
	it_waits_longer_and_longer_and_then_is_failed},
    {"what is due", what_is_due},
    {"states have names", states_have_names},
    {"a conflict that does not end is the message's", a_conflict_that_does_not_end_is_the_messages},
    {"the server is nobody's fault", the_server_is_nobodys_fault},
    {"an outage is looked at often", an_outage_is_looked_at_often},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer failure", checks, argc, argv);
}
