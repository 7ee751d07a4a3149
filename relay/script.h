/*
 * script.h - the relay's Lua scripts, each behind id.lua, which compares stream IDs.
 */
#ifndef UMAVEZ_RELAY_SCRIPT_H
#define UMAVEZ_RELAY_SCRIPT_H

#include "common/err.h"
#include "common/redis.h"
#include "common/stream_id.h"

struct script {
	struct redis_script redis;
	char *text;
};

void script_init(struct script *s, const char *body);
void script_done(struct script *s);

/* Run it; argv (of strings) begins with the keys. Free the reply with freeReplyObject(). */
int script_run(struct redis *redis, const struct script *s, int n_keys, int argc, const char **argv,
    redisReply **ret_reply, struct err *err) warn_unused;

/* A stream ID in a reply. ERR_FATAL, since our own script made the reply, if it is not one. */
int script_id(const redisReply *reply, struct stream_id *ret_id, struct err *err) warn_unused;

#endif
