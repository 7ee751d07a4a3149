#include "common/pg_array.h"
#include "tests/support/check.h"

#include <string.h>

static void expect(struct pg_array *a, const void *bytes, size_t len)
{
	int got_len;
	const char *got = pg_array_value(a, &got_len);

	CHECK_INT(got_len, len);
	CHECK_INT(memcmp(got, bytes, len), 0);
}

static void empty(void)
{
	struct pg_array a;

	pg_array_init(&a, PG_TEXT);
	expect(&a, "\0\0\0\0\0\0\0\0\0\0\0\x19", 12);
	pg_array_done(&a);
}

static void text(void)
{
	static const char bytes[] = "\0\0\0\1\0\0\0\1\0\0\0\x19\0\0\0\3\0\0\0\1"
				    "\0\0\0\2hi\xff\xff\xff\xff\0\0\0\0";
	struct pg_array a;

	pg_array_init(&a, PG_TEXT);
	pg_array_text(&a, "hi");
	pg_array_text(&a, NULL);
	pg_array_text(&a, "");
	expect(&a, bytes, sizeof(bytes) - 1);
	pg_array_done(&a);
}

static void numbers(void)
{
	struct pg_array a;

	pg_array_init(&a, PG_INT2);
	pg_array_int(&a, -2);
	expect(&a, "\0\0\0\1\0\0\0\0\0\0\0\x15\0\0\0\1\0\0\0\1\0\0\0\2\xff\xfe", 26);
	pg_array_done(&a);

	pg_array_init(&a, PG_INT4);
	pg_array_int(&a, 258);
	expect(&a, "\0\0\0\1\0\0\0\0\0\0\0\x17\0\0\0\1\0\0\0\1\0\0\0\4\0\0\1\2", 28);
	pg_array_done(&a);

	pg_array_init(&a, PG_INT8);
	pg_array_int(&a, INT64_MIN);
	expect(&a, "\0\0\0\1\0\0\0\0\0\0\0\x14\0\0\0\1\0\0\0\1\0\0\0\x08\x80\0\0\0\0\0\0\0", 32);
	pg_array_done(&a);
}

static void times_count_from_2000(void)
{
	struct pg_array a;

	pg_array_init(&a, PG_TIMESTAMPTZ);
	pg_array_time(&a, INT64_C(946684800001));
	expect(
	    &a, "\0\0\0\1\0\0\0\0\0\0\x04\xa0\0\0\0\1\0\0\0\1\0\0\0\x08\0\0\0\0\0\0\x03\xe8", 32);
	pg_array_done(&a);
}

static void reset_forgets(void)
{
	struct pg_array a;

	pg_array_init(&a, PG_BOOL);
	pg_array_null(&a);
	pg_array_bool(&a, false);
	pg_array_reset(&a);
	pg_array_bool(&a, true);
	expect(&a, "\0\0\0\1\0\0\0\0\0\0\0\x10\0\0\0\1\0\0\0\1\0\0\0\1\1", 25);
	pg_array_done(&a);
}

static void grows(void)
{
	struct pg_array a;
	int len;

	pg_array_init(&a, PG_BYTEA);
	for (int i = 0; i < 10000; i++)
		pg_array_bytes(&a, "\0\1\2\3\4", (size_t)(i % 6));
	const char *bytes = pg_array_value(&a, &len);
	CHECK_INT(a.n, 10000);
	CHECK_INT(memcmp(bytes + len - 3, "\0\1\2", 3), 0); /* 9999 % 6 bytes at the end */
	pg_array_done(&a);
}

static const struct check checks[] = {
    {"empty", empty},
    {"text", text},
    {"numbers", numbers},
    {"times count from 2000", times_count_from_2000},
    {"reset forgets", reset_forgets},
    {"grows", grows},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common pg_array", checks, argc, argv);
}
