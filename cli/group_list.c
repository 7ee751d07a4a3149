#include "cli/group.h"
#include "cli/sources.h"
#include "cli_text.h"
#include "common/event.h"
#include "common/memory.h"
#include "common/pg.h"
#include "common/redis.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void groups_done(struct groups *g)
{
	for (size_t i = 0; i < g->n; i++) {
		free(g->list[i].name);
		free(g->list[i].acknowledged);
		free(g->list[i].at);
		free(g->list[i].delivered);
	}
	free(g->list);
	*g = (struct groups){0};
}

static struct group *find(struct groups *g, unsigned shard, const char *name)
{
	for (size_t i = 0; i < g->n; i++) {
		if (g->list[i].shard == shard && strcmp(g->list[i].name, name) == 0)
			return &g->list[i];
	}
	return NULL;
}

static struct group *add(struct groups *g, unsigned shard, const char *name)
{
	g->list = mem_realloc(g->list, (g->n + 1) * sizeof(*g->list));
	g->list[g->n] = (struct group){.shard = shard, .name = mem_strdup(name)};
	return &g->list[g->n++];
}

static void add_registered(struct groups *g, const PGresult *res)
{
	for (int row = 0; row < PQntuples(res); row++) {
		if (!pg_text(res, row, "name"))
			continue;
		struct group *group =
		    add(g, (unsigned)pg_uint(res, row, "shard"), pg_text(res, row, "name"));

		group->registered = true;
		group->acknowledged = mem_strdup(pg_text(res, row, "acknowledged"));
		group->at = mem_strdup(pg_text(res, row, "at"));
	}
}

static const char *text_field(const redisReply *reply, const char *name)
{
	const redisReply *value = redis_field(reply, name);

	return value && value->type == REDIS_REPLY_STRING ? value->str : "";
}

static void add_from_stream(
    struct groups *g, unsigned shard, const redisReply *reply, const char *only)
{
	const char *name = text_field(reply, "name");
	const redisReply *pending = redis_field(reply, "pending");
	struct group *group;

	if (only && strcmp(only, name) != 0)
		return;
	group = find(g, shard, name);
	if (!group)
		group = add(g, shard, name);
	group->in_stream = true;
	group->delivered = mem_strdup(text_field(reply, "last-delivered-id"));
	group->pending = pending ? pending->integer : 0;
}

/* A key that is missing, or no stream, has no groups. */
static int read_stream(const struct sources *sources, unsigned shard, const char *name,
    struct groups *g, struct err *err)
{
	redisReply *type = NULL, *reply = NULL;
	char key[SOURCES_KEY_SIZE];
	int rc = -1;

	if (sources_stream(sources, shard, key, err) < 0 ||
	    redis_command(sources->redis, &type, err, "TYPE %s", key) < 0)
		goto done;
	if (type->type == REDIS_REPLY_STATUS && strcmp(type->str, "stream") == 0) {
		if (redis_command(sources->redis, &reply, err, "XINFO GROUPS %s", key) < 0)
			goto done;
		for (size_t i = 0; i < reply->elements; i++)
			add_from_stream(g, shard, reply->element[i], name);
	}
	rc = 0;
done:
	freeReplyObject(type);
	freeReplyObject(reply);
	return rc;
}

static int compare(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->shard != y->shard)
		return x->shard < y->shard ? -1 : 1;
	return strcmp(x->name, y->name);
}

int groups_read(
    const struct sources *sources, struct group_filter filter, struct groups *ret, struct err *err)
{
	char shard[PG_NUMBER_SIZE];
	const char *params[] = {
	    filter.name, filter.shard < 0 ? NULL : pg_number(shard, filter.shard)};
	struct groups g = {0};
	PGresult *res = NULL;
	int rc = -1;

	if (pg_run(sources->intake, cli_sql_groups_sql, 2, params, &res, err) < 0)
		goto done;
	add_registered(&g, res);
	for (unsigned s = 0; sources->redis && s < pg_uint(res, 0, "shards"); s++) {
		if (filter.shard >= 0 && filter.shard != s)
			continue;
		if (read_stream(sources, s, filter.name, &g, err) < 0)
			goto done;
	}
	if (g.n > 0)
		qsort(g.list, g.n, sizeof(*g.list), compare);
	*ret = g;
	g = (struct groups){0};
	rc = 0;
done:
	groups_done(&g);
	PQclear(res);
	return rc;
}

json_t *groups_json(const struct groups *g)
{
	json_t *list = json_array();

	for (size_t i = 0; i < g->n; i++) {
		const struct group *group = &g->list[i];

		json_array_append_new(list,
		    json_pack("{s:i, s:o, s:b, s:o, s:b, s:o, s:I}", "shard", (int)group->shard,
			"name", print_json_text(group->name), "registered", (int)group->registered,
			"acknowledged", print_json_text(group->acknowledged), "in_stream",
			(int)group->in_stream, "delivered", print_json_text(group->delivered),
			"pending", (json_int_t)group->pending));
	}
	return list;
}

static void print_row(struct table *t, const struct group *g, bool with_redis)
{
	table_cell(t, TINT_PLAIN, "%u", g->shard);
	table_cell(t, TINT_PLAIN, "%s", g->name);
	table_cell(t, TINT_PLAIN, "%s", g->registered ? g->acknowledged : "not registered yet");
	table_cell(t, TINT_DIM, "%s", g->registered ? g->at : "");
	if (!with_redis)
		table_cell(t, TINT_DIM, "?");
	else if (g->in_stream)
		table_cell(t, TINT_PLAIN, "%s, %" PRId64 " pending", g->delivered, g->pending);
	else
		table_cell(t, TINT_BAD, "missing: nothing is trimmed");
}

void groups_print(const struct printer *p, const struct groups *g, bool with_redis)
{
	static const char *const names[] = {
	    "SHARD", "GROUP", "ACKNOWLEDGED", "AS OF", "IN THE STREAM"};
	struct table *t = table_new("rllll");

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		table_cell(t, TINT_HEAD, "%s", names[i]);
	for (size_t i = 0; i < g->n; i++)
		print_row(t, &g->list[i], with_redis);
	table_print(t, p, 0);
	table_free(t);
}
