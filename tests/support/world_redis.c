#include "common/redis_redirect.h"
#include "tests/support/cluster.h"
#include "tests/support/die.h"
#include "tests/support/text.h"
#include "tests/support/world_private.h"

#include <stdarg.h>
#include <string.h>

#define REDIRECTS_MAX 10

static redisReply *send(redisContext *c, const char *command, int len)
{
	redisReply *reply = NULL;

	redisAppendFormattedCommand(c, command, (size_t)len);
	if (redisGetReply(c, (void **)&reply) != REDIS_OK)
		die("Redis: %s", c->errstr);
	return reply;
}

/* At the node that the reply names; false: it names none. */
static bool follow(struct cluster *cluster, const char *command, int len, redisReply **reply)
{
	struct redis_redirect to;
	redisContext *c;

	if ((*reply)->type != REDIS_REPLY_ERROR ||
	    !redis_redirect_parse((*reply)->str, (*reply)->len, &to))
		return false;
	freeReplyObject(*reply);
	c = cluster_connect(cluster, cluster_node_at(cluster, to.port));
	if (to.kind == REDIRECT_ASK)
		freeReplyObject(redisCommand(c, "ASKING"));
	*reply = send(c, command, len);
	redisFree(c);
	return true;
}

static redisReply *run(struct world *w, const char *fmt, va_list args)
{
	redisContext *redis = w->cluster ? cluster_connect_any(w->cluster) : world_redis(w);
	redisReply *reply;
	char *command;
	int len = redisvFormatCommand(&command, fmt, args);

	if (len < 0)
		die("Redis: %s: bad format", fmt);
	reply = send(redis, command, len);
	for (int i = 0; w->cluster && follow(w->cluster, command, len, &reply); i++)
		if (i == REDIRECTS_MAX)
			die("Redis: %s: each node names another one", fmt);
	redisFree(redis);
	redisFreeCommand(command);
	return reply;
}

static redisReply *expect(redisReply *reply, const char *fmt)
{
	if (reply->type == REDIS_REPLY_ERROR)
		die("Redis: %s: %s", fmt, reply->str);
	return reply;
}

redisReply *world_redis_reply(struct world *w, const char *fmt, ...)
{
	redisReply *reply;
	va_list args;

	va_start(args, fmt);
	reply = run(w, fmt, args);
	va_end(args);
	return reply;
}

void world_redis_run(struct world *w, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	freeReplyObject(expect(run(w, fmt, args), fmt));
	va_end(args);
}

int64_t world_redis_int(struct world *w, const char *fmt, ...)
{
	redisReply *reply;
	va_list args;
	int64_t value;

	va_start(args, fmt);
	reply = expect(run(w, fmt, args), fmt);
	va_end(args);
	if (reply->type != REDIS_REPLY_INTEGER)
		die("Redis: %s: not an integer", fmt);
	value = reply->integer;
	freeReplyObject(reply);
	return value;
}

char *world_redis_text(struct world *w, const char *fmt, ...)
{
	char *text = NULL;
	redisReply *reply;
	va_list args;

	va_start(args, fmt);
	reply = expect(run(w, fmt, args), fmt);
	va_end(args);
	if (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS)
		text = text_format("%s", reply->str);
	freeReplyObject(reply);
	return text;
}
