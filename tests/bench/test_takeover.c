/*
 * A takeover is late when it, or anybody's wait, outlasts the lease.
 */
#include "tests/bench/takeover.h"
#include "tests/support/check.h"

#include <math.h>

static bool in_time(double taken_ms, double its_ms, double others_ms)
{
	return takeover_in_time(&(struct takeover){taken_ms, its_ms, others_ms, 0});
}

static void waits_are_held_against_the_lease(void)
{
	CHECK(in_time(0, 0, 0));
	CHECK(in_time(FLEET_LEASE_MS, FLEET_LEASE_MS, FLEET_LEASE_MS));
	CHECK(in_time(1.1 * FLEET_LEASE_MS, 1.1 * FLEET_LEASE_MS, 0));
	CHECK(!in_time(1.3 * FLEET_LEASE_MS, 0, 0));
	CHECK(!in_time(0, 2 * FLEET_LEASE_MS, 0));
	CHECK(!in_time(0, 0, 1.3 * FLEET_LEASE_MS));
}

static void a_producer_has_no_lease(void)
{
	CHECK(in_time(NAN, 100, NAN));
	CHECK(!in_time(NAN, 2 * FLEET_LEASE_MS, NAN));
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"waits are held against the lease", waits_are_held_against_the_lease},
	    {"a producer has no lease", a_producer_has_no_lease},
	    {NULL, NULL},
	};

	return check_main("bench takeover", checks, argc, argv);
}
