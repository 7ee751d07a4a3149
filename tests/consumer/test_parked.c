/* Messages that cannot be applied: parked, tried again, held, failed, released, once and in order.
 */
#include "tests/consumer/stage.h"

#include "tests/support/files.h"

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

/* From the first failure and from later ones: what the handler advised, and where it raised. */
static void what_the_database_said_besides(void)
{
	static const char *const once[] = {"--max-attempts", "1", NULL};
	static const char said[] = "SELECT count(*) FROM effects.parked WHERE starts = %d AND"
				   " state = 'failed' AND context LIKE 'DETAIL: d; HINT: create it;"
				   " CONTEXT: PL/pgSQL function stage.die() line 1 at RAISE %%'";
	const char *const show[] = {"dead-letter", "show", "m5", NULL};
	struct stage *s = stage_open(1);
	char *out = NULL;

	stage_on_message_5(s, "RAISE EXCEPTION 'no account' USING DETAIL = 'd',"
			      " HINT = 'create it' || chr(10) || 'and more'");
	stage_add_many(s, TICK, 1, 9);
	stage_consumer(s, once, NULL);
	CHECK(stage_await_parked(s, "failed m5"));
	CHECK_INT(world_int(s->w, said, 1), 1);
	world_sql(s->w, "UPDATE effects.parked SET context = NULL");
	stage_mark(s, 5, "retry");
	CHECK(world_await_int(s->w, 1, STAGE_MS, said, 2));
	CHECK_INT(world_run(s->w, &out, "umavez", show), 0);
	CHECK(strstr(out, "\n  context    DETAIL: d; HINT: create it; CONTEXT: PL/pgSQL ") != NULL);
	free(out);
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
	stage_mark(s, 5, "retry");
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
	stage_mark(s, 5, "discard");
	CHECK(stage_await_parked(s, "failed m10 held m15 held m20"));
	stage_heal(s, 10);
	stage_mark(s, 10, "retry");
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
	stage_mark(s, 5, "retry");
	CHECK(world_await_int(s->w, 1, STAGE_MS,
	    "SELECT count(*) FROM effects.parked WHERE state = 'failed' AND starts = 4"
	    " AND error LIKE 'P0001: %%poison' AND jsonb_array_length(history) = 5"));
	/* Whatever is parked behind it waits, also what would be retried by itself. */
	CHECK_INT(
	    world_int(s->w, "SELECT effects.park(consumer, shard, stream_id, stream_id, '1-1',"
			    " 'app_store', 'm15', 'app_store/p0', NULL, NULL, now(), '{}',"
			    " 'retrying', 1, 0, 'x', NULL)::int FROM effects.cursor"),
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
	stage_mark(s, 10, "discard");
	CHECK(stage_await_parked(s, "failed m5 held m15 held m20"));
	stage_heal(s, 5);
	stage_mark(s, 5, "retry");
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
	CHECK(stage_await_answer(s, "start"));
	CHECK(stage_await_bookmark(s, "1767225600000-14"));
	stage_check_by_subject(s, 12);
	CHECK(stage_await_parked(s, "failed m5 held m10 held m15"));
	stage_mark(s, 5, "retry");
	CHECK(stage_await_effects(s, 15));
	stage_check_by_subject(s, 15);
	stage_close(s);
}

/* In another encoding, the ids of all later messages would be other ids: applied twice. */
static void a_handler_that_changes_the_encoding(void)
{
	static const char twice[] = "m\xc3\xa9";
	struct stage *s = stage_open(1);
	struct proc *p;

	stage_on_message_5(s, "PERFORM set_config('client_encoding', 'LATIN1', false)");
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
	stage_mark(s, 5, "retry");
	CHECK(stage_await_effects(s, 10));
	stage_close(s);
}

/* A conflict that does not end is the message's matter, after three times as a batch and three
 * alone; one that ends soon is nobody's. */
static void conflicts(void)
{
	struct stage *s = stage_open(1);

	world_sql(
	    s->w, "CREATE SEQUENCE stage.tries; GRANT USAGE ON SEQUENCE stage.tries TO PUBLIC");
	stage_on_message_5(s, "PERFORM nextval('stage.tries'); RAISE SQLSTATE '40001'");
	stage_add_many(s, TICK, 1, 9);
	stage_consumer(s, quick, NULL);
	CHECK(stage_await_effects(s, 8));
	CHECK(stage_await_parked(s, "failed m5"));
	/* Alone from the start, since it is the first batch: 3 times, then 2 retries. */
	CHECK_INT(world_int(s->w, "SELECT last_value FROM stage.tries"), 5);
	stage_heal(s, 1000);
	stage_mark(s, 5, "retry");
	CHECK(stage_await_effects(s, 9));
	world_sql(s->w, "DROP TRIGGER die ON stage.log; DROP FUNCTION stage.die");
	stage_on_message_5(
	    s, "NULL; END IF; IF nextval('stage.tries') < 3 THEN RAISE SQLSTATE '40P01'");
	world_sql(s->w, "SELECT setval('stage.tries', 1, false)");
	stage_add_many(s, TICK + 1, 11, 19);
	CHECK(stage_await_effects(s, 18));
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM effects.parked"), 0);
	stage_check_by_subject(s, 18);
	stage_close(s);
}

/* Whatever the error says, it can be kept: cut within a character, with controls. */
static void an_error_of_any_text(void)
{
	struct stage *s = stage_open(1);
	struct proc *p;

	stage_on_message_5(s, "RAISE '%', E'a\\u001b[31m' || repeat('é', 1000)");
	stage_add_many(s, TICK, 1, 9);
	p = stage_consumer(s, quick, NULL);
	CHECK(stage_await_parked(s, "failed m5"));
	CHECK(!proc_log_has(p, "\033"));
	CHECK_INT(
	    world_int(s->w, "SELECT (length(error) BETWEEN 200 AND 500)::int FROM effects.parked"),
	    1);
	stage_close(s);
}

/* Redis has nothing to read, and no relay fills it: what is parked lies in the database. */
static void retried_while_the_stream_is_empty(void)
{
	struct stage *s = stage_open(1);

	stage_poison(s, 5);
	stage_add_many(s, TICK, 1, 10);
	stage_consumer(s, quick, NULL);
	CHECK(stage_await_effects(s, 8));
	CHECK(stage_await_parked(s, "failed m5 held m10"));
	stage_redis(s, "DEL " STAGE_STREAM);
	CHECK(stage_await_bookmark(s, "0-0"));
	stage_heal(s, 5);
	stage_mark(s, 5, "retry");
	CHECK(stage_await_parked(s, ""));
	CHECK(stage_await_effects(s, 10));
	stage_check_by_subject(s, 10);
	stage_close(s);
}

static const struct check checks[] = {
    {"B35 a handler that raises for one purchase", a_handler_that_raises_for_one_purchase},
    {"what the database said besides", what_the_database_said_besides},
    {"it heals by itself", it_heals_by_itself},
    {"an error at COMMIT is the handler's too", an_error_at_commit_is_the_handlers_too},
    {"one after the other fails", one_after_the_other_fails},
    {"a retry in vain", a_retry_in_vain},
    {"a held message is discarded", a_held_message_is_discarded},
    {"B53 what is parked comes again", what_is_parked_comes_again},
    {"a handler that changes the encoding", a_handler_that_changes_the_encoding},
    {"conflicts", conflicts},
    {"an error of any text", an_error_of_any_text},
    {"retried while the stream is empty", retried_while_the_stream_is_empty},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("consumer parked", checks, argc, argv);
}
