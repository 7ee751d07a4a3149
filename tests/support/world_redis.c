#include "tests/support/files.h"
#include "tests/support/world.h"

#include <stdarg.h>

static redisReply *run(struct world *w, const char *fmt, va_list args)
{
	redisContext *redis = world_redis(w);
	redisReply *reply = redisvCommand(redis, fmt, args);

	if (reply == NULL || reply->type == REDIS_REPLY_ERROR)
		die("Redis: %s: %s", fmt, reply ? reply->str : redis->errstr);
	redisFree(redis);
	return reply;
}

void world_redis_run(struct world *w, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	freeReplyObject(run(w, fmt, args));
	va_end(args);
}

int64_t world_redis_int(struct world *w, const char *fmt, ...)
{
	redisReply *reply;
	va_list args;
	int64_t value;

	va_start(args, fmt);
	reply = run(w, fmt, args);
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
	reply = run(w, fmt, args);
	va_end(args);
	if (reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS)
		text = text_format("%s", reply->str);
	freeReplyObject(reply);
	return text;
}
