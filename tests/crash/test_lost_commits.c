/*
 * An asynchronous standby that has missed the last commits is promoted: the streams are ahead of
 * the database.  It is reported; what was lost and is delivered again is accepted anew, published
 * under IDs of its own, and takes effect once; and what survived stays true although transaction
 * ids, outbox ids and names of ticks are given out again.
 */
#include "tests/crash/effects_db.h"
#include "tests/crash/stack.h"
#include "tests/crash/streams.h"
#include "tests/support/files.h"
#include "tests/support/http.h"
#include "tests/support/pause.h"
#include "tests/support/signer.h"
#include "tests/support/text.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHARDS 4
#define PURCHASES 8
#define KEPT 20
#define LOST 40

#define REPORT "the stream has entries that are not ours, or no longer in the outbox"
#define SET_BACK "the effects database has lost commits"
#define FOREIGN "umavez_foreign_entries_total"

struct scene {
	struct stack stack;
	struct world *elsewhere;    /* NULL, and */
	struct effects_db *effects; /* NULL: effects are in the database that loses commits */
	int64_t begun_s;
};

static void start(struct scene *s, bool elsewhere)
{
	const char *args[3] = {NULL};

	*s = (struct scene){.begun_s = now_ms() / 1000 + 1700000000};
	stack_open(&s->stack);
	stack_keep_streams(&s->stack);
	world_pg_add_standby(s->stack.world);
	if (elsewhere) {
		s->elsewhere = world_open(1);
		s->effects = effects_db_open_on(s->stack.world, s->elsewhere);
		args[0] = "--database-url";
		args[1] = effects_db_url(s->effects);
	}
	s->stack.producer = stack_producer(&s->stack, NULL, NULL);
	s->stack.relay = stack_relay(&s->stack, NULL, NULL);
	s->stack.consumer = stack_consumer(&s->stack, args, NULL);
	CHECK(proc_await_ready(s->stack.producer, STACK_WAIT_MS));
}

static void finish(struct scene *s)
{
	stack_close(&s->stack);
	if (s->effects == NULL)
		return;
	effects_db_close(s->effects);
	world_close(s->elsewhere);
}

/* The same numbers are the same notifications. */
static char *event(const struct scene *s, const char *prefix, int i)
{
	char *id = text_format("%s_%d", prefix, i);
	char *object = text_format("{\"id\":\"sub_%d\",\"object\":\"subscription\",\"status\":"
				   "\"active\",\"customer\":\"cus_1\"}",
	    i % PURCHASES);
	char *text = stripe_event(
	    id, "customer.subscription.updated", 1, s->begun_s + *prefix * 1000 + i, object);

	free(object);
	free(id);
	return text;
}

static void post(const struct scene *s, const char *prefix, int n, const char *outcome)
{
	for (int i = 0; i < n; i++) {
		char *text = event(s, prefix, i), *answer = NULL;

		CHECK_INT(post_stripe(proc_url(s->stack.producer), text, &answer), 200);
		if (strstr(answer, outcome) == NULL)
			CHECK_STR(answer, outcome);
		free(answer);
		free(text);
	}
}

static bool is_applied(void *ctx)
{
	const struct scene *s = ctx;
	char end[32];

	for (unsigned shard = 0; shard < SHARDS; shard++) {
		struct stream_id bookmark = streams_bookmark(s->stack.world, shard, "entitlements");

		snprintf(end, sizeof(end), "%" PRIu64 "-%" PRIu64, bookmark.ms, bookmark.seq);
		redisContext *redis = world_redis(s->stack.world);
		redisReply *last = redisCommand(redis, "XREVRANGE " STREAM " + - COUNT 1", shard);
		bool there = last != NULL && last->elements == 1 &&
			     strcmp(last->element[0]->element[0]->str, end) == 0;

		freeReplyObject(last);
		redisFree(redis);
		if (!there)
			return false;
	}
	return true;
}

/* All is published, and applied to the end of the streams. */
static void await_applied(struct scene *s)
{
	CHECK(streams_await_complete(s->stack.world, STACK_WAIT_MS));
	if (await(is_applied, s, STACK_WAIT_MS))
		return;
	file_print_tail(proc_log(s->stack.relay), 4000);
	file_print_tail(proc_log(s->stack.consumer), 4000);
	CHECK(false);
}

/* Of all shards. */
static int64_t metric(struct proc *p, const char *name)
{
	char *url = text_format("%s/metrics", proc_admin_url(p));
	struct http_answer answer;
	int64_t sum = 0;

	http_request("GET", url, NULL, NULL, 0, STACK_WAIT_MS, &answer);
	CHECK_INT(answer.status, 200);
	for (const char *at = strstr(answer.body, name); at; at = strstr(at + 1, name))
		if (at[-1] == '\n' && at[strlen(name)] == '{')
			sum += strtoll(strchr(at, '}') + 1, NULL, 10);
	http_answer_done(&answer);
	free(url);
	return sum;
}

static int64_t set_aside(const struct scene *s)
{
	int64_t n = 0;

	for (unsigned shard = 0; shard < SHARDS; shard++)
		n += world_redis_int(s->stack.world, "XLEN umavez:aside:{%u}", shard);
	return n;
}

static bool is_reported(void *ctx)
{
	struct scene *s = ctx;

	return metric(s->stack.relay, FOREIGN) >= LOST;
}

/* Before the relay looks: what has survived, and what the streams hold. */
static void fail_over(struct scene *s)
{
	struct world *w = s->stack.world;

	proc_kill(s->stack.relay, SIGSTOP);
	world_pg_failover(w);
	world_sql(w, "CREATE TABLE witness.survivor AS SELECT * FROM intake.tick");
	streams_remember(w);
	world_sql(w, "CREATE TABLE witness.earlier AS SELECT * FROM witness.entry");
	proc_kill(s->stack.relay, SIGCONT);
	CHECK(await(is_reported, s, STACK_WAIT_MS));
	CHECK(proc_log_has(s->stack.relay, REPORT));
	CHECK_INT(metric(s->stack.relay, FOREIGN), LOST);
	CHECK_INT(set_aside(s), LOST);
	CHECK(proc_await_ready(s->stack.producer, STACK_WAIT_MS));
}

/* No ID is used again: what the streams held they hold, and behind it the lost messages again. */
static void check_streams(struct scene *s)
{
	struct world *w = s->stack.world;

	CHECK_INT(streams_forgotten(w), 0);
	CHECK_INT(
	    world_int(w, "SELECT count(*) FROM witness.earlier AS a JOIN witness.entry AS e"
			 " USING (shard, tick, id) WHERE (a.place, a.source, a.message_id,"
			 " a.data) IS DISTINCT FROM (e.place, e.source, e.message_id, e.data)"),
	    0);
	CHECK_INT(world_int(w, "SELECT count(DISTINCT e.message_id) FROM witness.entry AS e"
			       " LEFT JOIN witness.earlier AS a USING (shard, tick, id)"
			       " WHERE a.id IS NULL AND e.message_id LIKE 'lost%%'"),
	    LOST);
	printf("\n    repair ticks: %" PRId64, metric(s->stack.relay, "umavez_repairs_total"));
}

static void check_effects(struct scene *s)
{
	if (s->effects != NULL)
		effects_db_gather(s->effects);
	CHECK_INT(invariants_broken(s->stack.world,
		      INVARIANTS_ALL | INVARIANTS_FOREIGN | INVARIANTS_REPEATS | INVARIANTS_LOST),
	    0);
	CHECK_INT(world_int(s->stack.world, "SELECT count(*) FROM witness.effect"),
	    world_int(s->stack.world, "SELECT count(*) FROM intake.outbox"));
}

/* A transaction in progress at ticks that survive, of which the standby has never heard: it wrote
 * nothing. Lives until the server dies. */
static PGconn *silent_transaction(struct scene *s, int64_t *ret_xid)
{
	PGconn *conn = world_pg(s->stack.world);
	PGresult *res;

	PQclear(PQexec(conn, "BEGIN"));
	res = PQexec(conn, "SELECT pg_current_xact_id()");
	*ret_xid = strtoll(PQgetvalue(res, 0, 0), NULL, 10);
	PQclear(res);
	return conn;
}

/* Ids are given out again, and no tick that survived takes what has them for seen. */
static void check_ids(struct scene *s, int64_t silent_xid, int64_t last_xid, int64_t last_id)
{
	struct world *w = s->stack.world;

	CHECK(world_int(w, "SELECT min(xid::text::bigint) FROM intake.outbox"
			   " WHERE message_id LIKE 'lost%%'") <= last_xid);
	CHECK(world_int(w, "SELECT min(id) FROM intake.outbox WHERE message_id LIKE 'lost%%'") <=
	      last_id);
	CHECK(world_int(w,
		  "SELECT count(*) FROM witness.survivor"
		  " WHERE pg_snapshot_xmax(snapshot)::text::bigint > %" PRId64
		  " AND NOT pg_visible_in_snapshot('%" PRId64 "'::xid8, snapshot)",
		  silent_xid, silent_xid) > 0);
	CHECK_INT(world_int(w, "SELECT count(*) FROM witness.survivor AS t JOIN intake.outbox AS o"
			       " USING (shard) WHERE o.message_id NOT LIKE 'kept%%'"
			       " AND o.xid < pg_snapshot_xmax(t.snapshot)"),
	    0);
}

static void commits_are_lost(bool elsewhere)
{
	int64_t silent_xid, last_xid, last_id;
	PGconn *silent;
	struct scene s;
	struct world *w;

	start(&s, elsewhere);
	w = s.stack.world;
	post(&s, "kept", KEPT / 2, "accepted");
	silent = silent_transaction(&s, &silent_xid);
	post(&s, "kept", KEPT, "");
	await_applied(&s);
	world_pg_part_standby(w);
	post(&s, "lost", LOST, "accepted");
	await_applied(&s);
	last_xid = world_int(w, "SELECT max(xid::text::bigint) FROM intake.outbox");
	last_id = world_int(w, "SELECT max(id) FROM intake.outbox");

	fail_over(&s);
	PQfinish(silent);
	CHECK_INT(world_int(w, "SELECT count(*) FROM intake.outbox"), KEPT);
	post(&s, "lost", LOST, "accepted");
	post(&s, "lost", LOST, "duplicate");
	post(&s, "more", KEPT, "accepted");
	if (!elsewhere)
		CHECK(proc_await_log(s.stack.consumer, SET_BACK, STACK_WAIT_MS));
	await_applied(&s);
	check_streams(&s);
	check_ids(&s, silent_xid, last_xid, last_id);
	check_effects(&s);
	finish(&s);
}

static void effects_are_elsewhere(void)
{
	commits_are_lost(true);
}

static void effects_are_lost_too(void)
{
	commits_are_lost(false);
}

/* The rows survive, and the ticks under which they were published do not: they are published once
 * more, and nobody has to deliver anything again. */
static void only_ticks_are_lost(void)
{
	struct scene s;

	start(&s, false);
	post(&s, "kept", KEPT, "accepted");
	await_applied(&s);
	proc_kill(s.stack.relay, SIGSTOP);
	post(&s, "lost", LOST, "accepted");
	world_pg_part_standby(s.stack.world);
	proc_kill(s.stack.relay, SIGCONT);
	await_applied(&s);
	fail_over(&s);
	CHECK_INT(world_int(s.stack.world, "SELECT count(*) FROM intake.outbox"), KEPT + LOST);
	post(&s, "lost", LOST, "duplicate");
	post(&s, "more", KEPT, "accepted");
	await_applied(&s);
	check_streams(&s);
	check_effects(&s);
	finish(&s);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"the intake loses commits", effects_are_elsewhere},
	    {"intake and effects lose commits", effects_are_lost_too},
	    {"only ticks are lost", only_ticks_are_lost},
	    {NULL, NULL},
	};

	return check_main("crash lost_commits", checks, argc, argv);
}
