#include "tests/crash/streams.h"

#include "tests/support/die.h"
#include "tests/support/invariants.h"

#include <string.h>

static const char *field(const redisReply *fields, const char *name)
{
	for (size_t i = 0; i + 1 < fields->elements; i += 2)
		if (strcmp(fields->element[i]->str, name) == 0)
			return fields->element[i + 1]->str;
	return "";
}

struct stream_id streams_bookmark(struct world *w, unsigned shard, const char *group)
{
	redisContext *redis = world_redis(w);
	redisReply *groups = redisCommand(redis, "XINFO GROUPS " STREAM, shard);
	struct stream_id id = STREAM_ID_ZERO;

	/* No such key is an error. */
	for (size_t i = 0;
	     groups != NULL && groups->type == REDIS_REPLY_ARRAY && i < groups->elements; i++)
		if (strcmp(field(groups->element[i], "name"), group) == 0 &&
		    !stream_id_parse(field(groups->element[i], "last-delivered-id"), &id))
			die("XINFO GROUPS: no position");
	freeReplyObject(groups);
	redisFree(redis);
	return id;
}

static void make_memory(struct world *w)
{
	if (world_int(w, "SELECT count(to_regclass('witness.remembered'))") == 0)
		world_sql(w, "CREATE TABLE witness.remembered ("
			     "shard smallint, tick bigint, id bigint, "
			     "PRIMARY KEY (shard, tick, id))");
}

void streams_remember(struct world *w)
{
	make_memory(w);
	witness_streams(w);
	world_sql(w, "INSERT INTO witness.remembered SELECT shard, tick, id FROM witness.entry "
		     "ON CONFLICT DO NOTHING");
}

int64_t streams_forgotten(struct world *w)
{
	make_memory(w);
	witness_streams(w);
	return world_int(w, "SELECT count(*) FROM witness.remembered "
			    "LEFT JOIN witness.entry AS e USING (shard, tick, id) "
			    "WHERE e.shard IS NULL");
}

static bool is_complete(void *ctx)
{
	return streams_forgotten(ctx) == 0 &&
	       world_int(ctx, "SELECT count(*) FROM witness.stream_missing") == 0;
}

bool streams_await_complete(struct world *w, int64_t timeout_ms)
{
	if (await(is_complete, w, timeout_ms))
		return true;
	invariants_broken(w, INVARIANTS_STREAM);
	return false;
}
