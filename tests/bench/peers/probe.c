#include "tests/bench/peers/probe.h"

#include "common/clock.h"
#include "common/pg.h"
#include "tests/support/die.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SENDERS 4 /* one alone would wait for its commits, and fall behind its plan */
#define CLIENTS 32
#define SILENCE_US 10000000

struct probe {
	const struct peer *p;
	const char *insert;
	int64_t began_us, interval_us; /* interval 0: as fast as possible */
	atomic_llong next;
	_Atomic int64_t *committed_us, *received_us; /* 0: not yet */
};

static void wait_until(int64_t us)
{
	int64_t left_us = us - clock_mono_us();

	if (left_us > 0)
		nanosleep(&(struct timespec){left_us / 1000000, left_us % 1000000 * 1000}, NULL);
}

static void *send_messages(void *arg)
{
	struct probe *b = arg;
	PGconn *conn = peer_pg(b->p);
	char n[PG_NUMBER_SIZE], bytes[PG_NUMBER_SIZE], shards[PG_NUMBER_SIZE];
	const char *const values[] = {n, bytes, shards};
	const struct pg_params params = {.n = 3, .values = values};
	struct err err = ERR_INIT;
	const Oid types[] = {20, 23, 23};

	pg_number(bytes, b->p->bytes);
	pg_number(shards, b->p->shards);
	if (pg_prepare(conn, "insert", b->insert, 3, types, &err) < 0)
		die("%s", err.message);
	for (;;) {
		int64_t i = b->next++;

		if (i >= b->p->messages)
			break;
		pg_number(n, i);
		wait_until(b->began_us + i * b->interval_us);
		if (pg_run_prepared(conn, "insert", &params, NULL, &err) < 0)
			die("%s", err.message);
		b->committed_us[i] = clock_mono_us();
	}
	PQfinish(conn);
	return NULL;
}

static void send_by(struct probe *b, int n, pthread_t *threads)
{
	b->began_us = clock_mono_us();
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], NULL, send_messages, b) != 0)
			die("no thread");
}

static void join(int n, const pthread_t *threads)
{
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
}

static void begin(struct probe *b, const struct peer *p, const char *insert)
{
	size_t n = (size_t)p->messages;

	*b = (struct probe){.p = p, .insert = insert};
	b->committed_us = calloc(n, sizeof(*b->committed_us));
	b->received_us = calloc(n, sizeof(*b->received_us));
	if (b->committed_us == NULL || b->received_us == NULL)
		die("out of memory");
}

static void end(struct probe *b)
{
	free(b->committed_us);
	free(b->received_us);
}

/* One stream's entries; ret_last gets the ID of the last one. How many were new. */
static int64_t note(struct probe *b, const redisReply *entries, char ret_last[64])
{
	int64_t now_us = clock_mono_us(), new = 0;

	for (size_t i = 0; i < entries->elements; i++) {
		const redisReply *fields = entries->element[i]->element[1];
		int64_t n = strtoll(fields->element[1]->str, NULL, 10);

		if (n >= 0 && n < b->p->messages && b->received_us[n] == 0) {
			b->received_us[n] = now_us;
			new ++;
		}
	}
	snprintf(ret_last, 64, "%s", entries->element[entries->elements - 1]->element[0]->str);
	return new;
}

/* Whatever has come to one of the streams, within a second. How many were new. */
static int64_t receive(struct probe *b, redisContext *redis, char (*last)[64])
{
	int shards = b->p->shards;
	const char **argv = calloc((size_t)shards * 2 + 4, sizeof(*argv));
	char(*keys)[PEER_STREAM_SIZE] = calloc((size_t)shards, sizeof(*keys));
	redisReply *reply;
	int64_t new = 0;

	if (argv == NULL || keys == NULL)
		die("out of memory");
	memcpy(argv, (const char *[]){"XREAD", "BLOCK", "1000", "STREAMS"}, 4 * sizeof(*argv));
	for (int i = 0; i < shards; i++) {
		argv[4 + i] = peer_stream(keys[i], i);
		argv[4 + shards + i] = last[i];
	}
	reply = redisCommandArgv(redis, shards * 2 + 4, argv, NULL);
	if (reply == NULL || reply->type == REDIS_REPLY_ERROR)
		die("Redis: %s", reply ? reply->str : redis->errstr);
	for (size_t s = 0; s < reply->elements; s++)
		for (int i = 0; i < shards; i++)
			if (strcmp(reply->element[s]->element[0]->str, keys[i]) == 0)
				new += note(b, reply->element[s]->element[1], last[i]);
	freeReplyObject(reply);
	free(keys);
	free(argv);
	return new;
}

static void receive_all(struct probe *b)
{
	redisContext *redis = peer_redis(b->p);
	char(*last)[64] = calloc((size_t)b->p->shards, sizeof(*last));
	int64_t received = 0, heard_us = clock_mono_us();

	if (last == NULL)
		die("out of memory");
	for (int i = 0; i < b->p->shards; i++)
		strcpy(last[i], "0-0");
	while (received < b->p->messages && clock_mono_us() - heard_us < SILENCE_US) {
		int64_t new = receive(b, redis, last);

		received += new;
		if (new > 0 || b->next < b->p->messages)
			heard_us = clock_mono_us();
	}
	free(last);
	redisFree(redis);
}

static int ascending(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static void percentiles(const struct probe *b, struct peer_result *r)
{
	int64_t *took_us = calloc((size_t)b->p->messages, sizeof(*took_us)), n = 0;

	if (took_us == NULL)
		die("out of memory");
	for (int64_t i = 0; i < b->p->messages; i++) {
		int64_t us = b->received_us[i] - b->committed_us[i];

		if (b->received_us[i] != 0)
			took_us[n++] = us > 0 ? us : 0;
	}
	qsort(took_us, (size_t)n, sizeof(*took_us), ascending);
	if (n > 0) {
		r->p50_us = took_us[(n - 1) / 2];
		r->p99_us = took_us[(n - 1) * 99 / 100];
		r->max_us = took_us[n - 1];
	}
	free(took_us);
}

void probe_latency(const struct peer *p, const char *insert, struct peer_result *r)
{
	pthread_t threads[SENDERS];
	struct probe b;

	begin(&b, p, insert);
	b.interval_us = 1000000 / p->rate;
	send_by(&b, SENDERS, threads);
	receive_all(&b);
	join(SENDERS, threads);
	r->us = clock_mono_us() - b.began_us;
	percentiles(&b, r);
	end(&b);
}

void probe_enqueue(
    const struct peer *p, const char *insert, const char *count, struct peer_result *r)
{
	pthread_t threads[CLIENTS];
	PGconn *conn = peer_pg(p);
	PGresult *counted;
	struct probe b;
	int64_t stored, different;

	begin(&b, p, insert);
	send_by(&b, CLIENTS, threads);
	join(CLIENTS, threads);
	r->us = clock_mono_us() - b.began_us;
	counted = peer_query(conn, count, 0, NULL);
	stored = strtoll(PQgetvalue(counted, 0, 0), NULL, 10);
	different = strtoll(PQgetvalue(counted, 0, 1), NULL, 10);
	r->lost = p->messages - different;
	r->doubled = stored - different;
	PQclear(counted);
	PQfinish(conn);
	end(&b);
}
