#include "common/clock.h"
#include "tests/support/check.h"

#include <string.h>

static void rfc3339(void)
{
	static const struct {
		int64_t ms;
		const char *text;
	} cases[] = {
	    {0, "1970-01-01T00:00:00.000Z"},
	    {1767225600123, "2026-01-01T00:00:00.123Z"},
	    {951782400000, "2000-02-29T00:00:00.000Z"},
	    {-1, "1969-12-31T23:59:59.999Z"},
	    {-1000, "1969-12-31T23:59:59.000Z"},
	    {253402300799999, "9999-12-31T23:59:59.999Z"},
	};
	char buf[CLOCK_RFC3339_SIZE];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		clock_rfc3339(cases[i].ms, buf);
		CHECK_STR(buf, cases[i].text);
	}
}

static void clocks_agree_on_units(void)
{
	int64_t wall_ms = clock_wall_ms(), mono_us = clock_mono_us();

	CHECK(wall_ms > INT64_C(1735689600000)); /* 2025, in ms */
	CHECK(clock_mono_us() >= mono_us);
	CHECK(clock_mono_us() - mono_us < 10000000);
}

/* The first outputs for this seed, as the algorithm's author and other implementations have them.
 */
static void splitmix64(void)
{
	static const uint64_t expected[] = {6457827717110365317u, 3203168211198807973u,
	    9817491932198370423u, 4593380528125082431u, 16408922859458223821u};
	struct rng rng;

	rng_seed(&rng, 1234567);
	for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
		CHECK(rng_next(&rng) == expected[i]);
}

static void unit_interval(void)
{
	struct rng rng;
	double sum = 0;

	rng_seed(&rng, check_seed());
	for (int i = 0; i < 10000; i++) {
		double u = rng_unit(&rng);
		CHECK(u >= 0 && u < 1);
		sum += u;
	}
	CHECK(sum > 4700 && sum < 5300);
}

static void random_bytes_differ(void)
{
	char a[600] = {0}, b[600] = {0};

	random_bytes(a, sizeof(a));
	random_bytes(b, sizeof(b));
	CHECK(memcmp(a, b, sizeof(a)) != 0);
	CHECK(memcmp(a + 568, b + 568, 32) != 0); /* the last part is filled in too */
}

static void backoff_bounds(void)
{
	struct rng rng;

	rng_seed(&rng, check_seed());
	for (unsigned attempt = 0; attempt < 200; attempt++) {
		int64_t ceiling = attempt < 10 ? INT64_C(100) << attempt : 60000;
		int64_t ms = backoff_ms(attempt, 100, 60000, &rng);

		if (ceiling > 60000)
			ceiling = 60000;
		CHECK(ms >= 50 && ms <= ceiling);
	}
	CHECK(backoff_ms(4000000000u, 1, INT64_MAX / 2, &rng) >= 0);
	CHECK_INT(backoff_ms(7, 1, 1, &rng) <= 1, 1);
}

static void backoff_spreads_and_grows(void)
{
	struct rng rng;
	int64_t least = INT64_MAX, most = 0;

	rng_seed(&rng, check_seed());
	for (int i = 0; i < 1000; i++) {
		int64_t ms = backoff_ms(6, 100, 60000, &rng);
		least = ms < least ? ms : least;
		most = ms > most ? ms : most;
	}
	CHECK(least < 1000 && most > 5000);
}

static void backoff_repeats_under_a_seed(void)
{
	struct rng a, b;

	rng_seed(&a, 42);
	rng_seed(&b, 42);
	for (unsigned i = 0; i < 50; i++)
		CHECK_INT(backoff_ms(i, 100, 60000, &a), backoff_ms(i, 100, 60000, &b));
}

static const struct check checks[] = {
    {"RFC 3339", rfc3339},
    {"clocks agree on units", clocks_agree_on_units},
    {"splitmix64", splitmix64},
    {"unit interval", unit_interval},
    {"random bytes differ", random_bytes_differ},
    {"backoff: bounds", backoff_bounds},
    {"backoff: spreads and grows", backoff_spreads_and_grows},
    {"backoff: repeats under a seed", backoff_repeats_under_a_seed},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common clock", checks, argc, argv);
}
