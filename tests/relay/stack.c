#include "tests/relay/stack.h"

#include "tests/support/http.h"
#include "tests/support/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ARGS 64

struct world *stack_open(unsigned shards)
{
	struct world *w = world_open(shards);

	witness_install(w);
	world_sql(w, "INSERT INTO intake.emitter (role_name, source) VALUES ('postgres', 'app')");
	return w;
}

void stack_emit(struct world *w, const char *prefix, int n)
{
	world_sql(w,
	    "DO $$ BEGIN FOR i IN 1..%d LOOP PERFORM intake.emit('app', '%s' || i, 'app.told', "
	    "'app/' || i %% 20, json_build_object('n', i)); COMMIT; END LOOP; END $$",
	    n, prefix);
}

static bool is_published(void *ctx)
{
	witness_streams(ctx);
	return world_int(ctx, "SELECT count(*) FROM witness.stream_missing") == 0;
}

bool stack_await_published(struct world *w, int64_t timeout_ms)
{
	if (await(is_published, w, timeout_ms))
		return true;
	invariants_broken(w, INVARIANTS_STREAM);
	return false;
}

void stack_check(struct world *w, unsigned excused)
{
	CHECK(stack_await_published(w, WAIT_MS));
	CHECK_INT(invariants_broken(w, INVARIANTS_STREAM | excused), 0);
}

struct proc *stack_relay(struct world *w, const char *const *args, const char *const *env)
{
	const char *all[MAX_ARGS] = {
	    "--poll-interval", "50ms", "--trim-interval", "200ms", "--lease", "1s"};
	size_t n = 6;

	for (; args != NULL && *args != NULL; args++)
		all[n++] = *args;
	all[n] = NULL;
	return world_relay(w, all, env);
}

char *stack_last_id(struct world *w, unsigned shard)
{
	redisContext *redis = world_redis(w);
	redisReply *info = redisCommand(redis, "XINFO STREAM umavez:purchases:{%u}", shard);
	char *id = NULL;

	for (size_t i = 0; info && i + 1 < info->elements; i += 2)
		if (strcmp(info->element[i]->str, "last-generated-id") == 0)
			id = text_format("%s", info->element[i + 1]->str);
	freeReplyObject(info);
	redisFree(redis);
	return id ? id : text_format("0-0");
}

int64_t stack_length(struct world *w)
{
	return world_redis_int(w, "XLEN " STREAM);
}

int64_t stack_read_group(struct world *w, const char *group, int n, int64_t n_ack)
{
	redisContext *redis = world_redis(w);
	redisReply *reply =
	    redisCommand(redis, "XREADGROUP GROUP %s me COUNT %d STREAMS " STREAM " >", group, n);
	int64_t got = 0;

	if (reply && reply->type == REDIS_REPLY_ARRAY) {
		const redisReply *entries = reply->element[0]->element[1];

		got = (int64_t)entries->elements;
		for (int64_t i = 0; i < got && i < n_ack; i++)
			freeReplyObject(redisCommand(redis, "XACK " STREAM " %s %s", group,
			    entries->element[i]->element[0]->str));
	}
	freeReplyObject(reply);
	redisFree(redis);
	return got;
}

struct length_wanted {
	struct world *w;
	int64_t length;
};

static bool has_length(void *ctx)
{
	const struct length_wanted *wanted = ctx;

	return stack_length(wanted->w) == wanted->length;
}

bool stack_await_length(struct world *w, int64_t n)
{
	struct length_wanted wanted = {w, n};

	if (await(has_length, &wanted, WAIT_MS))
		return true;
	fprintf(stderr, "the stream has %lld entries, wanted %lld\n", (long long)stack_length(w),
	    (long long)n);
	return false;
}

double stack_metric(struct proc *relay, const char *series)
{
	char *url = text_format("%s/metrics", proc_admin_url(relay));
	struct http_answer answer;
	double value = -1;
	const char *line;

	http_request("GET", url, NULL, NULL, 0, 2000, &answer);
	for (line = answer.body; line && (line = strstr(line, series)); line++) {
		if (line == answer.body || line[-1] == '\n') {
			value = strtod(line + strlen(series), NULL);
			break;
		}
	}
	http_answer_done(&answer);
	free(url);
	return value;
}

double stack_shard_metric(struct proc *relay, const char *name)
{
	char *series = text_format("umavez_%s{shard=\"0\"}", name);
	double value = stack_metric(relay, series);

	free(series);
	return value;
}

struct wanted {
	struct proc *relay;
	const char *series;
	double at_least;
};

static bool is_reached(void *ctx)
{
	const struct wanted *wanted = ctx;

	return stack_metric(wanted->relay, wanted->series) >= wanted->at_least;
}

bool stack_await_metric(struct proc *relay, const char *series, double at_least, int64_t timeout_ms)
{
	struct wanted wanted = {relay, series, at_least};

	return await(is_reached, &wanted, timeout_ms);
}

bool stack_await_shard_metric(struct proc *relay, const char *name, double at_least)
{
	char *series = text_format("umavez_%s{shard=\"0\"}", name);
	bool reached = stack_await_metric(relay, series, at_least, WAIT_MS);

	free(series);
	return reached;
}

char *stack_readyz(struct proc *relay, int *ret_status)
{
	char *url = text_format("%s/readyz", proc_admin_url(relay)), *body;
	struct http_answer answer;

	http_request("GET", url, NULL, NULL, 0, 2000, &answer);
	body = text_format("%s", answer.body ? answer.body : "");
	*ret_status = answer.status;
	http_answer_done(&answer);
	free(url);
	return body;
}
