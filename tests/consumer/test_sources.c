/* An id is unique only within the source that minted it: the source is in the inbox's key. */
#include "tests/consumer/stage.h"

static void add(struct stage *s, int n, const char *source)
{
	stage_redis(s,
	    "XADD " STAGE_STREAM " 1767225600000-%d id same source %s type purchase.noted "
	    "subject %s/p1 time 2026-01-01T00:00:00Z data {\"n\":%d,\"shard\":0}",
	    n, source, source, n);
}

static void one_id_from_two_sources(void)
{
	struct stage *s = stage_open(1);

	add(s, 1, "app_store");
	add(s, 2, "app_store_sandbox");
	add(s, 3, "app_store");
	add(s, 4, "stripe");
	stage_consumer(s, NULL, NULL);
	CHECK(stage_await_cursor(s, "1767225600000-4"));
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM effects.inbox"), 3);
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM stage.log WHERE n IN (1, 2, 4)"), 3);
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM stage.log"), 3);

	/* Again, in another batch. */
	add(s, 5, "stripe");
	CHECK(stage_await_cursor(s, "1767225600000-5"));
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM effects.inbox"), 3);
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM stage.log"), 3);
	stage_close(s);
}

static const struct check checks[] = {
    {"one id from two sources", one_id_from_two_sources},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer sources", checks, argc, argv);
}
