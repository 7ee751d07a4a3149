/* Entries in a stream that are not ours: ours are complete and in order among them. */
#include "tests/relay/stack.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

static void foreign_at_rest(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);
	char *id;

	stack_emit(w, "a", 20);
	stack_check(w, 0);
	id = world_redis_text(w, "XADD " STREAM " * who knows");
	CHECK(stack_await_shard_metric(relay, "foreign_entries_total", 1));
	stack_emit(w, "b", 20);
	stack_check(w, INVARIANTS_FOREIGN);
	CHECK_INT(stack_shard_metric(relay, "repairs_total"), 0);
	CHECK_INT(world_redis_int(w, "XLEN umavez:aside:{0}"), 1);

	redisContext *redis = world_redis(w);
	redisReply *aside = redisCommand(redis, "XRANGE umavez:aside:{0} - +");
	CHECK_STR(aside->element[0]->element[1]->element[0]->str, "stream_id");
	CHECK_STR(aside->element[0]->element[1]->element[1]->str, id);
	CHECK_STR(aside->element[0]->element[1]->element[3]->str, "knows");
	freeReplyObject(aside);
	redisFree(redis);
	free(id);
	world_close(w);
}

/*
 * The stream with entries in it that are not ours: every row is there once, at its own position, in
 * the order of its subject.
 */
static void check_among_others(struct world *w)
{
	CHECK(stack_await_published(w, WAIT_MS));
	world_sql(w, "CREATE VIEW ours AS "
		     "SELECT e.place, o.* FROM witness.entry AS e "
		     "JOIN intake.outbox AS o USING (id, source, message_id) "
		     "WHERE intake.in_tick(0::smallint, e.tick, o.id, o.xid)");
	CHECK_INT(world_int(w, "SELECT count(*) FROM ours"),
	    world_int(w, "SELECT count(*) FROM intake.outbox"));
	CHECK_INT(world_int(w, "SELECT count(DISTINCT id) FROM ours"),
	    world_int(w, "SELECT count(*) FROM intake.outbox"));
	CHECK_INT(
	    world_int(w, "SELECT count(*) FROM (SELECT id, lag(id) OVER (PARTITION BY subject "
			 "ORDER BY place) AS last FROM ours) AS o WHERE last > id"),
	    0);
}

/* While rows come in. */
static void foreign_at_any_moment(void)
{
	struct world *w = stack_open(1);
	struct proc *relay =
	    stack_relay(w, (const char *const[]){"--append-batch", "3", NULL}, NULL);

	for (int i = 0; i < 40; i++) {
		char prefix[16];

		snprintf(prefix, sizeof(prefix), "m%d-", i);
		world_sql(w,
		    "SELECT intake.emit('app', '%s' || g, 't', 'app/' || g %% 7, '{}') "
		    "FROM generate_series(1, 20) AS g",
		    prefix);
		world_sql(w, "NOTIFY umavez_outbox");
		world_redis_run(w, "XADD " STREAM " * who knows");
	}
	check_among_others(w);
	CHECK(stack_await_shard_metric(relay, "foreign_entries_total", 40));
	CHECK_INT(world_redis_int(w, "XLEN umavez:aside:{0}"), 40);
	world_close(w);
}

/* A relay that hangs with 3 of a tick's 20 rows in the stream. */
static struct proc *hung_in_a_tick(struct world *w)
{
	struct proc *relay;

	world_sql(w, "SELECT intake.emit('app', 'm' || g, 't', 'app/' || g %% 7, '{}') "
		     "FROM generate_series(1, 20) AS g");
	relay = stack_relay(w, (const char *const[]){"--append-batch", "3", NULL},
	    (const char *const[]){"UMAVEZ_FAILPOINTS=relay.mid_tick=hang", NULL});
	CHECK(stack_await_length(w, 3));
	return relay;
}

static void foreign_in_the_middle_of_a_tick(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = hung_in_a_tick(w);

	world_redis_run(w, "XADD " STREAM " * who knows");
	proc_set_env(relay, NULL);
	proc_restart(relay);
	stack_check(w, INVARIANTS_FOREIGN);
	CHECK(stack_await_shard_metric(relay, "repairs_total", 1));
	CHECK_INT(world_redis_int(w, "XLEN " STREAM), 21);
	world_close(w);
}

/* The very ID that a row was going to get, with other content. */
static void foreign_takes_an_id(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = hung_in_a_tick(w);
	int64_t tick = world_int(w, "SELECT max(tick) FROM intake.tick");

	world_redis_run(w, "XADD " STREAM " %lld-5 id m5 source elsewhere", (long long)tick);
	proc_set_env(relay, NULL);
	proc_restart(relay);
	check_among_others(w);
	world_close(w);
}

/* A row of ours, under a position that no tick gives it. */
static void copy_under_another_id(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = hung_in_a_tick(w);
	int64_t tick = world_int(w, "SELECT max(tick) FROM intake.tick");

	world_redis_run(w, "XADD " STREAM " %lld-20 id m20 source app", (long long)tick + 1);
	proc_set_env(relay, NULL);
	proc_restart(relay);
	check_among_others(w);
	CHECK(stack_shard_metric(relay, "foreign_entries_total") >= 1);
	world_close(w);
}

/* The database was set back to an earlier moment: newer entries stand in the stream. */
static void phantoms(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);

	stack_emit(w, "a", 20);
	stack_check(w, 0);
	stack_emit(w, "lost", 10);
	stack_check(w, 0);
	proc_kill(relay, SIGKILL);
	proc_wait(relay, WAIT_MS);
	world_sql(w, "DELETE FROM intake.tick WHERE tick >= (SELECT min(e.tick) "
		     "FROM witness.entry AS e WHERE message_id LIKE 'lost%%')");
	world_sql(w, "DELETE FROM intake.outbox WHERE message_id LIKE 'lost%%'");
	world_sql(w, "ALTER TABLE intake.outbox ALTER id RESTART 21");
	stack_emit(w, "new", 30);
	proc_restart(relay);
	check_among_others(w);
	CHECK(stack_await_shard_metric(relay, "foreign_entries_total", 10));
	world_close(w);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"a foreign entry, at rest", foreign_at_rest},
	    {"foreign entries at any moment", foreign_at_any_moment},
	    {"a foreign entry in the middle of a tick", foreign_in_the_middle_of_a_tick},
	    {"a foreign entry under an ID of ours", foreign_takes_an_id},
	    {"a row of ours under an ID that is not its own", copy_under_another_id},
	    {"entries of commits that the database has lost", phantoms},
	    {NULL, NULL},
	};
	return check_main("relay foreign entries", checks, argc, argv);
}
