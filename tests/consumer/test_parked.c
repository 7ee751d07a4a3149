/* Messages that cannot be applied: parked, tried again, held, failed, released, once and in order.
 */
#include "tests/consumer/stage.h"

#include "tests/support/files.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#define TICK INT64_C(1767225600000)

static const char *const quick[] = {
    "--max-attempts", "3", "--retry-min", "20ms", "--retry-max", "50ms", NULL};

/* As many as it takes: for tests in which nothing may fail for good. */
static const char *const patient[] = {
    "--max-attempts", "100000", "--retry-min", "5ms", "--retry-max", "10ms", NULL};

static int count_in_log(const struct proc *p, const char *text)
{
	char *log = file_read(proc_log(p), NULL);
	int n = 0;

	for (const char *at = log; at && (at = strstr(at, text)) != NULL; at += strlen(text))
		n++;
	free(log);
	return n;
}

static void mark(struct stage *s, int n, const char *state)
{
	CHECK_INT(world_int(s->w,
		      "SELECT effects.mark('" STAGE_CONSUMER "', 'app_store', 'm%d', '%s',"
		      " 'a reason')::int",
		      n, state),
	    1);
}

static void retry_by_command(struct stage *s, const char *id)
{
	const char *const args[] = {"dead-letter", "retry", id, NULL};
	char *out = NULL;

	CHECK_INT(world_run(s->w, &out, "umavez", args), 0);
	CHECK(strstr(out, "behind it: 4\n") != NULL);
	free(out);
}

static void check_trace(struct stage *s, const char *id, const char *text)
{
	const char *const args[] = {"trace", id, NULL};
	char *out = NULL;

	CHECK_INT(world_run(s->w, &out, "umavez", args), 0);
	if (!strstr(out, text))
		fprintf(stderr, "%s", out);
	CHECK(strstr(out, text) != NULL);
	free(out);
}

/* B35, and the first acceptance: all others are applied while it is still retrying. */
static void a_handler_that_raises_for_one_purchase(void)
{
	static const char *const args[] = {
	    "--max-attempts", "4", "--retry-min", "400ms", "--retry-max", "500ms", NULL};
	struct stage *s = stage_open(1);
	struct proc *p;

	stage_poison(s, 5);
	stage_add_many(s, TICK, 1, 20);
	p = stage_consumer(s, args, NULL);
	CHECK(stage_await_effects(s, 16));
	CHECK(stage_await_parked(s, "retrying m5 held m10 held m15 held m20"));
	stage_check_by_subject(s, 16);
	CHECK(stage_await_bookmark(s, "1767225600000-20"));
	CHECK(proc_await_ready(p, STAGE_MS));
	CHECK(stage_await_parked(s, "failed m5 held m10 held m15 held m20"));
	CHECK_INT(world_int(s->w, "SELECT starts FROM effects.parked WHERE message_id = 'm5'"), 4);
	stage_add_many(s, TICK + 1, 21, 25);
	CHECK(stage_await_parked(s, "failed m5 held m10 held m15 held m20 held m25"));
	CHECK(stage_await_effects(s, 20));
	CHECK(
	    stage_await_says(p, "/metrics", "umavez_dead_letters{consumer=\"entitlements\"} 1\n"));
	CHECK(proc_await_ready(p, STAGE_MS));
	CHECK(stage_says(p, "/readyz", "failed messages: 1"));
	CHECK_INT(count_in_log(p, "level=warn service=consumer msg=\"message parked"), 1);
	CHECK_INT(count_in_log(p, "level=error"), 1);
	CHECK(proc_log_has(p, "subject=app_store/p0 attempt=4 retry_ms=0 sqlstate=P0001"));
	check_trace(s, "1767225600000-5",
	    "failed: for entitlements after 4 starts: P0001:"
	    " message 5 is poison");
	check_trace(s, "1767225600000-10",
	    "held: for entitlements behind app_store/m5, which is"
	    " failed: P0001: message 5 is poison");
	stage_heal(s, 5);
	retry_by_command(s, "m5");
	CHECK(stage_await_parked(s, ""));
	stage_check_by_subject(s, 25);
	CHECK(
	    stage_await_says(p, "/metrics", "umavez_dead_letters{consumer=\"entitlements\"} 0\n"));
	CHECK(!stage_says(p, "/readyz", "failed messages"));
	stage_close(s);
}

static void it_heals_by_itself(void)
{
	struct stage *s = stage_open(1);

	stage_poison(s, 5);
	stage_add_many(s, TICK, 1, 20);
	stage_consumer(s, patient, NULL);
	CHECK(stage_await_parked(s, "retrying m5 held m10 held m15 held m20"));
	CHECK(world_await_int(
	    s->w, 1, STAGE_MS, "SELECT (max(starts) > 5)::int FROM effects.parked"));
	stage_heal(s, 5);
	CHECK(stage_await_effects(s, 20));
	CHECK(stage_await_parked(s, ""));
	stage_check_by_subject(s, 20);
	stage_close(s);
}

static void an_error_at_commit_is_the_handlers_too(void)
{
	static const char *const args[] = {"--handler", "stage.apply_deferred", "--max-attempts",
	    "3", "--retry-min", "20ms", "--retry-max", "50ms", NULL};
	struct stage *s = stage_open(1);
	struct proc *p;

	stage_poison(s, 5);
	stage_add_many(s, TICK, 1, 10);
	p = stage_consumer(s, args, NULL);
	CHECK(stage_await_parked(s, "failed m5 held m10"));
	CHECK(proc_log_has(p, "sqlstate=23503"));
	stage_check_by_subject(s, 8);
	world_sql(s->w, "INSERT INTO stage.parent VALUES (5)");
	mark(s, 5, "retry");
	CHECK(stage_await_effects(s, 10));
	stage_check_by_subject(s, 10);
	stage_close(s);
}

/* What is held can fail in its turn, and what is behind it waits on. */
static void one_after_the_other_fails(void)
{
	struct stage *s = stage_open(1);

	stage_poison(s, 5);
	stage_poison(s, 10);
	stage_add_many(s, TICK, 1, 20);
	stage_consumer(s, quick, NULL);
	CHECK(stage_await_parked(s, "failed m5 held m10 held m15 held m20"));
	mark(s, 5, "discard");
	CHECK(stage_await_parked(s, "failed m10 held m15 held m20"));
	stage_heal(s, 10);
	mark(s, 10, "retry");
	CHECK(stage_await_parked(s, ""));
	stage_check_by_subject(s, 19);
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM effects.inbox WHERE message_id = 'm5'"
				  " AND discarded = 'a reason'"),
	    1);
	stage_close(s);
}

/* A retry that fails again is a dead letter again, at once. */
static void a_retry_in_vain(void)
{
	struct stage *s = stage_open(1);

	stage_poison(s, 5);
	stage_add_many(s, TICK, 1, 10);
	stage_consumer(s, quick, NULL);
	CHECK(stage_await_parked(s, "failed m5 held m10"));
	mark(s, 5, "retry");
	CHECK(world_await_int(s->w, 1, STAGE_MS,
	    "SELECT count(*) FROM effects.parked WHERE state = 'failed' AND starts = 4"
	    " AND error LIKE 'P0001: %%poison' AND jsonb_array_length(history) = 5"));
	/* Whatever is parked behind it waits, also what would be retried by itself. */
	CHECK_INT(
	    world_int(s->w, "SELECT effects.park(consumer, shard, stream_id, stream_id, '1-1',"
			    " 'app_store', 'm15', 'app_store/p0', NULL, NULL, now(), '{}',"
			    " 'retrying', 1, 0, 'x')::int FROM effects.cursor"),
	    1);
	CHECK(stage_await_parked(s, "failed m5 held m10 held m15"));
	stage_close(s);
}

/* Held ones may be discarded too; those before and after them keep their places. */
static void a_held_message_is_discarded(void)
{
	struct stage *s = stage_open(1);

	stage_poison(s, 5);
	stage_add_many(s, TICK, 1, 20);
	stage_consumer(s, quick, NULL);
	CHECK(stage_await_parked(s, "failed m5 held m10 held m15 held m20"));
	mark(s, 10, "discard");
	CHECK(stage_await_parked(s, "failed m5 held m15 held m20"));
	stage_heal(s, 5);
	mark(s, 5, "retry");
	CHECK(stage_await_effects(s, 19));
	stage_check_by_subject(s, 19);
	stage_close(s);
}

/* Parked, they come again from the stream, under another ID and after a flush under the same. */
static void what_is_parked_comes_again(void)
{
	struct stage *s = stage_open(1);

	stage_poison(s, 5);
	stage_add_many(s, TICK, 1, 12);
	stage_consumer(s, quick, NULL);
	CHECK(stage_await_parked(s, "failed m5 held m10"));
	stage_heal(s, 5);
	stage_add_many(s, TICK + 1, 1, 15);
	CHECK(stage_await_parked(s, "failed m5 held m10 held m15"));
	CHECK(stage_await_bookmark(s, "1767225600001-15"));
	stage_redis(s, "FLUSHALL");
	stage_add_many(s, TICK, 1, 14);
	CHECK(stage_await_bookmark(s, "1767225600000-14"));
	stage_check_by_subject(s, 12);
	CHECK(stage_await_parked(s, "failed m5 held m10 held m15"));
	mark(s, 5, "retry");
	CHECK(stage_await_effects(s, 15));
	stage_check_by_subject(s, 15);
	stage_close(s);
}

static void install_killer(struct stage *s, const char *does)
{
	world_sql(s->w,
	    "CREATE FUNCTION stage.die() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$"
	    " BEGIN IF NEW.n = 5 AND EXISTS (SELECT FROM stage.poison) THEN %s; END IF;"
	    " RETURN NEW; END $$;"
	    "CREATE TRIGGER die BEFORE INSERT ON stage.log FOR EACH ROW EXECUTE FUNCTION"
	    " stage.die()",
	    does);
	stage_poison(s, 1000);
}

/* Failed after as many starts, its neighbours applied once, none of them parked. */
static void a_handler_that_kills_its_backend(void)
{
	struct stage *s = stage_open(1);
	struct proc *p;

	install_killer(s, "PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(1)");
	stage_add_many(s, TICK, 1, 9);
	p = stage_consumer(s, quick, NULL);
	CHECK(stage_await_effects(s, 8));
	CHECK(stage_await_parked(s, "failed m5"));
	CHECK_INT(world_int(s->w, "SELECT starts FROM effects.parked"), 3);
	CHECK(proc_log_has(p, "ended during each of 3 starts"));
	stage_check_by_subject(s, 8);
	mark(s, 5, "retry"); /* which kills it once more, and no more than that */
	CHECK(world_await_int(s->w, 4, STAGE_MS,
	    "SELECT coalesce(sum(starts), 0) FROM effects.parked WHERE state = 'failed'"));
	stage_heal(s, 1000);
	mark(s, 5, "retry");
	CHECK(stage_await_effects(s, 9));
	stage_check_by_subject(s, 9);
	stage_close(s);
}

/* In another encoding, the ids of all later messages would be other ids: applied twice. */
static void a_handler_that_changes_the_encoding(void)
{
	static const char twice[] = "m\xc3\xa9";
	struct stage *s = stage_open(1);
	struct proc *p;

	install_killer(s, "PERFORM set_config('client_encoding', 'LATIN1', false)");
	stage_add_many(s, TICK, 1, 9);
	p = stage_consumer(s, quick, NULL);
	CHECK(stage_await_parked(s, "failed m5"));
	CHECK(stage_await_effects(s, 8));
	CHECK(proc_log_has(p, "the handler changed client_encoding to LATIN1"));
	stage_redis(s,
	    "XADD " STAGE_STREAM " %lld-1 id %s source app_store type t subject %s"
	    " time 2026-01-01T00:00:00Z data {\"shard\":0,\"n\":10}",
	    (long long)TICK + 1, twice, twice);
	CHECK(stage_await_effects(s, 9));
	CHECK_INT(
	    world_int(s->w, "SELECT count(*) FROM effects.inbox WHERE message_id = '%s'", twice),
	    1);
	stage_heal(s, 1000);
	mark(s, 5, "retry");
	CHECK(stage_await_effects(s, 10));
	stage_close(s);
}

static bool is_asleep(struct stage *s)
{
	return world_await_int(s->w, 1, STAGE_MS,
	    "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'");
}

static void kill_it_in_its_handler(struct stage *s, struct proc *p)
{
	CHECK(is_asleep(s));
	proc_kill(p, SIGKILL);
	CHECK_INT(proc_wait(p, STAGE_MS), 128 + SIGKILL);
	world_sql(s->w, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
			" WHERE wait_event = 'PgSleep'");
	proc_restart(p);
}

static void a_message_that_kills_the_process(void)
{
	struct stage *s = stage_open(1);
	struct proc *p;

	install_killer(s, "PERFORM pg_sleep(60)");
	stage_add_many(s, TICK, 1, 9);
	p = stage_consumer(s, quick, NULL);
	for (int i = 0; i < 3; i++)
		kill_it_in_its_handler(s, p);
	CHECK(stage_await_effects(s, 8));
	CHECK(stage_await_parked(s, "failed m5"));
	CHECK_INT(world_int(s->w, "SELECT starts FROM effects.parked"), 3);
	stage_check_by_subject(s, 8);
	/* Marked, it is started once more; whoever comes next does not touch it. */
	mark(s, 5, "retry");
	kill_it_in_its_handler(s, p);
	CHECK(stage_await_parked(s, "failed m5"));
	CHECK(proc_await_log(p, "ended during start 4", STAGE_MS));
	stage_close(s);
}

/* A conflict that does not end is the message's matter, after three times as a batch and three
 * alone; one that ends soon is nobody's. */
static void conflicts(void)
{
	struct stage *s = stage_open(1);

	world_sql(
	    s->w, "CREATE SEQUENCE stage.tries; GRANT USAGE ON SEQUENCE stage.tries TO PUBLIC");
	install_killer(s, "PERFORM nextval('stage.tries'); RAISE SQLSTATE '40001'");
	stage_add_many(s, TICK, 1, 9);
	stage_consumer(s, quick, NULL);
	CHECK(stage_await_effects(s, 8));
	CHECK(stage_await_parked(s, "failed m5"));
	/* Alone from the start, since it is the first batch: 3 times, then 2 retries. */
	CHECK_INT(world_int(s->w, "SELECT last_value FROM stage.tries"), 5);
	stage_heal(s, 1000);
	mark(s, 5, "retry");
	CHECK(stage_await_effects(s, 9));
	world_sql(s->w, "DROP TRIGGER die ON stage.log; DROP FUNCTION stage.die");
	install_killer(
	    s, "NULL; END IF; IF nextval('stage.tries') < 3 THEN RAISE SQLSTATE '40P01'");
	world_sql(s->w, "SELECT setval('stage.tries', 1, false)");
	stage_add_many(s, TICK + 1, 11, 19);
	CHECK(stage_await_effects(s, 18));
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM effects.parked"), 0);
	stage_check_by_subject(s, 18);
	stage_close(s);
}

/* kill -9 at a point, in a consumer that has something to park, to retry and to release. */
static void killed_at(const char *point, bool healed)
{
	struct stage *s = stage_open(1);
	char *failpoints = text_format("consumer.%s=crash@2", point);
	struct proc *p;

	stage_poison(s, 5);
	stage_poison(s, 6);
	stage_add_many(s, TICK, 1, 20);
	p = stage_consumer(s, patient, healed ? NULL : failpoints);
	if (healed) {
		const char *env[] = {NULL, NULL};
		char *variable = text_format("UMAVEZ_FAILPOINTS=%s", failpoints);

		CHECK(stage_await_effects(s, 13));
		env[0] = variable;
		proc_set_env(p, env);
		proc_restart(p);
		stage_heal(s, 5);
		stage_heal(s, 6);
		free(variable);
	}
	CHECK_INT(proc_wait(p, STAGE_MS), 128 + SIGKILL);
	CHECK(world_int(s->w, "SELECT count(*) FROM stage.log") < 20);
	proc_set_env(p, NULL);
	proc_restart(p);
	CHECK(world_await_int(s->w, 1, STAGE_MS, "SELECT (count(*) >= 13)::int FROM stage.log"));
	stage_heal(s, 5);
	stage_heal(s, 6);
	CHECK(stage_await_effects(s, 20));
	CHECK(stage_await_parked(s, ""));
	stage_check_by_subject(s, 20);
	free(failpoints);
	stage_close(s);
}

static void killed_at_each_step(void)
{
	killed_at("after_start", false);
	killed_at("before_park", false);
	killed_at("after_park", false);
	killed_at("before_release", true);
	killed_at("after_release", true);
}

/* One that stopped inside the transaction that releases, and one that stopped just before it. */
static void a_zombie_that_releases(const char *point)
{
	static const char *const args[] = {"--lease", "1s", "--max-attempts", "100000",
	    "--retry-min", "50ms", "--retry-max", "100ms", NULL};
	struct stage *s = stage_open(1);
	char *log = text_format("UMAVEZ_FAILPOINT_LOG=%s/hits", world_dir(s->w));
	char *points = text_format("UMAVEZ_FAILPOINTS=consumer.%s=sleep(700)@1", point);
	const char *const env[] = {points, log, NULL};
	struct proc *zombie, *successor;

	stage_poison(s, 5);
	stage_add_many(s, TICK, 1, 20);
	zombie = stage_consumer(s, args, NULL);
	CHECK(stage_await_parked(s, "retrying m5 held m10 held m15 held m20"));
	proc_kill(zombie, SIGKILL);
	CHECK_INT(proc_wait(zombie, STAGE_MS), 128 + SIGKILL);
	stage_heal(s, 5);
	proc_set_env(zombie, env);
	proc_restart(zombie);
	while (!file_has(strchr(log, '=') + 1, point))
		sleep_ms(5);
	proc_kill(zombie, SIGSTOP);
	successor = stage_consumer(s, args, NULL);
	stage_add_many(s, TICK + 1, 21, 30);
	CHECK(stage_await_effects(s, 30));
	proc_kill(zombie, SIGCONT);
	stage_add_many(s, TICK + 2, 31, 40);
	CHECK(stage_await_effects(s, 40));
	CHECK(stage_await_parked(s, ""));
	stage_check_by_subject(s, 40);
	CHECK(proc_alive(zombie) && proc_alive(successor));
	free(log);
	free(points);
	stage_close(s);
}

static void a_zombie(void)
{
	a_zombie_that_releases("before_release");
	a_zombie_that_releases("after_start");
}

/* Two owners of one shard, and a handler that fails now and then. */
static void two_owners_and_a_flaky_handler(void)
{
	static const char *const args[] = {"--lease-off", "--batch", "7", "--max-attempts",
	    "100000", "--retry-min", "1ms", "--retry-max", "5ms", NULL};
	struct stage *s = stage_open(1);

	install_killer(s, "NULL; END IF; IF random() < 0.2 THEN RAISE 'now and then'");
	stage_add_many(s, TICK, 1, 300);
	stage_consumer(
	    s, args, "consumer.before_release=sleep(3)%0.3;consumer.after_start=sleep(3)%0.3");
	stage_consumer(
	    s, args, "consumer.before_commit=sleep(3)%0.3;consumer.before_park=sleep(3)%0.3");
	CHECK(stage_await_effects(s, 300));
	stage_check_by_subject(s, 300);
	CHECK(stage_await_parked(s, ""));
	CHECK(world_int(s->w, "SELECT count(DISTINCT instance) FROM effects.inbox") == 2);
	stage_close(s);
}

/* Whatever the error says, it can be kept: cut within a character, with controls. */
static void an_error_of_any_text(void)
{
	struct stage *s = stage_open(1);
	struct proc *p;

	install_killer(s, "RAISE '%', E'a\\u001b[31m' || repeat('é', 1000)");
	stage_add_many(s, TICK, 1, 9);
	p = stage_consumer(s, quick, NULL);
	CHECK(stage_await_parked(s, "failed m5"));
	CHECK(!proc_log_has(p, "\033"));
	CHECK_INT(
	    world_int(s->w, "SELECT (length(error) BETWEEN 200 AND 500)::int FROM effects.parked"),
	    1);
	stage_close(s);
}

static const struct check checks[] = {
    {"B35 a handler that raises for one purchase", a_handler_that_raises_for_one_purchase},
    {"it heals by itself", it_heals_by_itself},
    {"an error at COMMIT is the handler's too", an_error_at_commit_is_the_handlers_too},
    {"one after the other fails", one_after_the_other_fails},
    {"a retry in vain", a_retry_in_vain},
    {"a held message is discarded", a_held_message_is_discarded},
    {"B53 what is parked comes again", what_is_parked_comes_again},
    {"a handler that kills its backend", a_handler_that_kills_its_backend},
    {"a handler that changes the encoding", a_handler_that_changes_the_encoding},
    {"a message that kills the process", a_message_that_kills_the_process},
    {"conflicts", conflicts},
    {"killed at each step", killed_at_each_step},
    {"a zombie that releases", a_zombie},
    {"two owners and a flaky handler", two_owners_and_a_flaky_handler},
    {"an error of any text", an_error_of_any_text},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer parked", checks, argc, argv);
}
