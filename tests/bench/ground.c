#include "tests/bench/ground.h"

#include "bench_text.h"
#include "tests/support/die.h"
#include "tests/support/http.h"
#include "tests/support/text.h"
#include "tests/support/witness.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define READY_MS 30000
#define STOP_MS 20000

/* As one would set them on a machine of this size; the checkpointer would otherwise hit one
 * contestant and spare the next.  Commit times are what latencies are read from; one of the peers
 * follows the WAL. */
static const char *const settings[] = {"shared_buffers = '1GB'", "max_wal_size = '16GB'",
    "checkpoint_timeout = '1h'", "track_commit_timestamp = on", "max_connections = 200",
    "wal_level = logical"};

static const char *const signing[] = {"--stripe-tolerance", "1h", NULL};
/* As many connections as help it: two cores are busy long before 16. */
static const char *const single[] = {
    "--stripe-tolerance", "1h", "--batch", "1", "--database-connections", "16", NULL};

void ground_restart_postgres(struct ground *g)
{
	world_pg_stop(g->w, "fast");
	world_pg_start(g->w);
	world_sql(g->w, "SET client_min_messages = warning");
}

void ground_configure(struct ground *g)
{
	for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
		world_sql(g->w, "ALTER SYSTEM SET %s", settings[i]);
	world_sql(g->w, "ALTER SYSTEM SET fsync = %s", g->options->no_fsync ? "off" : "on");
	ground_restart_postgres(g);
}

struct ground *ground_open(const struct bench_options *options)
{
	struct ground *g = calloc(1, sizeof(*g));

	if (g == NULL)
		die("out of memory");
	g->options = options;
	g->w = world_open(GROUND_SHARDS);
	ground_configure(g);
	g->redis = world_redis(g->w);
	witness_install(g->w);
	world_sql(g->w, "%s", tests_bench_sql_setup_sql);
	return g;
}

void ground_close(struct ground *g)
{
	redisFree(g->redis);
	world_close(g->w);
	free(g);
}

redisReply *ground_redis(struct ground *g, const char *fmt, ...)
{
	redisReply *reply;
	va_list args;

	va_start(args, fmt);
	reply = redisvCommand(g->redis, fmt, args);
	va_end(args);
	if (reply == NULL || reply->type == REDIS_REPLY_ERROR)
		die("Redis: %s: %s", fmt, reply ? reply->str : g->redis->errstr);
	return reply;
}

void ground_root(struct ground *g)
{
	world_sql(g->w, "%s", tests_bench_sql_roots_sql);
}

void ground_reset(struct ground *g)
{
	ground_stop_all(g);
	world_sql(g->w, "%s", tests_bench_sql_reset_sql);
	ground_root(g);
	freeReplyObject(ground_redis(g, "FLUSHALL SYNC"));
}

void ground_settle(struct ground *g)
{
	world_sql(g->w, "CHECKPOINT");
}

static struct proc *launch(struct ground *g, enum member m)
{
	switch (m) {
	case PRODUCER:
		return world_producer(g->w, signing, NULL);
	case PRODUCER_SINGLE:
		return world_producer(g->w, single, NULL);
	case RELAY:
		return world_relay(g->w, NULL, NULL);
	default:
		return world_consumer(g->w, NULL, NULL);
	}
}

static void await_shards(struct ground *g, const char *table)
{
	if (!world_await_int(g->w, GROUND_SHARDS, READY_MS,
		"SELECT count(*) FROM %s WHERE expires_at > now()", table))
		die("a service does not take its shards");
}

struct proc *ground_start(struct ground *g, enum member m)
{
	if (g->members[m] == NULL)
		g->members[m] = launch(g, m);
	else
		proc_restart(g->members[m]);
	if (!proc_await_ready(g->members[m], READY_MS))
		die("a service is not ready");
	if (m == RELAY)
		await_shards(g, "intake.shard_lease");
	if (m == CONSUMER)
		await_shards(g, "effects.shard_lease");
	return g->members[m];
}

void ground_stop(struct ground *g, enum member m)
{
	if (g->members[m] == NULL || !proc_alive(g->members[m]))
		return;
	proc_kill(g->members[m], SIGTERM);
	if (proc_wait(g->members[m], STOP_MS) != 0)
		die("%s: it did not stop", proc_log(g->members[m]));
}

void ground_stop_all(struct ground *g)
{
	for (int m = 0; m < MEMBERS; m++)
		ground_stop(g, (enum member)m);
}

int64_t ground_entries(struct ground *g)
{
	int64_t n = 0;

	for (unsigned shard = 0; shard < GROUND_SHARDS; shard++) {
		redisReply *reply = ground_redis(g, "XLEN umavez:purchases:{%u}", shard);

		n += reply->integer;
		freeReplyObject(reply);
	}
	return n;
}

static char *scrape(struct proc *p)
{
	char *url = text_format("%s/metrics", proc_admin_url(p)), *text;
	struct http_answer answer;

	http_request("GET", url, NULL, NULL, 0, 5000, &answer);
	if (answer.status != 200)
		die("%s: status %d", url, answer.status);
	text = text_format("%s", answer.body);
	http_answer_done(&answer);
	free(url);
	return text;
}

/* The next line that begins with `series`; its value. */
static const char *next_line(const char *text, const char *series, double *ret_value)
{
	for (const char *line = text; *line; line += strspn(line, "\n")) {
		size_t len = strcspn(line, "\n");
		const char *value = memrchr(line, ' ', len);

		if (value && strncmp(line, series, strlen(series)) == 0) {
			*ret_value = strtod(value, NULL);
			return line;
		}
		line += len;
	}
	return NULL;
}

double ground_metric(struct proc *p, const char *series)
{
	char *text = scrape(p);
	double sum = 0, value;

	for (const char *at = text; (at = next_line(at, series, &value)); at += strcspn(at, "\n"))
		sum += value;
	free(text);
	return sum;
}

double ground_median(struct proc *p, const char *histogram)
{
	char *text = scrape(p), *series = text_format("%s_bucket{le=\"", histogram);
	char *count = text_format("%s_count", histogram);
	double n = 0, below = 0, from = 0, upto, median = 0;

	next_line(text, count, &n);
	for (const char *at = text; median == 0 && (at = next_line(at, series, &upto));) {
		double bound = strtod(at + strlen(series), NULL);

		if (n > 0 && upto >= n / 2)
			median = from + (bound - from) * (n / 2 - below) / (upto - below);
		from = bound;
		below = upto;
		at += strcspn(at, "\n");
	}
	free(text);
	free(series);
	free(count);
	return median;
}
