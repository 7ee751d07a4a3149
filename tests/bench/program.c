#include "tests/bench/program.h"

#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/proc.h"
#include "tests/support/text.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PROGRAM_MS 300000
#define NOT_THERE 77
#define REDIS_DATABASE 1
#define VARIABLES 9

static char *program_path(const struct contestant *c)
{
	return text_format("%s/tests/bench/peers/%s/run", UMAVEZ_SOURCE_DIR, c->program);
}

static char *database_name(const struct contestant *c)
{
	char *name = text_format("peer_%s", c->program);

	for (char *at = name; *at; at++)
		if (*at == '-')
			*at = '_';
	return name;
}

static void make_database(struct ground *g, const struct contestant *c)
{
	char *database = database_name(c);

	world_sql(g->w, "DROP DATABASE IF EXISTS %s WITH (FORCE)", database);
	world_sql(g->w, "CREATE DATABASE %s", database);
	free(database);
}

/* For how long latencies are taken. */
static int64_t seconds_of(int64_t n)
{
	return n > GROUND_RATE ? n / GROUND_RATE : 1;
}

/* NULL-terminated; each to be freed. */
static void make_environment(
    struct ground *g, const struct contestant *c, int64_t n, char *ret_env[VARIABLES + 1])
{
	char *database = database_name(c);
	const char *dir = world_dir(g->w);

	ret_env[0] = text_format(
	    "BENCH_DATABASE_URL=postgresql://postgres@/%s?host=%s/pg&port=5432", database, dir);
	ret_env[1] =
	    text_format("BENCH_REDIS_URL=unix://%s/redis/redis.sock?db=%d", dir, REDIS_DATABASE);
	ret_env[2] = text_format("BENCH_MESSAGES=%lld", (long long)n);
	ret_env[3] = text_format("BENCH_BYTES=%d", GROUND_BYTES);
	ret_env[4] = text_format("BENCH_SHARDS=%d", GROUND_SHARDS);
	ret_env[5] = text_format("BENCH_MODE=%s", c->mode ? c->mode : "drain");
	ret_env[6] = text_format("BENCH_RATE=%d", GROUND_RATE);
	ret_env[7] = text_format("BENCH_SECONDS=%lld", (long long)seconds_of(n));
	ret_env[8] = text_format("BENCH_PROGRAMS=%s/../tests", UMAVEZ_BIN_DIR);
	ret_env[VARIABLES] = NULL;
	free(database);
}

/* Its exit status; *ret_out is what it wrote to stdout, NULL: nothing could be read. */
static int run(
    struct ground *g, const struct contestant *c, int64_t n, const char *verb, char **ret_out)
{
	char *path = program_path(c), *env[VARIABLES + 1] = {NULL};
	char *out = text_format("%s/program.out", world_dir(g->w));
	char *err = text_format("%s/%s.log", world_dir(g->w), c->program);
	char *command = text_format("exec '%s' %s >'%s' 2>>'%s'", path, verb, out, err);
	const char *const argv[] = {"sh", "-c", command, NULL};
	struct proc_spec spec = {.argv = argv, .env = (const char *const *)env, .log = err};
	int status;

	make_environment(g, c, n, env);
	status = proc_run(&spec, PROGRAM_MS);
	if (status != 0 && status != NOT_THERE)
		file_print_tail(err, 2000);
	*ret_out = file_read(out, NULL);
	for (char **e = env; *e; e++)
		free(*e);
	free(path);
	free(out);
	free(err);
	free(command);
	return status;
}

char *program_obstacle(struct ground *g, const struct contestant *c)
{
	char *path = program_path(c), *out = NULL, *why = NULL;
	int status;

	if (access(path, X_OK) < 0) {
		why = text_format("there is no tests/bench/peers/%s/run", c->program);
		goto done;
	}
	make_database(g, c);
	status = run(g, c, c->quick, "check", &out);
	if (status != 0)
		why = text_format(
		    "%.*s (status %d)", out ? (int)strcspn(out, "\n") : 0, out ? out : "", status);
done:
	free(path);
	free(out);
	return why;
}

void program_setup(const struct heat *h)
{
	char *out;

	ground_stop_all(h->g);
	make_database(h->g, h->contestant);
	/* Only its own: the streams that umavez-consumer drains are costly to fill. */
	freeReplyObject(ground_redis(h->g, "SELECT %d", REDIS_DATABASE));
	freeReplyObject(ground_redis(h->g, "FLUSHDB SYNC"));
	freeReplyObject(ground_redis(h->g, "SELECT 0"));
	if (run(h->g, h->contestant, h->n, "setup", &out) != 0)
		die("%s: its setup failed", h->contestant->name);
	free(out);
	ground_settle(h->g);
}

static double number(const json_t *o, const char *name)
{
	return json_number_value(json_object_get(o, name));
}

static void read_report(const struct heat *h, const json_t *report, struct outcome *ret)
{
	const json_t *latency = json_object_get(report, "latency_us");
	int64_t lost = (int64_t)number(report, "lost"),
		doubled = (int64_t)number(report, "doubled");

	if (!ledger_holds(h, lost, doubled))
		ret->failed = true;
	if (latency != NULL) {
		ret->figures[FIGURE_STREAM_P50] = number(latency, "p50") / 1000;
		ret->figures[FIGURE_STREAM_P99] = number(latency, "p99") / 1000;
		return;
	}
	if (number(report, "messages") != (double)h->n)
		die("%s did %g messages of %lld", h->contestant->name, number(report, "messages"),
		    (long long)h->n);
	ret->figures[FIGURE_RATE] = number(report, "messages") / number(report, "seconds");
}

void program_measure(const struct heat *h, struct outcome *ret)
{
	char *out = NULL;
	int status = run(h->g, h->contestant, h->n, "measure", &out);
	json_t *report = out ? json_loads(out, 0, NULL) : NULL;

	if (report == NULL)
		die("%s: exit status %d, and no report: %s", h->contestant->name, status,
		    out ? out : "");
	ret->failed = status != 0;
	read_report(h, report, ret);
	json_decref(report);
	free(out);
}
