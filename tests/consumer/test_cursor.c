/* The cursor moves in the transaction of the effects: the rows themselves tell. */
#include "tests/consumer/stage.h"

/* The transaction that wrote the cursor is that of the newest inbox row.  (xmin has 32 bits.) */
static int64_t is_of_one_transaction(struct stage *s)
{
	return world_int(s->w,
	    "SELECT (c.xmin::text = (i.xid::text::bigint %% (1::bigint << 32))::text)"
	    "::int FROM effects.cursor AS c JOIN effects.inbox AS i "
	    "USING (consumer, shard, stream_id)");
}

static void one_transaction(void)
{
	struct stage *s = stage_open(1);

	stage_consumer(s, (const char *const[]){"--batch", "5", NULL}, NULL);
	for (int n = 1; n <= 20; n += 4) {
		stage_add_many(s, 1767225600000, n, n + 3);
		CHECK(stage_await_effects(s, n + 3));
		CHECK_INT(is_of_one_transaction(s), 1);
	}
	stage_check_effects(s, 20);
	stage_close(s);
}

static const struct check checks[] = {
    {"P10 inbox, effects and cursor are one transaction", one_transaction},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer cursor", checks, argc, argv);
}
