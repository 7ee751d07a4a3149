#include "consumer/timestamp.h"

#include "common/clock.h"
#include "tests/support/check.h"

#include <string.h>

static void known_instants(void)
{
	static const struct {
		const char *text;
		int64_t ms;
	} rows[] = {
	    {"1970-01-01T00:00:00Z", 0},
	    {"1969-12-31T23:59:59.999Z", -1},
	    {"2026-01-01T00:00:00.123Z", INT64_C(1767225600123)},
	    {"2026-01-01T00:00:00.123999+00:00", INT64_C(1767225600123)},
	    {"2026-01-01 00:00:00.1+00:00", INT64_C(1767225600100)},
	    {"2026-01-01T01:30:00+01:30", INT64_C(1767225600000)},
	    {"2025-12-31T19:00:00-05:00", INT64_C(1767225600000)},
	    {"2024-02-29T12:00:00z", INT64_C(1709208000000)},
	    {"0001-01-01T00:00:00Z", INT64_C(-62135596800000)},
	    {"9999-12-31T23:59:60Z", INT64_C(253402300800000)},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t ms = 7;

		CHECK(timestamp_parse(rows[i].text, strlen(rows[i].text), &ms));
		CHECK_INT(ms, rows[i].ms);
	}
}

static void anything_else_is_refused(void)
{
	static const char *const rows[] = {"", "2026", "2026-01-01", "2026-01-01T00:00:00",
	    "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-02-29T00:00:00Z",
	    "2026-01-32T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z",
	    "2026-01-01T00:00:61Z", "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+0000",
	    "2026-01-01T00:00:00Zz", " 2026-01-01T00:00:00Z", "0000-01-01T00:00:00Z",
	    "2026-1-01T00:00:00Z", "+026-01-01T00:00:00Z", "infinity", NULL};

	for (int i = 0; rows[i]; i++) {
		int64_t ms = 7;

		CHECK(!timestamp_parse(rows[i], strlen(rows[i]), &ms));
		CHECK_INT(ms, 7);
	}
}

static void what_we_write_is_read_back(void)
{
	struct rng rng;

	rng_seed(&rng, check_seed());
	for (int i = 0; i < 100000; i++) {
		int64_t ms =
		    (int64_t)(rng_next(&rng) % UINT64_C(280000000000000)) - INT64_C(30000000000000);
		char text[CLOCK_RFC3339_SIZE];
		int64_t back;

		clock_rfc3339(ms, text);
		CHECK(timestamp_parse(text, strlen(text), &back));
		CHECK_INT(back, ms);
	}
}

static const struct check checks[] = {
    {"known instants", known_instants},
    {"anything else is refused", anything_else_is_refused},
    {"what we write is read back", what_we_write_is_read_back},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer timestamp", checks, argc, argv);
}
