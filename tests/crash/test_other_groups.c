/*
 * Programs in any language read the streams with ordinary consumer groups and an inbox of their
 * own. Whatever Redis loses, and although the relay trims all the time, they are given every
 * message.
 */
#include "common/clock.h"
#include "tests/crash/stack.h"
#include "tests/crash/streams.h"
#include "tests/support/die.h"
#include "tests/support/pause.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTIFICATIONS 500
#define PER_SECOND 200
#define SHARDS 4
#define GROUP "billing"

/* XREADGROUP, commit, XACK: on one connection until it breaks. */
struct reader {
	struct world *world;
	PGconn *inbox;
	redisContext *redis;
	struct rng rng;
	pthread_t thread;
	atomic_bool stop;
};

static void reconnect(struct reader *r)
{
	const char *url = world_redis_url(r->world), *path = url + strlen("unix://");
	char *socket = strndup(path, strcspn(path, "?"));

	redisFree(r->redis);
	r->redis = redisConnectUnix(socket);
	free(socket);
	/* One that was there already is as good. */
	for (unsigned shard = 0; shard < SHARDS; shard++)
		freeReplyObject(
		    redisCommand(r->redis, "XGROUP CREATE " STREAM " " GROUP " 0 MKSTREAM", shard));
}

static const char *field(const redisReply *fields, const char *name)
{
	for (size_t i = 0; i + 1 < fields->elements; i += 2)
		if (strcmp(fields->element[i]->str, name) == 0)
			return fields->element[i + 1]->str;
	return "";
}

static void keep(struct reader *r, const redisReply *fields)
{
	const char *const params[] = {field(fields, "source"), field(fields, "id")};
	PGresult *res = PQexecParams(r->inbox,
	    "INSERT INTO witness.billed VALUES ($1, $2) ON CONFLICT DO NOTHING", 2, NULL, params,
	    NULL, NULL, 0);

	if (PQresultStatus(res) != PGRES_COMMAND_OK)
		die("inbox: %s", PQerrorMessage(r->inbox));
	PQclear(res);
}

/* Now and then an acknowledgement is left out: the entry stays pending, until it is looked for. */
static void take(struct reader *r, unsigned shard, const redisReply *entries)
{
	for (size_t i = 0; i < entries->elements; i++) {
		const redisReply *entry = entries->element[i];

		if (entry->element[1]->type == REDIS_REPLY_ARRAY)
			keep(r, entry->element[1]);
		if (rng_next(&r->rng) % 20 != 0)
			freeReplyObject(redisCommand(r->redis, "XACK " STREAM " " GROUP " %s",
			    shard, entry->element[0]->str));
	}
}

/* from: ">", or "0" for what is pending. False: the connection or the group is gone. */
static bool read_shard(struct reader *r, unsigned shard, const char *from)
{
	redisReply *reply = redisCommand(
	    r->redis, "XREADGROUP GROUP " GROUP " me COUNT 20 STREAMS " STREAM " %s", shard, from);
	bool good = reply != NULL && reply->type != REDIS_REPLY_ERROR;

	if (good && reply->type == REDIS_REPLY_ARRAY)
		take(r, shard, reply->element[0]->element[1]);
	freeReplyObject(reply);
	return good;
}

static void *read_on(void *ctx)
{
	struct reader *r = ctx;

	while (!r->stop) {
		for (unsigned shard = 0; shard < SHARDS; shard++)
			if (!read_shard(r, shard, rng_next(&r->rng) % 8 ? ">" : "0"))
				reconnect(r);
		sleep_ms(5);
	}
	return NULL;
}

static void start(struct reader *r, struct world *w)
{
	world_sql(w, "CREATE TABLE witness.billed (source text COLLATE \"C\", message_id text "
		     "COLLATE \"C\", PRIMARY KEY (source, message_id))");
	*r = (struct reader){.world = w, .inbox = world_pg(w)};
	rng_seed(&r->rng, check_seed());
	reconnect(r);
	if (pthread_create(&r->thread, NULL, read_on, r) != 0)
		die("cannot start a thread");
}

static void end(struct reader *r)
{
	r->stop = true;
	pthread_join(r->thread, NULL);
	redisFree(r->redis);
	PQfinish(r->inbox);
}

/* A different misfortune each time. */
static void strike(struct world *w, unsigned n)
{
	switch (n % 4) {
	case 0:
		world_redis_run(w, "FLUSHALL");
		break;
	case 1:
		world_redis_run(w, "SAVE");
		break;
	case 2:
		world_redis_run(w, "DEL " STREAM, n % SHARDS);
		break;
	default:
		world_redis_stop(w, false);
		world_redis_start(w, true); /* as it was when it was saved */
	}
}

static void every_message_is_given(void)
{
	/* No margin: the stored acknowledgements alone tell from where to publish again. */
	const char *const args[] = {
	    "--trim-interval", "30ms", "--poll-interval", "30ms", "--replay-margin", "0s", NULL};
	struct reader reader;
	struct stack s;
	struct load *l;

	stack_open(&s);
	s.producer = stack_producer(&s, NULL, NULL);
	s.relay = stack_relay(&s, args, NULL);
	s.consumer = stack_consumer(&s, NULL, NULL);
	start(&reader, s.world);
	l = stack_load(&s, check_seed(), stack_scaled(NOTIFICATIONS), PER_SECOND);
	for (unsigned i = 0; i < 8; i++) {
		CHECK(load_await_part(l, 0.1 * (i + 1), STACK_WAIT_MS));
		strike(s.world, i);
	}
	CHECK(load_wait(l, STACK_WAIT_MS));
	CHECK(world_await_int(s.world, 0, STACK_WAIT_MS,
	    "SELECT count(*) FROM intake.outbox AS o LEFT JOIN witness.billed AS b "
	    "USING (source, message_id) WHERE b.source IS NULL"));
	end(&reader);
	stack_finish(&s, l, INVARIANTS_TRIMMED);
	CHECK(world_int(s.world, "SELECT count(*) FROM witness.entry") <
	      world_int(s.world, "SELECT count(*) FROM intake.outbox"));
	stack_close(&s);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"every message is given to every group", every_message_is_given},
	    {NULL, NULL},
	};

	return check_main("crash other_groups", checks, argc, argv);
}
