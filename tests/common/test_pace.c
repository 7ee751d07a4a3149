#include "common/pace.h"
#include "tests/support/check.h"

#define MINUTE_MS 60000
#define MINUTE_US (INT64_C(1000) * MINUTE_MS)

static void at_once_and_then_once_a_minute(void)
{
	struct pace p = {0};

	CHECK(pace_due(&p, 5 * MINUTE_US, MINUTE_MS));
	CHECK(!pace_due(&p, 5 * MINUTE_US, MINUTE_MS));
	CHECK(!pace_due(&p, 6 * MINUTE_US - 1, MINUTE_MS));
	CHECK(pace_due(&p, 6 * MINUTE_US, MINUTE_MS));
	CHECK(!pace_due(&p, 6 * MINUTE_US + 1, MINUTE_MS));
}

static void with_how_many_there_were(void)
{
	const int64_t start_us = 5 * MINUTE_US;
	struct tally t = {.n = 0};

	CHECK_INT(tally_take(&t, start_us, MINUTE_MS), 0);
	t.n = 1;
	CHECK_INT(tally_take(&t, start_us, MINUTE_MS), 1);
	t.n += 7;
	CHECK_INT(tally_take(&t, start_us + MINUTE_US - 1, MINUTE_MS), 0);
	CHECK_INT(tally_take(&t, start_us + MINUTE_US, MINUTE_MS), 7);
	CHECK_INT(tally_take(&t, start_us + 9 * MINUTE_US, MINUTE_MS), 0);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"at once, and then at most once a minute", at_once_and_then_once_a_minute},
	    {"with how many there were", with_how_many_there_were},
	    {NULL, NULL},
	};
	return check_main("common pace", checks, argc, argv);
}
