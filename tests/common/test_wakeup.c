#include "common/wakeup.h"
#include "tests/support/check.h"

/* As tests/schema/test_receive.c has them of intake.shard_of_subject(). */
static void subjects(void)
{
	CHECK_INT((int64_t)wakeup_of("stripe//evt_1", 4), 1 << 3);
	CHECK_INT((int64_t)wakeup_of("app_store/1", 1000), INT64_C(1) << 173 % 64);
	CHECK_INT((int64_t)wakeup_of("stripe/sub_1", 1000), INT64_C(1) << 900 % 64);
	CHECK(wakeup_of("stripe/sub_1", 0) == WAKEUP_ANY);
}

static void commands(void)
{
	char buf[WAKEUP_SIZE];

	CHECK_STR(wakeup_command(UINT64_C(0xa000000000000005), buf),
	    "NOTIFY umavez_outbox, 'a000000000000005'");
	CHECK_STR(wakeup_command(WAKEUP_ANY, buf), "NOTIFY umavez_outbox");
}

static void payloads(void)
{
	CHECK(wakeup_concerns("5", 0));
	CHECK(!wakeup_concerns("5", 1));
	CHECK(wakeup_concerns("5", 2));
	CHECK(wakeup_concerns("5", 64));
	CHECK(wakeup_concerns("8000000000000000", 63));
	CHECK(!wakeup_concerns("7fffffffffffffff", 63));
	CHECK(wakeup_concerns("", 1));
	CHECK(wakeup_concerns("news", 1));
	CHECK(wakeup_concerns("5 and more", 1));
}

static const struct check checks[] = {
    {"the shard of a subject", subjects},
    {"commands", commands},
    {"payloads", payloads},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common wakeup", checks, argc, argv);
}
