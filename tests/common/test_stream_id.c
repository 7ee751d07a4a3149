#include "common/stream_id.h"
#include "tests/support/check.h"

static void good(void)
{
	static const struct {
		const char *text;
		uint64_t ms, seq;
	} cases[] = {
	    {"0-0", 0, 0},
	    {"1767225600123-42", 1767225600123, 42},
	    {"18446744073709551615-18446744073709551615", UINT64_MAX, UINT64_MAX},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stream_id id = {9, 9};
		char buf[STREAM_ID_SIZE];

		CHECK(stream_id_parse(cases[i].text, &id));
		CHECK(id.ms == cases[i].ms && id.seq == cases[i].seq);
		CHECK_STR(stream_id_format(id, buf), cases[i].text);
	}
}

static void bad(void)
{
	static const char *const cases[] = {"", "-", "1", "1-", "-1", "1-2-3", "1-2 ", " 1-2",
	    "+1-2", "1-+2", "1--2", "a-1", "1-a", "1.0-1", "0x1-1", "*", "1-*", "$",
	    "18446744073709551616-0", "0-18446744073709551616", "99999999999999999999999-1"};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct stream_id id = {9, 9};

		if (stream_id_parse(cases[i], &id))
			CU_FAIL_FATAL(cases[i]);
		CHECK(id.ms == 9 && id.seq == 9);
	}
}

static void order(void)
{
	static const struct stream_id ids[] = {
	    {0, 0}, {0, 1}, {0, UINT64_MAX}, {1, 0}, {2, 1}, {UINT64_MAX, 0}};
	int n = sizeof(ids) / sizeof(ids[0]);

	for (int i = 0; i < n; i++) {
		for (int j = 0; j < n; j++) {
			int c = stream_id_compare(ids[i], ids[j]);
			CHECK_INT((c > 0) - (c < 0), (i > j) - (i < j));
		}
	}
}

static void neighbours(void)
{
	static const struct {
		struct stream_id id, before;
	} cases[] = {
	    {{5, 7}, {5, 6}},
	    {{5, 0}, {4, UINT64_MAX}},
	    {{0, 1}, {0, 0}},
	    {{0, 0}, {0, 0}},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CHECK_INT(stream_id_compare(stream_id_before(cases[i].id), cases[i].before), 0);
	CHECK_INT(stream_id_bigint(0), 0);
	CHECK_INT(stream_id_bigint(INT64_MAX), INT64_MAX);
	CHECK_INT(stream_id_bigint(UINT64_MAX), INT64_MAX);
}

static const struct check checks[] = {
    {"read and written", good},
    {"refused", bad},
    {"order", order},
    {"the one before, and as a bigint", neighbours},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common stream_id", checks, argc, argv);
}
