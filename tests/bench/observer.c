#include "tests/bench/observer.h"

#include "common/stream_id.h"
#include "tests/bench/wall.h"
#include "tests/support/copy.h"
#include "tests/support/die.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_MS "100"
#define COUNT "1000"

struct arrival {
	int64_t id, at_us;
};

struct observer {
	struct world *w;
	redisContext *redis;
	pthread_t thread;
	atomic_bool stop;
	int n_streams;
	char keys[GROUND_SHARDS][40], after[GROUND_SHARDS][STREAM_ID_SIZE];
	struct arrival *seen;
	size_t n, room;
};

static void take(struct observer *o, int stream, const char *text, int64_t at_us)
{
	struct stream_id id;

	if (!stream_id_parse(text, &id))
		die("not a stream ID: %s", text);
	if (o->n == o->room) {
		o->room = o->room ? 2 * o->room : 4096;
		o->seen = realloc(o->seen, o->room * sizeof(*o->seen));
		if (o->seen == NULL)
			die("out of memory");
	}
	o->seen[o->n++] = (struct arrival){(int64_t)id.seq, at_us};
	snprintf(o->after[stream], sizeof(o->after[stream]), "%s", text);
}

static void take_stream(struct observer *o, const redisReply *stream, int64_t at_us)
{
	for (int i = 0; i < o->n_streams; i++) {
		const redisReply *entries = stream->element[1];

		if (strcmp(o->keys[i], stream->element[0]->str) != 0)
			continue;
		for (size_t k = 0; k < entries->elements; k++)
			take(o, i, entries->element[k]->element[0]->str, at_us);
	}
}

static redisReply *read_streams(struct observer *o)
{
	const char *argv[6 + 2 * GROUND_SHARDS] = {
	    "XREAD", "COUNT", COUNT, "BLOCK", BLOCK_MS, "STREAMS"};

	for (int i = 0; i < o->n_streams; i++) {
		argv[6 + i] = o->keys[i];
		argv[6 + o->n_streams + i] = o->after[i];
	}
	return redisCommandArgv(o->redis, 6 + 2 * o->n_streams, argv, NULL);
}

static void *observe(void *arg)
{
	struct observer *o = arg;

	while (!o->stop) {
		redisReply *reply = read_streams(o);
		int64_t at_us = wall_us();

		if (reply == NULL || reply->type == REDIS_REPLY_ERROR)
			die("XREAD: %s", reply ? reply->str : o->redis->errstr);
		if (reply->type == REDIS_REPLY_ARRAY)
			for (size_t i = 0; i < reply->elements; i++)
				take_stream(o, reply->element[i], at_us);
		freeReplyObject(reply);
	}
	return NULL;
}

/* "$" of a blocking read would lose what comes between two of them. */
static void find_end(struct observer *o, int stream)
{
	redisReply *reply = redisCommand(o->redis, "XREVRANGE %s + - COUNT 1", o->keys[stream]);

	if (reply == NULL || reply->type != REDIS_REPLY_ARRAY)
		die("XREVRANGE: %s", reply ? reply->str : o->redis->errstr);
	snprintf(o->after[stream], sizeof(o->after[stream]), "%s",
	    reply->elements > 0 ? reply->element[0]->element[0]->str : "0-0");
	freeReplyObject(reply);
}

struct observer *observer_start(struct ground *g, int shard)
{
	struct observer *o = calloc(1, sizeof(*o));

	if (o == NULL)
		die("out of memory");
	o->w = g->w;
	o->redis = world_redis(g->w);
	o->n_streams = shard < 0 ? GROUND_SHARDS : 1;
	for (int i = 0; i < o->n_streams; i++) {
		snprintf(
		    o->keys[i], sizeof(o->keys[i]), "umavez:purchases:{%d}", shard < 0 ? i : shard);
		find_end(o, i);
	}
	if (pthread_create(&o->thread, NULL, observe, o) != 0)
		die("no thread");
	return o;
}

void observer_stop(struct observer *o)
{
	struct copy *copy;

	o->stop = true;
	pthread_join(o->thread, NULL);
	redisFree(o->redis);
	copy = copy_new(o->w, "bench.arrived");
	for (size_t i = 0; i < o->n; i++) {
		copy_int(copy, o->seen[i].id);
		copy_int(copy, o->seen[i].at_us);
		copy_row(copy);
	}
	copy_end(copy);
	free(o->seen);
	free(o);
}
