#include "consumer/failure.h"

#include "tests/support/check.h"

static const struct failure_policy policy = {100, 1000}, slow_policy = {10, 600000};

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

static void so_does_a_connection_lost_while_it_ran(void)
{
	struct failure f = {.attempts = 0};

	CHECK_INT(fail(&f, FAILURE_LOST, 2, 300).action, FAILURE_ONE_BY_ONE);
	CHECK(failure_alone(&f));
}

static void the_third_transient_failure_in_a_row_does(void)
{
	struct failure f = {.attempts = 0};

	CHECK_INT(fail(&f, FAILURE_TRANSIENT, 9, 300).action, FAILURE_BATCH_AGAIN);
	CHECK_INT(fail(&f, FAILURE_TRANSIENT, 9, 300).action, FAILURE_BATCH_AGAIN);
	failure_over(&f, at(300));
	CHECK_INT(fail(&f, FAILURE_TRANSIENT, 9, 400).action, FAILURE_BATCH_AGAIN);
	CHECK_INT(fail(&f, FAILURE_TRANSIENT, 9, 400).action, FAILURE_BATCH_AGAIN);
	CHECK(!failure_alone(&f));
	CHECK_INT(fail(&f, FAILURE_TRANSIENT, 9, 400).action, FAILURE_ONE_BY_ONE);
}

static void alone_until_the_batch_is_done(void)
{
	struct failure f = {.attempts = 0};

	(void)fail(&f, FAILURE_HANDLER, 3, 303);
	failure_over(&f, at(301));
	CHECK(failure_alone(&f));
	CHECK_INT(fail(&f, FAILURE_HANDLER, 1, 302).action, FAILURE_MESSAGE_AGAIN);
	failure_over(&f, at(302));
	CHECK(failure_alone(&f));
	failure_over(&f, at(303));
	CHECK(!failure_alone(&f));
}

static void a_message_is_tried_again_more_and_more_slowly(void)
{
	struct failure f = {.attempts = 0};
	int64_t ceiling = 100;

	for (unsigned i = 1; i <= 20; i++) {
		struct failure_plan plan = fail(&f, FAILURE_HANDLER, 1, 5);

		CHECK_INT(plan.action, FAILURE_MESSAGE_AGAIN);
		CHECK_INT(plan.attempt, i);
		CHECK(plan.wait_ms >= 50 && plan.wait_ms <= ceiling);
		ceiling = ceiling * 2 < 1000 ? ceiling * 2 : 1000;
	}
	failure_over(&f, at(5));
	CHECK_INT(fail(&f, FAILURE_HANDLER, 1, 6).attempt, 1);
}

static void the_server_is_nobodys_fault(void)
{
	struct failure f = {.attempts = 0};

	for (unsigned i = 1; i <= 20; i++)
		CHECK_INT(fail(&f, FAILURE_TRANSIENT, 1, 5).action, FAILURE_BATCH_AGAIN);
}

/* A day's worth of retries for a message is no reason to sleep through the end of an outage. */
static void an_outage_is_looked_at_often(void)
{
	struct failure f = {.attempts = 0}, g = {.attempts = 0};
	int64_t longest = 0;
	struct rng rng;

	rng_seed(&rng, check_seed());
	for (int i = 0; i < 1000; i++) {
		CHECK(failure_next(&f, FAILURE_TRANSIENT, 1, at(5), &slow_policy, &rng).wait_ms <=
		      5000);
		int64_t ms =
		    failure_next(&g, FAILURE_HANDLER, 1, at(5), &slow_policy, &rng).wait_ms;
		longest = ms > longest ? ms : longest;
	}
	CHECK(longest > 5000);
}

static const struct check checks[] = {
    {"a handler's error divides the batch at once", a_handlers_error_divides_the_batch_at_once},
    {"so does a connection lost while it ran", so_does_a_connection_lost_while_it_ran},
    {"the third transient failure in a row does", the_third_transient_failure_in_a_row_does},
    {"alone until the batch is done", alone_until_the_batch_is_done},
    {"a message is tried again more and more slowly",
	a_message_is_tried_again_more_and_more_slowly},
    {"the server is nobody's fault", the_server_is_nobodys_fault},
    {"an outage is looked at often", an_outage_is_looked_at_often},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer failure", checks, argc, argv);
}
