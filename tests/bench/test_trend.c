/*
 * A leak is told from memory that comes and goes.
 */
#include "tests/bench/trend.h"
#include "tests/support/check.h"

#include <math.h>

static void a_line_is_found(void)
{
	struct trend t = {.n = 0};
	struct trend_summary s;

	CHECK(!trend_summarize(&t, 0, &s));
	trend_add(&t, 0, 100);
	CHECK(!trend_summarize(&t, 0, &s));
	for (int i = 1; i <= 1000; i++)
		trend_add(&t, i, 100 + 0.01 * i);
	CHECK(trend_summarize(&t, 0, &s));
	CHECK(fabs(s.rise - 10) < 1e-6);
	CHECK(fabs(s.first - 100) < 1e-9);
	CHECK(fabs(s.last - 110) < 1e-9);
	CHECK(fabs(s.max - 110) < 1e-9);
	trend_done(&t);
}

static void a_warm_up_does_not_count(void)
{
	struct trend t = {.n = 0};
	struct trend_summary s;

	for (int i = 0; i < 100; i++)
		trend_add(&t, i, i < 50 ? i : 50);
	CHECK(trend_summarize(&t, 50, &s));
	CHECK(fabs(s.rise) < 1e-9);
	CHECK(fabs(s.first - 50) < 1e-9);
	CHECK(trend_summarize(&t, 0, &s));
	CHECK(s.rise > 40);
	CHECK(!trend_summarize(&t, 99, &s));
	trend_done(&t);
}

/* Up and down by forty, one peak of a thousand, and a leak of 0.01 or none. */
static bool is_flat(double leak, double slack, double share)
{
	struct trend t = {.n = 0};
	struct trend_summary s;
	bool flat;

	for (int i = 0; i < 1800; i++)
		trend_add(&t, i, 1000 + 20 * (i % 5 - 2) + (i == 902 ? 1000 : 0) + leak * i);
	CHECK(trend_summarize(&t, 0, &s));
	CHECK(s.max > s.first);
	flat = trend_is_flat(&s, slack, share);
	trend_done(&t);
	return flat;
}

static void a_leak_is_told_from_noise(void)
{
	CHECK(is_flat(0, 5, 0));
	CHECK(!is_flat(0.01, 5, 0));
	CHECK(is_flat(0.01, 30, 0));
	CHECK(is_flat(0.01, 0, 0.03));
	CHECK(!is_flat(0.01, 0, 0.01));
	CHECK(is_flat(-1, 0, 0));
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"a line is found", a_line_is_found},
	    {"a warm-up does not count", a_warm_up_does_not_count},
	    {"a leak is told from noise", a_leak_is_told_from_noise},
	    {NULL, NULL},
	};

	return check_main("bench trend", checks, argc, argv);
}
