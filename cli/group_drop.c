#include "cli/group.h"
#include "cli/sources.h"
#include "cli_text.h"
#include "common/event.h"
#include "common/pg.h"
#include "common/redis.h"

#include <inttypes.h>

static int destroy_one(const struct sources *sources, const struct group *g, struct err *err)
{
	char key[SOURCES_KEY_SIZE];

	if (sources_stream(sources, g->shard, key, err) < 0 ||
	    redis_command(sources->redis, NULL, err, "XGROUP DESTROY %s %s", key, g->name) < 0)
		return err_wrap(err, "%s", key);
	return 0;
}

static int forget_one(const struct sources *sources, const struct group *g, struct err *err)
{
	char shard[PG_NUMBER_SIZE];
	const char *params[] = {g->name, pg_number(shard, g->shard)};

	return pg_run(sources->intake, cli_sql_group_drop_sql, 2, params, NULL, err);
}

static bool may_forget(const struct group *g, bool destroy)
{
	return g->registered && (destroy || !g->in_stream);
}

bool groups_may_drop(const struct groups *g, bool destroy)
{
	for (size_t i = 0; i < g->n; i++) {
		if (may_forget(&g->list[i], destroy) || (destroy && g->list[i].in_stream))
			return true;
	}
	return false;
}

int groups_drop(
    const struct sources *sources, const struct groups *g, bool destroy, struct err *err)
{
	for (size_t i = 0; destroy && i < g->n; i++) {
		if (g->list[i].in_stream && destroy_one(sources, &g->list[i], err) < 0)
			return -1;
	}
	for (size_t i = 0; i < g->n; i++) {
		if (may_forget(&g->list[i], destroy) && forget_one(sources, &g->list[i], err) < 0)
			return -1;
	}
	return 0;
}

void groups_tell_drop(
    FILE *out, const char *name_space, const struct groups *g, bool destroy, bool done)
{
	char key[256];

	for (size_t i = 0; i < g->n; i++) {
		const struct group *group = &g->list[i];

		event_key(key, sizeof(key), name_space, "purchases", group->shard);
		if (destroy && group->in_stream)
			fprintf(out, "%s in %s, at %s with %" PRId64 " pending\n",
			    done ? "destroyed" : "would be destroyed", key, group->delivered,
			    group->pending);
		if (may_forget(group, destroy))
			fprintf(out, "%s in shard %u: what stands after %s %s be trimmed unread\n",
			    done ? "forgotten" : "would be forgotten", group->shard,
			    group->acknowledged, done ? "may now" : "might then");
	}
}
