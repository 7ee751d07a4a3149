/* The inbox is purged below the relay's floor, and nowhere else. */
#include "tests/consumer/stage.h"
#include "tests/support/check.h"

#define T INT64_C(1767225600000)
#define FLOOR_KEY "umavez:floor:{0}"

static const char *const fast[] = {
    "--retention-interval", "50ms", "--inbox-retention", "30d", NULL};

/* The first n messages were processed so long ago. */
static void age(struct stage *s, int n, int days)
{
	world_sql(s->w,
	    "UPDATE effects.inbox SET processed_at = processed_at - %d * interval '24 hours'"
	    " WHERE substr(message_id, 2)::integer <= %d",
	    days, n);
}

static bool await_inbox(struct stage *s, int n)
{
	return world_await_int(s->w, n, STAGE_MS, "SELECT count(*) FROM effects.inbox");
}

/* At least one whole round that began after this call. */
static void await_rounds(struct stage *s)
{
	const char *const count = "SELECT coalesce(sum(sessions), 0) FROM pg_stat_database"
				  " WHERE datname = current_database()";
	int64_t seen = world_int(s->w, "%s", count);

	CHECK(world_await_int(
	    s->w, 1, STAGE_MS, "SELECT ((%s) >= %lld)::int", count, (long long)seen + 3));
}

static struct stage *with_old_rows(void)
{
	struct stage *s = stage_open(1);

	stage_consumer(s, fast, NULL);
	stage_add_many(s, T, 1, 20);
	CHECK(stage_await_effects(s, 20));
	age(s, 10, 31);
	return s;
}

static void never_without_a_floor(void)
{
	struct stage *s = with_old_rows();

	await_rounds(s);
	CHECK(await_inbox(s, 20));
	stage_redis(s, "SET %s nonsense", FLOOR_KEY);
	await_rounds(s);
	CHECK(await_inbox(s, 20));
	stage_close(s);
}

static void below_the_floor_only(void)
{
	struct stage *s = with_old_rows();

	stage_redis(s, "SET %s %lld-6", FLOOR_KEY, (long long)T);
	CHECK(await_inbox(s, 15)); /* old: 1 to 10; below: 1 to 5 */
	await_rounds(s);
	CHECK(await_inbox(s, 15));
	CHECK(world_await_int(s->w, 1, STAGE_MS,
	    "SELECT (purge_floor = '%lld-6')::int FROM effects.cursor", (long long)T));
	stage_redis(s, "SET %s %lld-0", FLOOR_KEY, (long long)T + 1);
	CHECK(await_inbox(s, 10));
	CHECK(world_await_int(s->w, 1, STAGE_MS,
	    "SELECT (purge_floor = '%lld-11')::int FROM effects.cursor", (long long)T));
	/* A relay that fell behind says less: nothing comes of it. */
	stage_redis(s, "SET %s 1-0", FLOOR_KEY);
	age(s, 20, 31);
	await_rounds(s);
	CHECK(await_inbox(s, 10));
	CHECK_INT(world_int(s->w, "SELECT (purge_floor = '%lld-11')::int FROM effects.cursor",
		      (long long)T),
	    1);
	stage_close(s);
}

/* An old RDB brings an entry again whose inbox row is gone, and one whose row is there. */
static void what_comes_again_after_the_purge(void)
{
	struct stage *s = with_old_rows();

	stage_redis(s, "SET %s %lld-6", FLOOR_KEY, (long long)T);
	CHECK(await_inbox(s, 15));
	stage_redis(s, "SET %s %lld-0", FLOOR_KEY, (long long)T - 1);
	stage_redis(s, "DEL %s", STAGE_STREAM);
	stage_add(s, 0, T, 5);
	CHECK(stage_await_answer(s, "start"));
	CHECK(world_await_int(s->w, 1, STAGE_MS,
	    "SELECT count(*) FROM effects.parked WHERE message_id = 'm5' AND state = 'failed'"
	    " AND error LIKE '%%the inbox is purged below%%'"));
	stage_add(s, 0, T + 9, 7);
	CHECK(world_await_int(s->w, 1, STAGE_MS,
	    "SELECT count(*) FROM effects.inbox WHERE message_id = 'm7' AND stream_id = '%lld-7'",
	    (long long)T + 9));
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM effects.parked"), 1);
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM stage.log"), 20);
	stage_close(s);
}

/* Told again above the floor: where it first stood decides, not where it stands now. */
static void republished_after_the_purge(void)
{
	static const struct {
		int n;
		const char *first;
	} again[] = {{5, "1767225600000-5"}, {7, "1767225600000-7"}, {21, "1767225600000-21"}};
	struct stage *s = with_old_rows();

	stage_redis(s, "SET %s %lld-6", FLOOR_KEY, (long long)T);
	CHECK(await_inbox(s, 15));
	for (int i = 0; i < 3; i++)
		stage_redis(s,
		    "XADD " STAGE_STREAM " %lld-%d id m%d source app_store type purchase.noted"
		    " subject app_store/again%d time 2026-01-01T00:00:00.000Z data"
		    " {\"n\":%d,\"shard\":0} first_position %s",
		    (long long)T + 9, i + 1, again[i].n, again[i].n, again[i].n, again[i].first);
	CHECK(stage_await_cursor(s, "1767225600009-3"));
	CHECK(stage_await_parked(s, "failed m5"));
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM effects.parked WHERE error LIKE"
				  " 'first appeared at 1767225600000-5,%%'"),
	    1);
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM stage.log"), 21); /* 1 to 20, and 21 */
	stage_close(s);
}

/* Its neighbours' rows are gone long since; it is still known for what it is, and done once. */
static void parked_for_longer_than_the_inbox_remembers(void)
{
	static const char *const args[] = {"--retention-interval", "50ms", "--inbox-retention",
	    "24h", "--max-attempts", "2", "--retry-min", "10ms", NULL};
	static const char *const retry[] = {"dead-letter", "retry", "m5", NULL};
	struct stage *s = stage_open(1);

	stage_poison(s, 5);
	stage_consumer(s, args, NULL);
	stage_add_many(s, T, 1, 12);
	CHECK(stage_await_effects(s, 10));
	CHECK(stage_await_parked(s, "failed m5 held m10"));
	CHECK(await_inbox(s, 10));
	age(s, 20, 2);
	stage_redis(s, "SET %s %lld-0", FLOOR_KEY, (long long)T + 1);
	CHECK(await_inbox(s, 0));
	/* The stream comes again from a copy, under the same IDs. */
	stage_redis(s, "DEL %s", STAGE_STREAM);
	stage_add_many(s, T, 5, 5);
	stage_add_many(s, T, 10, 10);
	stage_add_many(s, T + 2, 13, 13);
	CHECK(stage_await_effects(s, 11));
	CHECK(stage_await_parked(s, "failed m5 held m10"));
	stage_heal(s, 5);
	CHECK_INT(world_run(s->w, NULL, "umavez", retry), 0);
	CHECK(stage_await_effects(s, 13));
	CHECK(stage_await_parked(s, ""));
	CHECK_INT(world_int(s->w, "SELECT count(DISTINCT n) FROM stage.log"), 13);
	stage_close(s);
}

/* A person has both done again: the second waits while the first fails. */
static void two_dead_letters_of_one_purchase(void)
{
	static const char *const all[] = {"dead-letter", "retry", "--all", NULL};
	struct stage *s = with_old_rows();

	stage_redis(s, "SET %s %lld-0", FLOOR_KEY, (long long)T + 1);
	CHECK(await_inbox(s, 10));
	stage_redis(s, "DEL %s", STAGE_STREAM);
	stage_add(s, 0, T, 5);
	stage_add(s, 0, T, 10);
	CHECK(stage_await_answer(s, "start"));
	CHECK(stage_await_parked(s, "failed m5 failed m10"));
	world_sql(s->w, "DELETE FROM stage.log");
	stage_poison(s, 5);
	CHECK_INT(world_run(s->w, NULL, "umavez", all), 0);
	CHECK(stage_await_parked(s, "failed m5 retry m10"));
	stage_heal(s, 5);
	CHECK_INT(world_run(s->w, NULL, "umavez", all), 0);
	CHECK(stage_await_parked(s, ""));
	stage_check_effects(s, 2);
	stage_close(s);
}

/* IDs are numbers, not text: 9-9 comes before 10-0. */
static void positions_are_numbers(void)
{
	struct stage *s = stage_open(1);

	CHECK_INT(world_int(s->w, "SELECT count(*) FROM (VALUES ('9-9', '10-0'), ('1-9', '1-10'),"
				  " ('1-18446744073709551615', '2-0')) AS v(a, b)"
				  " WHERE effects.position_key(a) < effects.position_key(b)"
				  " AND effects.key_position(effects.position_key(a)) = a"),
	    3);
	stage_close(s);
}

/* Rows that may not go do not keep those behind them, and each look is bounded. */
static void in_pieces(void)
{
	struct stage *s = stage_open(1);

	world_sql(s->w,
	    "INSERT INTO effects.cursor (consumer, shard) VALUES ('c', 0);"
	    "INSERT INTO effects.inbox (consumer, source, message_id, subject, shard, stream_id,"
	    " delivered_at, processed_at, instance) SELECT 'c', 's', n, 's/1', 0,"
	    " CASE WHEN n <= 10 THEN 9 ELSE 1 END || '-' || n, now(),"
	    " now() - (100 - n) * interval '24 hours', 'i' FROM generate_series(1, 30) AS n");
	CHECK_INT(world_int(s->w, "SELECT purged FROM effects.purge_inbox('c', 0::smallint, '5-0',"
				  " 86400000, '-infinity', 10)"),
	    0);
	CHECK_INT(world_int(s->w, "SELECT purged FROM effects.purge_inbox('c', 0::smallint, '5-0',"
				  " 86400000, (SELECT processed_at FROM effects.inbox"
				  " WHERE message_id = '10'), 15)"),
	    15);
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM effects.inbox"), 15);
	stage_close(s);
}

static const struct check checks[] = {
    {"never without a floor", never_without_a_floor},
    {"B53 below the floor, and old", below_the_floor_only},
    {"B53 what comes again after the purge", what_comes_again_after_the_purge},
    {"B53 republished after the purge", republished_after_the_purge},
    {"B53 parked for longer than the inbox remembers", parked_for_longer_than_the_inbox_remembers},
    {"P11 two dead letters of one purchase", two_dead_letters_of_one_purchase},
    {"positions are numbers", positions_are_numbers},
    {"in pieces, over what must stay", in_pieces},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer purge", checks, argc, argv);
}
