#include "tests/bench/peers/peer.h"

#include "common/pg.h"
#include "common/redis_url.h"
#include "peers_text.h"
#include "tests/support/die.h"
#include "tests/support/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXIT_USAGE 2
#define EXIT_LACKS 77

static const char *const mode_names[] = {"drain", "latency", "enqueue"};

static const char *text_of(const char *name)
{
	const char *value = getenv(name);

	if (value != NULL && value[0] != '\0')
		return value;
	fprintf(stderr, "%s is not set\n", name);
	exit(EXIT_USAGE);
}

static int64_t number_of(const char *name, const char *fallback)
{
	const char *value = getenv(name);
	char *end;
	int64_t n;

	if (value == NULL)
		value = fallback;
	n = strtoll(value, &end, 10);
	if (n > 0 && n <= INT32_MAX && *end == '\0')
		return n;
	fprintf(stderr, "%s is not a number that makes sense\n", name);
	exit(EXIT_USAGE);
}

static enum peer_mode mode_of_environment(void)
{
	const char *value = getenv("BENCH_MODE");

	for (int i = 0; value != NULL && i < (int)(sizeof(mode_names) / sizeof(*mode_names)); i++)
		if (strcmp(value, mode_names[i]) == 0)
			return (enum peer_mode)i;
	if (value == NULL)
		return PEER_DRAIN;
	fprintf(stderr, "BENCH_MODE is drain, latency or enqueue\n");
	exit(EXIT_USAGE);
}

void peer_read_environment(struct peer *ret_peer)
{
	struct peer p = {
	    .mode = mode_of_environment(),
	    .database_url = text_of("BENCH_DATABASE_URL"),
	    .redis_url = text_of("BENCH_REDIS_URL"),
	    .messages = number_of("BENCH_MESSAGES", "10000"),
	    .bytes = (int)number_of("BENCH_BYTES", "1024"),
	    .shards = (int)number_of("BENCH_SHARDS", "4"),
	    .rate = (int)number_of("BENCH_RATE", "500"),
	    .seconds = (int)number_of("BENCH_SECONDS", "10"),
	};

	if (p.mode == PEER_LATENCY)
		p.messages = (int64_t)p.rate * p.seconds;
	*ret_peer = p;
}

PGconn *peer_pg(const struct peer *p)
{
	const struct pg_session session = {.application_name = "peer"};
	struct err err = ERR_INIT;
	PGconn *conn;

	if (pg_connect(p->database_url, &session, &conn, &err) < 0)
		die("%s", err.message);
	return conn;
}

redisContext *peer_redis(const struct peer *p)
{
	redisContext *c;
	redisReply *reply;
	struct redis_url url;
	struct err err = ERR_INIT;

	if (redis_url_parse(p->redis_url, &url, &err) < 0)
		die("%s", err.message);
	c = url.server.path ? redisConnectUnix(url.server.path)
			    : redisConnect(url.server.host, url.server.port);
	if (c == NULL || c->err)
		die("cannot connect to Redis: %s", c ? c->errstr : "out of memory");
	reply = redisCommand(c, "SELECT %d", url.db);
	if (reply == NULL || reply->type == REDIS_REPLY_ERROR)
		die("Redis: %s", reply ? reply->str : c->errstr);
	freeReplyObject(reply);
	redis_url_done(&url);
	return c;
}

PGresult *peer_query(PGconn *conn, const char *sql, int n_params, const char *const *params)
{
	PGresult *res;
	struct err err = ERR_INIT;

	if (pg_run(conn, sql, n_params, params, &res, &err) < 0)
		die("%s\nin: %s", err.message, sql);
	return res;
}

void peer_sql(PGconn *conn, const char *fmt, ...)
{
	struct err err = ERR_INIT;
	va_list args;
	char *sql;

	va_start(args, fmt);
	if (vasprintf(&sql, fmt, args) < 0)
		die("out of memory");
	va_end(args);
	if (pg_exec(conn, sql, &err) < 0)
		die("%s\nin: %s", err.message, sql);
	free(sql);
}

int64_t peer_int(PGconn *conn, const char *sql)
{
	PGresult *res = peer_query(conn, sql, 0, NULL);
	int64_t n = strtoll(PQgetvalue(res, 0, 0), NULL, 10);

	PQclear(res);
	return n;
}

void peer_make_events(PGconn *conn)
{
	struct err err = ERR_INIT;

	if (pg_exec(conn, tests_bench_peers_sql_event_sql, &err) < 0)
		die("%s", err.message);
}

const char *peer_stream(char buf[PEER_STREAM_SIZE], int shard)
{
	snprintf(buf, PEER_STREAM_SIZE, "peer:{%d}", shard);
	return buf;
}

void peer_append(redisContext *redis, int shard, const char *id, const char *data)
{
	char key[PEER_STREAM_SIZE];

	if (redisAppendCommand(
		redis, "XADD %s * id %s data %s", peer_stream(key, shard), id, data) != REDIS_OK)
		die("Redis: %s", redis->errstr);
}

void peer_append_row(redisContext *redis, const PGresult *rows, int row, int column)
{
	peer_append(redis, (int)strtol(PQgetvalue(rows, row, column), NULL, 10),
	    PQgetvalue(rows, row, column + 1), PQgetvalue(rows, row, column + 2));
}

void peer_flush(redisContext *redis, int n)
{
	for (int i = 0; i < n; i++) {
		redisReply *reply;

		if (redisGetReply(redis, (void **)&reply) != REDIS_OK)
			die("Redis: %s", redis->errstr);
		if (reply->type == REDIS_REPLY_ERROR)
			die("Redis: %s", reply->str);
		freeReplyObject(reply);
	}
}

void peer_ledger(const struct peer *p, struct peer_result *r)
{
	redisContext *redis = peer_redis(p);
	char(*keys)[PEER_STREAM_SIZE] = calloc((size_t)p->shards, sizeof(*keys));
	const char **argv = calloc((size_t)p->shards + 3, sizeof(*argv));
	char *n_keys = text_format("%d", p->shards);
	redisReply *reply;

	if (keys == NULL || argv == NULL)
		die("out of memory");
	argv[0] = "EVAL";
	argv[1] = tests_bench_peers_ledger_lua;
	argv[2] = n_keys;
	for (int i = 0; i < p->shards; i++)
		argv[3 + i] = peer_stream(keys[i], i);
	reply = redisCommandArgv(redis, p->shards + 3, argv, NULL);
	if (reply == NULL || reply->type != REDIS_REPLY_ARRAY)
		die("Redis: %s", reply ? reply->str : redis->errstr);
	r->lost = p->messages - reply->element[1]->integer;
	r->doubled = reply->element[0]->integer - reply->element[1]->integer;
	freeReplyObject(reply);
	free(n_keys);
	free(argv);
	free(keys);
	redisFree(redis);
}

int peer_print(const char *name, const struct peer *p, const struct peer_result *r)
{
	printf("{\"contestant\":\"%s\",\"mode\":\"%s\",\"messages\":%" PRId64 ",\"seconds\":%.3f,"
	       "\"lost\":%" PRId64 ",\"doubled\":%" PRId64,
	    name, mode_names[p->mode], p->messages, (double)r->us / 1e6, r->lost, r->doubled);
	if (p->mode == PEER_LATENCY)
		printf(",\"latency_us\":{\"p50\":%" PRId64 ",\"p99\":%" PRId64 ",\"max\":%" PRId64
		       "}",
		    r->p50_us, r->p99_us, r->max_us);
	printf("}\n");
	return r->lost == 0 && r->doubled == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int check(const struct peer_verbs *verbs, const struct peer *p)
{
	const char *lacks = NULL;

	if ((verbs->modes & 1U << p->mode) == 0)
		lacks = "has no such mode";
	else if (verbs->lacks != NULL)
		lacks = verbs->lacks(p);
	if (lacks == NULL)
		return EXIT_SUCCESS;
	printf("%s: %s\n", verbs->name, lacks);
	return EXIT_LACKS;
}

int peer_main(int argc, char **argv, const struct peer_verbs *verbs)
{
	const char *verb = argc == 2 ? argv[1] : "";
	struct peer_result result = {0};
	struct peer p;

	peer_read_environment(&p);
	if (strcmp(verb, "check") == 0)
		return check(verbs, &p);
	if (strcmp(verb, "setup") == 0) {
		verbs->setup(&p);
		return EXIT_SUCCESS;
	}
	if (strcmp(verb, "measure") == 0) {
		verbs->measure(&p, &result);
		return peer_print(verbs->name, &p, &result);
	}
	fprintf(stderr, "usage: %s check | setup | measure\n", argv[0]);
	return EXIT_USAGE;
}
