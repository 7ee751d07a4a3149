#include "tests/consumer/stage.h"

#include "consumer_stage_text.h"
#include "tests/support/die.h"
#include "tests/support/http.h"
#include "tests/support/text.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ARGS 40

struct stage *stage_open(unsigned shards)
{
	struct stage *s = calloc(1, sizeof(*s));

	if (!s)
		die("out of memory");
	s->w = world_open(shards);
	s->redis = world_redis(s->w);
	world_sql(s->w, "%s", tests_consumer_stage_sql);
	return s;
}

void stage_close(struct stage *s)
{
	redisFree(s->redis);
	world_close(s->w);
	free(s);
}

struct proc *stage_consumer(struct stage *s, const char *const *more, const char *failpoints)
{
	char *lease = text_format("%dms", STAGE_LEASE_MS);
	char *variable = text_format("UMAVEZ_FAILPOINTS=%s", failpoints ? failpoints : "");
	const char *args[MAX_ARGS] = {"--handler", "stage.apply", "--lease", lease, "--block",
	    "200ms", "--consumer", STAGE_CONSUMER};
	const char *const env[] = {failpoints ? variable : NULL, NULL};
	struct proc *p;
	int n = 8;

	for (; more && *more; more++) {
		if (n == MAX_ARGS - 1)
			die("too many arguments");
		args[n++] = *more;
	}
	p = world_consumer(s->w, args, env);
	free(lease);
	free(variable);
	return p;
}

bool stage_says(const struct proc *p, const char *path, const char *text)
{
	char *url = text_format("%s%s", proc_admin_url(p), path);
	struct http_answer answer;
	bool found;

	http_request("GET", url, NULL, NULL, 0, 2000, &answer);
	found = answer.body && strstr(answer.body, text) != NULL;
	http_answer_done(&answer);
	free(url);
	return found;
}

struct saying {
	const struct proc *p;
	const char *path, *text;
};

static bool is_said(void *ctx)
{
	const struct saying *s = ctx;

	return stage_says(s->p, s->path, s->text);
}

bool stage_await_says(const struct proc *p, const char *path, const char *text)
{
	return await(is_said, &(struct saying){p, path, text}, STAGE_MS);
}

static redisReply *run_va(struct stage *s, const char *fmt, va_list args)
{
	redisReply *reply = redisvCommand(s->redis, fmt, args);

	if (!reply) {
		/* Redis was stopped in between. */
		redisFree(s->redis);
		s->redis = world_redis(s->w);
		die("Redis: %s: connection lost", fmt);
	}
	if (reply->type == REDIS_REPLY_ERROR)
		die("Redis: %s: %s", fmt, reply->str);
	return reply;
}

void stage_redis(struct stage *s, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	freeReplyObject(run_va(s, fmt, args));
	va_end(args);
}

char *stage_redis_text(struct stage *s, const char *fmt, ...)
{
	redisReply *reply;
	char *text;
	va_list args;

	va_start(args, fmt);
	reply = run_va(s, fmt, args);
	va_end(args);
	if (reply->type == REDIS_REPLY_INTEGER)
		text = text_format("%lld", reply->integer);
	else
		text = reply->str ? strdup(reply->str) : NULL;
	freeReplyObject(reply);
	return text;
}

static void add(struct stage *s, unsigned shard, int64_t tick, int n, const char *subject)
{
	char *data = text_format("{\"n\":%d,\"shard\":%u}", n, shard);

	stage_redis(s,
	    "XADD umavez:purchases:{%u} %lld-%d id m%d source app_store type purchase.noted "
	    "subject %s time 2026-01-01T00:00:00.000Z data %s shard %u relay stage "
	    "published_at 2026-01-01T00:00:01.000Z",
	    shard, (long long)tick, n, n, subject, data, shard);
	free(data);
}

void stage_add(struct stage *s, unsigned shard, int64_t tick, int n)
{
	char *subject = text_format("app_store/p%d", n % 5);

	add(s, shard, tick, n, subject);
	free(subject);
}

void stage_add_apart(struct stage *s, int64_t tick, int first, int last)
{
	for (int n = first; n <= last; n++) {
		char *subject = text_format("app_store/apart%d", n);

		add(s, 0, tick, n, subject);
		free(subject);
	}
}

void stage_add_many(struct stage *s, int64_t tick, int first, int last)
{
	for (int n = first; n <= last; n++)
		stage_add(s, 0, tick, n);
}

static const redisReply *field(const redisReply *reply, const char *name)
{
	for (size_t i = 0; i + 1 < reply->elements; i += 2)
		if (strcmp(reply->element[i]->str, name) == 0)
			return reply->element[i + 1];
	return NULL;
}

static const redisReply *our_group(const redisReply *groups)
{
	for (size_t i = 0; groups->type == REDIS_REPLY_ARRAY && i < groups->elements; i++)
		if (strcmp(field(groups->element[i], "name")->str, STAGE_CONSUMER) == 0)
			return groups->element[i];
	return NULL;
}

/* malloc'd; NULL without a group. */
static char *read_bookmark(struct stage *s)
{
	redisReply *groups = redisCommand(s->redis, "XINFO GROUPS " STAGE_STREAM);
	const redisReply *group;
	char *id;

	if (!groups)
		die("Redis: connection lost");
	group = our_group(groups); /* without a stream it is an error reply */
	id = group ? strdup(field(group, "last-delivered-id")->str) : NULL;
	freeReplyObject(groups);
	return id;
}

struct expectation {
	struct stage *s;
	const char *field, *value;
};

static bool equal(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static bool bookmark_is(void *ctx)
{
	const struct expectation *e = ctx;
	char *id = read_bookmark(e->s);
	bool is = equal(id, e->value);

	free(id);
	return is;
}

bool stage_await_bookmark(struct stage *s, const char *id)
{
	return await(bookmark_is, &(struct expectation){s, NULL, id}, STAGE_MS);
}

static bool field_is(void *ctx)
{
	const struct expectation *e = ctx;
	char *value = stage_redis_text(e->s, "HGET " STAGE_REPLAY " %s", e->field);
	bool is = equal(value, e->value);

	free(value);
	return is;
}

bool stage_await_field(struct stage *s, const char *name, const char *value)
{
	return await(field_is, &(struct expectation){s, name, value}, STAGE_MS);
}

bool stage_answer(struct stage *s, const char *what)
{
	char *asked = stage_redis_text(s, "HGET " STAGE_REPLAY " ask:" STAGE_CONSUMER), *text;

	if (!asked)
		return false;
	text = text_format("%s %s", asked, what);
	stage_redis(s, "HSET " STAGE_REPLAY " answer:" STAGE_CONSUMER " %s", text);
	stage_redis(s, "HDEL " STAGE_REPLAY " ask:" STAGE_CONSUMER);
	free(text);
	free(asked);
	return true;
}

struct reply {
	struct stage *s;
	const char *what;
};

static bool answer(void *ctx)
{
	const struct reply *r = ctx;

	return stage_answer(r->s, r->what);
}

bool stage_await_answer(struct stage *s, const char *what)
{
	return await(answer, &(struct reply){s, what}, STAGE_MS);
}

bool stage_await_cursor(struct stage *s, const char *id)
{
	return world_await_int(s->w, 1, STAGE_MS,
	    "SELECT count(*) FROM effects.cursor WHERE consumer = '" STAGE_CONSUMER
	    "' AND shard = 0 AND stream_id = '%s'",
	    id);
}

bool stage_await_effects(struct stage *s, int n)
{
	return world_await_int(s->w, n, STAGE_MS, "SELECT count(*) FROM stage.log");
}

static void check_effects(struct stage *s, int n, const char *in_order)
{
	CHECK_INT(world_int(s->w, "SELECT count(DISTINCT message_id) FROM stage.log"), n);
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM stage.log"), n);
	CHECK_INT(world_int(s->w,
		      "SELECT count(*) FROM (SELECT n < lag(n) OVER (PARTITION BY %s"
		      " ORDER BY place) AS late FROM stage.log) AS l WHERE late",
		      in_order),
	    0);
	CHECK_INT(world_int(s->w, "SELECT count(*) FROM stage.log AS l JOIN effects.inbox AS i"
				  " ON i.consumer = '" STAGE_CONSUMER "' AND i.source = 'app_store'"
				  " AND i.message_id = l.message_id AND i.xid = l.xid"),
	    n);
}

void stage_check_effects(struct stage *s, int n)
{
	check_effects(s, n, "shard");
}

void stage_check_by_subject(struct stage *s, int n)
{
	check_effects(s, n, "n % 5");
}

void stage_poison(struct stage *s, int n)
{
	world_sql(s->w, "INSERT INTO stage.poison VALUES (%d)", n);
}

void stage_heal(struct stage *s, int n)
{
	world_sql(s->w, "DELETE FROM stage.poison WHERE n = %d", n);
}

bool stage_await_parked(struct stage *s, const char *list)
{
	return world_await_int(s->w, 1, STAGE_MS,
	    "SELECT (coalesce(string_agg(state || ' ' || message_id, ' ' ORDER BY place), '') = "
	    "'%s')::int"
	    " FROM effects.parked",
	    list);
}

void stage_on_message_5(struct stage *s, const char *does)
{
	world_sql(s->w,
	    "CREATE FUNCTION stage.die() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$"
	    " BEGIN IF NEW.n = 5 AND EXISTS (SELECT FROM stage.poison) THEN %s; END IF;"
	    " RETURN NEW; END $$;"
	    "CREATE TRIGGER die BEFORE INSERT ON stage.log FOR EACH ROW EXECUTE FUNCTION"
	    " stage.die()",
	    does);
	stage_poison(s, 1000);
}

void stage_mark(struct stage *s, int n, const char *state)
{
	CHECK_INT(world_int(s->w,
		      "SELECT effects.mark('" STAGE_CONSUMER "', 'app_store', 'm%d', '%s',"
		      " 'a reason')::int",
		      n, state),
	    1);
}
