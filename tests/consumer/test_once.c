/* Effects happen once and in order, whoever dies when. */
#include "tests/consumer/stage.h"

#include "tests/support/pause.h"
#include "tests/support/text.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define TICK INT64_C(1767225600000)

static void effects_once(void)
{
	struct stage *s = stage_open(1);

	stage_add_many(s, TICK, 1, 100);
	stage_consumer(s, NULL, NULL);
	CHECK(stage_await_effects(s, 100));
	stage_add_many(s, TICK + 1, 101, 200);
	CHECK(stage_await_effects(s, 200));
	stage_check_effects(s, 200);
	CHECK(stage_await_cursor(s, "1767225600001-200"));
	CHECK(stage_await_bookmark(s, "1767225600001-200"));
	CHECK_INT(world_int(s->w,
		      "SELECT count(*) FROM effects.inbox WHERE consumer = '%s'"
		      " AND shard = 0 AND published_at = '2026-01-01 00:00:01Z'"
		      " AND stream_id LIKE '176722560000_-' || substr(message_id, 2)"
		      " AND delivered_at <= processed_at",
		      STAGE_CONSUMER),
	    200);
	stage_close(s);
}

/* Messages 1..300, each of them twice in the stream: the second time under another ID. */
static void add_twice(struct stage *s)
{
	for (int n = 1; n <= 300; n++) {
		stage_add(s, 0, TICK + 10 * n, n);
		if (n > 3)
			stage_add(s, 0, TICK + 10 * n + 5, n - 3);
	}
}

static void killed_at(const char *point)
{
	static const char *const args[] = {"--batch", "20", NULL};
	struct stage *s = stage_open(1);
	/* A whole batch: the first 20 go one by one. */
	char *failpoints = text_format("consumer.%s=crash@24", point);
	struct proc *p;

	add_twice(s);
	p = stage_consumer(s, args, failpoints);
	CHECK_INT(proc_wait(p, STAGE_MS), 128 + SIGKILL);
	CHECK(world_int(s->w, "SELECT count(*) FROM stage.log") < 300);
	proc_set_env(p, NULL);
	proc_restart(p);
	CHECK(stage_await_effects(s, 300));
	CHECK(stage_await_cursor(s, "1767225603005-297"));
	CHECK(stage_await_bookmark(s, "1767225603005-297"));
	stage_check_effects(s, 300);
	free(failpoints);
	stage_close(s);
}

static void killed_after_read(void)
{
	killed_at("after_read");
}

static void killed_before_inbox(void)
{
	killed_at("before_inbox");
}

static void killed_after_effect(void)
{
	killed_at("after_effect");
}

static void killed_before_commit(void)
{
	killed_at("before_commit");
}

static void killed_after_commit(void)
{
	killed_at("after_commit");
}

/* The bookmark is set at most every 100 ms: batches have to last. */
static void killed_after_bookmark(void)
{
	static const char *const args[] = {"--batch", "5", NULL};
	struct stage *s = stage_open(1);
	struct proc *p;

	add_twice(s);
	p = stage_consumer(
	    s, args, "consumer.after_bookmark=crash@2;consumer.after_effect=sleep(20)");
	CHECK_INT(proc_wait(p, STAGE_MS), 128 + SIGKILL);
	CHECK(world_int(s->w, "SELECT count(*) FROM stage.log") < 300);
	proc_set_env(p, NULL);
	proc_restart(p);
	CHECK(stage_await_effects(s, 300));
	stage_check_effects(s, 300);
	stage_close(s);
}

/* An error instead of a crash: the loop tears down and goes on by itself. */
static void errors_everywhere(void)
{
	static const char *const args[] = {"--batch", "3", NULL};
	struct stage *s = stage_open(1);

	stage_add_many(s, TICK, 1, 300);
	stage_consumer(s, args,
	    "consumer.after_read=error%0.05;consumer.before_inbox=error%0.05;"
	    "consumer.after_effect=error%0.05;consumer.before_commit=error%0.05;"
	    "consumer.after_commit=error%0.05;consumer.after_bookmark=error%0.2");
	CHECK(stage_await_effects(s, 300));
	stage_check_effects(s, 300);
	stage_close(s);
}

static void two_owners_of_one_shard(void)
{
	static const char *const args[] = {"--lease-off", "--batch", "7", NULL};
	struct stage *s = stage_open(1);

	stage_consumer(
	    s, args, "consumer.after_effect=sleep(3)%0.3;consumer.after_read=sleep(3)%0.3");
	stage_consumer(
	    s, args, "consumer.before_commit=sleep(3)%0.3;consumer.after_read=sleep(3)%0.3");
	for (int n = 1; n <= 2000; n++)
		stage_add(s, 0, TICK + n / 3, n);
	CHECK(stage_await_effects(s, 2000));
	stage_check_effects(s, 2000);
	CHECK(world_int(s->w, "SELECT count(DISTINCT instance) FROM effects.inbox") == 2);
	stage_close(s);
}

static bool is_in_transaction(struct stage *s)
{
	return world_await_int(s->w, 1, STAGE_MS,
	    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'umavez-consumer/0'"
	    " AND state = 'idle in transaction' AND query LIKE '%%apply_batch%%'");
}

/* Stopped inside its transaction, it holds the cursor's row; its successor must not wait for it to
 * come back.  Its lease ends within one lease time and is claimed within a third. */
static void a_zombie_in_its_transaction(void)
{
	static const char *const args[] = {"--lease", "3s", NULL};
	struct stage *s = stage_open(1);
	struct proc *zombie, *successor;
	int64_t stopped_ms;

	zombie = stage_consumer(s, args, "consumer.before_commit=sleep(600)@1");
	CHECK(world_await_int(s->w, 1, STAGE_MS,
	    "SELECT count(*) FROM effects.shard_lease WHERE holder IS NOT NULL"));
	successor = stage_consumer(s, args, NULL);
	stage_add_many(s, TICK, 1, 50);
	CHECK(is_in_transaction(s));
	proc_kill(zombie, SIGSTOP);
	stopped_ms = now_ms();
	stage_add_many(s, TICK + 1, 51, 60);
	CHECK(stage_await_effects(s, 60));
	CHECK(now_ms() - stopped_ms < 6000);
	proc_kill(zombie, SIGCONT);
	stage_add_many(s, TICK + 2, 61, 200);
	CHECK(stage_await_effects(s, 200));
	CHECK(proc_await_log(zombie, "lease expired", STAGE_MS));
	stage_check_effects(s, 200);
	CHECK(proc_alive(zombie) && proc_alive(successor));
	stage_close(s);
}

static void shards_are_shared_and_given_back(void)
{
	struct stage *s = stage_open(4);
	struct proc *first = stage_consumer(s, NULL, NULL), *second;

	CHECK(world_await_int(s->w, 4, STAGE_MS,
	    "SELECT count(*) FROM effects.shard_lease WHERE holder IS NOT NULL"));
	second = stage_consumer(s, NULL, NULL);
	CHECK(world_await_int(s->w, 2, STAGE_MS,
	    "SELECT count(*) FROM (SELECT holder FROM effects.shard_lease GROUP BY holder"
	    " HAVING count(*) = 2) AS h"));
	for (int n = 1; n <= 100; n++)
		stage_add(s, (unsigned)n % 4, TICK, n);
	CHECK(stage_await_effects(s, 100));
	CHECK(world_int(s->w, "SELECT count(DISTINCT instance) FROM effects.inbox") == 2);
	proc_kill(first, SIGTERM);
	CHECK_INT(proc_wait(first, STAGE_MS), 0);
	for (int n = 101; n <= 200; n++)
		stage_add(s, (unsigned)n % 4, TICK, n);
	CHECK(stage_await_effects(s, 200));
	stage_check_effects(s, 200);
	CHECK(proc_alive(second));
	stage_close(s);
}

/* On SIGTERM the bookmark is told, so that nothing is kept from being trimmed. */
static void a_clean_end_leaves_the_bookmark_at_the_cursor(void)
{
	static const char *const args[] = {"--batch", "1", NULL};
	struct stage *s = stage_open(1);
	struct proc *p = stage_consumer(s, args, "consumer.after_effect=sleep(10)");
	char *cursor;

	stage_add_many(s, TICK, 1, 300);
	CHECK(world_await_int(s->w, 1, STAGE_MS, "SELECT (count(*) > 20)::int FROM stage.log"));
	proc_kill(p, SIGTERM);
	CHECK_INT(proc_wait(p, STAGE_MS), 0);
	cursor = world_text(s->w, "SELECT stream_id FROM effects.cursor");
	CHECK(stage_await_bookmark(s, cursor));
	CHECK(world_int(s->w, "SELECT count(*) FROM stage.log") < 300);
	free(cursor);
	stage_close(s);
}

/* B42: a duplicate inside a batch, and one from before it. */
static void b42_duplicates_in_a_batch(void)
{
	static const char *const args[] = {"--lease-off", NULL};
	struct stage *s = stage_open(1);

	stage_add(s, 0, TICK, 1);
	stage_add(s, 0, TICK, 2);
	stage_add(s, 0, TICK + 1, 1);
	stage_add(s, 0, TICK + 1, 3);
	stage_consumer(s, args, NULL);
	CHECK(stage_await_effects(s, 3));
	CHECK(stage_await_cursor(s, "1767225600001-3"));
	stage_add(s, 0, TICK + 2, 2);
	stage_add(s, 0, TICK + 2, 4);
	CHECK(stage_await_cursor(s, "1767225600002-4"));
	stage_check_effects(s, 4);
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM effects.inbox"), 4);
	stage_close(s);
}

/* B42: two sessions apply the same messages in opposite order, of two shards that know nothing of
 * each other; inbox keys are inserted in one global order. */
static void b42_opposite_orders_do_not_deadlock(void)
{
	static const char *const args[] = {"--lease-off", "--batch", "2", NULL};
	struct stage *s = stage_open(2);
	struct proc *p;

	for (int n = 1; n <= 2000; n += 2) {
		stage_add(s, 0, TICK + n, n);
		stage_add(s, 0, TICK + n, n + 1);
		stage_add(s, 1, TICK + n, n + 1);
		stage_add(s, 1, TICK + n + 1, n);
	}
	p = stage_consumer(s, args, NULL);
	CHECK(stage_await_effects(s, 2000));
	CHECK(world_await_int(s->w, 2, STAGE_MS,
	    "SELECT count(*) FROM effects.cursor WHERE stream_id IN ('1767225601999-2000', "
	    "'1767225602000-1999')"));
	CHECK_INT(world_int(s->w, "SELECT count(DISTINCT n) FROM stage.log"), 2000);
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM stage.log"), 2000);
	CHECK(!proc_log_has(p, "40P01"));
	stage_close(s);
}

static const struct check checks[] = {
    {"effects once", effects_once},
    {"killed after read", killed_after_read},
    {"killed before inbox", killed_before_inbox},
    {"killed after effect", killed_after_effect},
    {"killed before commit", killed_before_commit},
    {"killed after commit", killed_after_commit},
    {"killed after bookmark", killed_after_bookmark},
    {"errors everywhere", errors_everywhere},
    {"two owners of one shard", two_owners_of_one_shard},
    {"a zombie in its transaction", a_zombie_in_its_transaction},
    {"shards are shared and given back", shards_are_shared_and_given_back},
    {"a clean end leaves the bookmark at the cursor",
	a_clean_end_leaves_the_bookmark_at_the_cursor},
    {"B42 duplicates in a batch", b42_duplicates_in_a_batch},
    {"B42 opposite orders do not deadlock", b42_opposite_orders_do_not_deadlock},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer once", checks, argc, argv);
}
