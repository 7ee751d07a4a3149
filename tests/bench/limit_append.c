#include "tests/bench/limit_append.h"

#include "common/clock.h"
#include "common/event.h"
#include "common/redis.h"
#include "relay/batch.h"
#include "relay/script.h"
#include "relay_text.h"
#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/proc.h"
#include "tests/support/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_MS 30000
#define TICK 1000000
#define MAX_ROWS 1000 /* --append-batch */
#define XADD_MS 120000

enum { HEAD = 6, ROW = 1 + EVENT_ROW_FIELDS };

/* One append's arguments; only the IDs change from one to the next. */
struct append {
	int rows, argc;
	const char *argv[HEAD + MAX_ROWS * ROW];
	size_t lens[HEAD + MAX_ROWS * ROW];
	char ids[MAX_ROWS][STREAM_ID_SIZE];
	char *data;
};

static void set(struct append *a, int at, const char *text)
{
	a->argv[at] = text;
	a->lens[at] = strlen(text);
}

/* As many rows of this size as the relay puts into an append. */
static struct append *append_new(int bytes)
{
	static const char *const fields[EVENT_ROW_FIELDS] = {[EVENT_ID] = "message-1000000",
	    [EVENT_SOURCE] = "bench",
	    [EVENT_TYPE] = "purchase.renewed",
	    [EVENT_SUBJECT] = "bench/1000",
	    [EVENT_TIME] = "2026-01-01T00:00:00.000000Z",
	    [EVENT_TRACEPARENT] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	    [EVENT_FIRST_POSITION] = ""};
	struct append *a = calloc(1, sizeof(*a));

	if (a == NULL || (a->data = calloc(1, (size_t)bytes + 1)) == NULL)
		die("out of memory");
	memset(a->data, 'x', (size_t)bytes);
	a->rows = BATCH_BYTES / (bytes + 150) + 1;
	a->rows = a->rows > MAX_ROWS ? MAX_ROWS : a->rows;
	set(a, 2, "bench");
	set(a, 3, "2026-01-01T00:00:00.000Z");
	set(a, 5, "0");
	for (int i = 0; i < a->rows; i++)
		for (int f = 0; f < EVENT_ROW_FIELDS; f++)
			set(a, HEAD + i * ROW + 1 + f, f == EVENT_DATA ? a->data : fields[f]);
	return a;
}

static void append_rows(struct redis *redis, const struct script *script, struct append *a,
    unsigned shard, int64_t first, int rows)
{
	char key[64], number[8], expected[STREAM_ID_SIZE];
	redisReply *reply = NULL;
	struct err err = ERR_INIT;

	event_key(key, sizeof(key), "bench", "purchases", shard);
	snprintf(number, sizeof(number), "%u", shard);
	snprintf(
	    expected, sizeof(expected), first == 1 ? "0-0" : "%d-%lld", TICK, (long long)first - 1);
	set(a, 0, key);
	set(a, 1, expected);
	set(a, 4, number);
	for (int i = 0; i < rows; i++) {
		snprintf(a->ids[i], sizeof(a->ids[i]), "%d-%lld", TICK, (long long)first + i);
		set(a, HEAD + i * ROW, a->ids[i]);
	}
	if (redis_eval_send(redis, &script->redis, 1, HEAD + rows * ROW, a->argv, a->lens, &err) <
		0 ||
	    redis_eval_receive(redis, &reply, &err) < 0)
		die("append: %s", err.message);
	if (reply->type != REDIS_REPLY_ARRAY || reply->element[0]->integer != 1)
		die("append: nothing was added");
	freeReplyObject(reply);
}

double limit_append(struct ground *g, int64_t n, int bytes)
{
	struct append *a = append_new(bytes);
	int64_t next[GROUND_SHARDS], began_us;
	struct redis *redis;
	struct script script;
	struct err err = ERR_INIT;

	script_init(&script, relay_append_lua);
	if (redis_open(world_redis_url(g->w), TIMEOUT_MS, &redis, &err) < 0 ||
	    redis_script_load(redis, &script.redis, &err) < 0)
		die("%s", err.message);
	for (int shard = 0; shard < GROUND_SHARDS; shard++)
		next[shard] = 1;
	began_us = clock_mono_us();
	for (int64_t done = 0; done < n;) {
		unsigned shard = (unsigned)(done / a->rows % GROUND_SHARDS);
		int rows = n - done < a->rows ? (int)(n - done) : a->rows;

		append_rows(redis, &script, a, shard, next[shard], rows);
		next[shard] += rows;
		done += rows;
	}
	began_us = clock_mono_us() - began_us;
	redis_close(redis);
	script_done(&script);
	free(a->data);
	free(a);
	return (double)began_us / 1e6;
}

double limit_xadd(struct ground *g, int64_t n, int bytes)
{
	char *out = text_format("%s/redis-benchmark.log", world_dir(g->w));
	char *socket = text_format("%s/redis/redis.sock", world_dir(g->w));
	char *count = text_format("%lld", (long long)n), *data = calloc(1, (size_t)bytes + 1),
	     *text;
	const char *const argv[] = {"redis-benchmark", "-s", socket, "-n", count, "-c", "4", "-P",
	    "16", "--csv", "XADD", "bench:xadd", "*", "data", data, NULL};
	struct proc_spec spec = {.argv = argv, .log = out};
	const char *line;
	double rate;

	if (data == NULL)
		die("out of memory");
	memset(data, 'x', (size_t)bytes);
	unlink(out);
	if (proc_run(&spec, XADD_MS) != 0)
		die("redis-benchmark failed");
	text = file_read(out, NULL);
	/* "test","rps",... and below it "XADD ...","12345.67",... */
	line = text ? strchr(text, '\n') : NULL;
	line = line ? strstr(line, "\",\"") : NULL;
	if (line == NULL)
		die("redis-benchmark: %s", text ? text : "nothing");
	rate = strtod(line + 3, NULL);
	free(out);
	free(socket);
	free(count);
	free(data);
	free(text);
	return rate;
}
