/* What Redis may do to a stream: it is complete again afterwards. */
#include "relay/db.h"
#include "relay/find.h"
#include "relay/script.h"
#include "relay/stream.h"
#include "relay_text.h"
#include "tests/relay/stack.h"
#include "tests/support/pause.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

static void remember_stream(struct world *w)
{
	witness_streams(w);
	world_sql(w, "CREATE TABLE remembered AS SELECT tick, id FROM witness.entry");
}

/* Of the entries that were remembered, how many are not there under the same ID. */
static int64_t missing_ids(struct world *w)
{
	witness_streams(w);
	return world_int(w, "SELECT count(*) FROM remembered LEFT JOIN witness.entry AS e "
			    "USING (tick, id) WHERE e.id IS NULL");
}

static void flushed(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);

	stack_emit(w, "a", 300);
	stack_check(w, 0);
	remember_stream(w);
	world_redis_run(w, "FLUSHALL"); /* nothing new is written: the poll finds out */
	CHECK(stack_await_published(w, WAIT_MS));
	CHECK_INT(missing_ids(w), 0);

	world_redis_run(w, "FLUSHALL");
	stack_emit(w, "b", 300);
	world_redis_run(w, "FLUSHALL");
	stack_emit(w, "c", 100);
	stack_check(w, 0);
	CHECK_INT(missing_ids(w), 0);
	CHECK(stack_shard_metric(relay, "rewinds_total") >= 2);
	world_close(w);
}

struct search {
	struct db *db;
	struct stream *stream;
	struct finding found;
	int rc;
};

static void *search(void *ctx)
{
	struct search *s = ctx;
	struct err err = ERR_INIT;

	s->rc = find_position(s->db, s->stream, STREAM_ID_ZERO, 0, &s->found, &err);
	return NULL;
}

/* Somebody's entry is the newest. While the database is asked whether it is ours, those below it go
 * too. */
static void flushed_while_looked_at(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);
	PGconn *lock = world_pg(w);
	struct search s = {.rc = -1};
	struct err err = ERR_INIT;
	pthread_t thread;

	stack_emit(w, "a", 20);
	stack_check(w, 0);
	proc_kill(relay, SIGKILL);
	CHECK_INT(proc_wait(relay, WAIT_MS), 128 + SIGKILL);
	world_redis_run(w, "XADD " STREAM " %lld-1 id x source app",
	    (long long)world_int(w, "SELECT max(tick) + 1 FROM intake.tick"));
	CHECK_INT(db_open(world_relay_url(w), 0, DB_SILENCE_MIN_MS, &s.db, &err), 0);
	CHECK_INT(stream_open(world_redis_url(w), "umavez", 0, "me", &s.stream, &err), 0);
	PQclear(PQexec(lock, "BEGIN; LOCK intake.outbox"));
	CHECK_INT(pthread_create(&thread, NULL, search, &s), 0);
	CHECK(world_await_int(w, 1, WAIT_MS,
	    "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' "
	    "AND query LIKE '%%Which of some stream entries are ours%%'"));
	world_redis_run(w, "FLUSHALL");
	PQfinish(lock);
	pthread_join(thread, NULL);
	CHECK_INT(s.rc, 0);
	CHECK_INT(s.found.stream.kind, STREAM_MISSING);
	CHECK_INT(s.found.position.action, POSITION_GO_ON);
	stream_close(s.stream);
	db_close(s.db);
	world_close(w);
}

static void restarted_empty(void)
{
	struct world *w = stack_open(1);

	stack_relay(w, NULL, NULL);
	stack_emit(w, "a", 100);
	stack_check(w, 0);
	remember_stream(w);
	world_redis_stop(w, false);
	stack_emit(w, "b", 50);
	world_redis_start(w, false);
	stack_check(w, 0);
	CHECK_INT(missing_ids(w), 0);
	world_close(w);
}

static void older_copy_restored(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);

	stack_emit(w, "a", 100);
	stack_check(w, 0);
	world_redis_run(w, "SAVE");
	stack_emit(w, "b", 100);
	stack_check(w, 0);
	remember_stream(w);
	world_redis_stop(w, false);
	world_redis_start(w, true);
	stack_emit(w, "c", 10);
	stack_check(w, 0);
	CHECK_INT(missing_ids(w), 0);
	CHECK(stack_shard_metric(relay, "rewinds_total") >= 1);
	CHECK_INT(world_int(w, "SELECT count(*) FROM intake.tick WHERE from_tick IS NOT NULL"), 0);
	world_close(w);
}

static bool has_some(void *ctx)
{
	return stack_length(ctx) > 0;
}

/* The append itself finds out, long before the next poll. */
static void lost_between_polls(void)
{
	struct world *w = stack_open(1);
	struct proc *relay =
	    stack_relay(w, (const char *const[]){"--poll-interval", "60s", NULL}, NULL);

	CHECK(proc_await_ready(relay, WAIT_MS));
	for (int i = 0; i < 3; i++) {
		stack_emit(w, i == 0 ? "a" : i == 1 ? "b" : "c", 20);
		world_sql(w, "NOTIFY umavez_outbox");
		CHECK(stack_await_published(w, 5000));
		world_redis_run(w, "DEL " STREAM);
	}
	world_close(w);
}

/* Between the cut of a tick, which brings its rows along, and their append. */
static void lost_behind_a_cut(void)
{
	static const char *const slow[] = {
	    "UMAVEZ_FAILPOINTS=relay.before_append=sleep(1000)@1", NULL};
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);
	int64_t ticks;

	stack_emit(w, "a", 50);
	stack_check(w, 0);
	remember_stream(w);
	proc_kill(relay, SIGTERM);
	CHECK_INT(proc_wait(relay, WAIT_MS), 0);
	ticks = world_int(w, "SELECT count(*) FROM intake.tick");
	proc_set_env(relay, slow);
	proc_restart(relay);
	stack_emit(w, "b", 1);
	CHECK(world_await_int(w, ticks + 1, WAIT_MS, "SELECT count(*) FROM intake.tick"));
	world_redis_run(w, "FLUSHALL");
	stack_check(w, 0);
	CHECK_INT(missing_ids(w), 0);
	world_close(w);
}

static void out_of_memory(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);

	stack_emit(w, "a", 20);
	stack_check(w, 0);
	world_redis_run(w, "CONFIG SET maxmemory-policy noeviction");
	world_redis_run(w, "CONFIG SET maxmemory 1mb");
	stack_emit(w, "b", 200);
	CHECK(proc_await_log(relay, "OOM", WAIT_MS));
	CHECK_INT(world_redis_int(w, "XLEN " STREAM), 20);
	world_redis_run(w, "CONFIG SET maxmemory 0");
	stack_check(w, 0);
	world_close(w);
}

static void replica_and_back(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);

	stack_emit(w, "a", 20);
	stack_check(w, 0);
	world_redis_run(w, "REPLICAOF 127.0.0.1 1");
	stack_emit(w, "b", 200);
	CHECK(proc_await_log(relay, "publishing is interrupted", WAIT_MS));
	CHECK_INT(world_redis_int(w, "XLEN " STREAM), 20);
	world_redis_run(w, "REPLICAOF NO ONE");
	stack_check(w, 0);
	CHECK_INT(world_int(w, "SELECT count(*) FROM intake.tick WHERE from_tick IS NOT NULL"), 0);
	world_close(w);
}

/* A connection that was made to a master, and outlives that. */
static void only_a_master_is_believed(void)
{
	struct world *w = world_open(0);
	struct err err = ERR_INIT;
	struct stream *stream;

	CHECK_INT(stream_open(world_redis_url(w), "umavez", 0, "me", &stream, &err), 0);
	CHECK_INT(redis_check_master(stream_redis(stream), &err), 0);
	world_redis_run(w, "REPLICAOF 127.0.0.1 1");
	CHECK_INT(redis_check_master(stream_redis(stream), &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	stream_close(stream);
	world_close(w);
}

static void await_paused(struct proc *relay, const char *why)
{
	char *body;
	int status;

	CHECK(stack_await_shard_metric(relay, "paused", 1));
	CHECK(proc_await_log(relay, why, WAIT_MS));
	body = stack_readyz(relay, &status);
	CHECK_INT(status, 503);
	CHECK(strstr(body, "paused") != NULL);
	free(body);
}

static void another_type(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);

	stack_emit(w, "a", 20);
	stack_check(w, 0);
	world_redis_run(w, "SET " STREAM " x");
	stack_emit(w, "b", 20);
	await_paused(relay, "`umavez stream reset`");
	world_redis_run(w, "DEL " STREAM);
	stack_check(w, 0);
	CHECK(proc_await_ready(relay, WAIT_MS));
	CHECK_INT(stack_shard_metric(relay, "paused"), 0);
	world_close(w);
}

static void far_in_the_future(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);

	stack_emit(w, "a", 20);
	stack_check(w, 0);
	world_redis_run(w, "XADD " STREAM " 18446744073709551614-1 who knows");
	stack_emit(w, "b", 20);
	await_paused(relay, "future");
	world_redis_run(w, "DEL " STREAM);
	stack_check(w, 0);
	CHECK(proc_await_ready(relay, WAIT_MS));
	world_close(w);
}

/* Its position survived somewhere else; what comes again must be delivered to it. */
static void group_beyond_the_end(void)
{
	struct world *w = stack_open(1);
	struct proc *relay;
	char *last;

	relay = stack_relay(w, NULL, NULL);
	stack_emit(w, "a", 20);
	stack_check(w, 0);
	last = stack_last_id(w, 0);
	proc_kill(relay, SIGKILL);
	proc_wait(relay, WAIT_MS);
	world_redis_run(w, "DEL " STREAM);
	world_redis_run(w, "XGROUP CREATE " STREAM " g %s MKSTREAM", last);
	proc_restart(relay);
	stack_check(w, 0);
	CHECK_INT(stack_read_group(w, "g", 10000, 0), 20);
	free(last);
	world_close(w);
}

static void stopped_for_a_while(void)
{
	struct world *w = stack_open(1);

	stack_relay(w, NULL, NULL);
	stack_emit(w, "a", 20);
	stack_check(w, 0);
	for (int i = 0; i < 3; i++) {
		kill(world_redis_pid(w), SIGSTOP);
		stack_emit(w, i == 0 ? "b" : i == 1 ? "c" : "d", 50);
		sleep_ms(300);
		kill(world_redis_pid(w), SIGCONT);
		stack_check(w, 0);
	}
	world_close(w);
}

static int64_t scripts_loaded(struct world *w, const char *sha1)
{
	redisContext *redis = world_redis(w);
	redisReply *reply = redisCommand(redis, "SCRIPT EXISTS %s", sha1);
	int64_t n = reply && reply->type == REDIS_REPLY_ARRAY ? reply->element[0]->integer : -1;

	freeReplyObject(reply);
	redisFree(redis);
	return n;
}

/* An append sent twice is waited for with the query open: the script is there before the first. */
static void append_script_is_loaded_at_once(void)
{
	struct world *w = stack_open(1);
	struct proc *relay = stack_relay(w, NULL, NULL);
	struct script append;

	script_init(&append, relay_append_lua);
	CHECK(proc_await_log(relay, "msg=position", WAIT_MS));
	CHECK_INT(scripts_loaded(w, append.redis.sha1), 1);
	script_done(&append);
	world_close(w);
}

/* While Redis makes the relay wait, no query stays open: it would hold back vacuum everywhere. */
static void slow_redis_and_a_large_tick(void)
{
	struct world *w = stack_open(1);
	const int64_t rows = 20000;

	stack_relay(w, (const char *const[]){"--append-batch", "100", NULL}, NULL);
	world_sql(w,
	    "INSERT INTO intake.outbox (shard, source, message_id, type, subject, time, data) "
	    "SELECT 0, 'app', 'm' || g, 't', 's', now(), json_build_object('x', repeat('x', 400)) "
	    "FROM generate_series(1, %lld) AS g",
	    (long long)rows);
	CHECK(await(has_some, w, WAIT_MS));
	kill(world_redis_pid(w), SIGSTOP);
	CHECK(world_await_int(w, 0, 5000,
	    "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'umavez-relay/0' "
	    "AND (state <> 'idle' OR backend_xmin IS NOT NULL)"));
	kill(world_redis_pid(w), SIGCONT);
	stack_check(w, 0);
	world_close(w);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"FLUSHALL, at rest and under load", flushed},
	    {"FLUSHALL while the stream is looked at", flushed_while_looked_at},
	    {"Redis comes back empty", restarted_empty},
	    {"Redis comes back with an older copy", older_copy_restored},
	    {"lost between two polls", lost_between_polls},
	    {"lost behind the cut of a tick", lost_behind_a_cut},
	    {"B50 out of memory, and raised", out_of_memory},
	    {"B50 a replica for a while", replica_and_back},
	    {"only a master is believed", only_a_master_is_believed},
	    {"B35 the key holds another type", another_type},
	    {"an ID far in the future", far_in_the_future},
	    {"a group beyond the stream's end is set back", group_beyond_the_end},
	    {"the append script is loaded at once", append_script_is_loaded_at_once},
	    {"B51 Redis stands still", stopped_for_a_while},
	    {"B51 Redis stands still in the middle of a large tick", slow_redis_and_a_large_tick},
	    {NULL, NULL},
	};
	return check_main("relay redis faults", checks, argc, argv);
}
