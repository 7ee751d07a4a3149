#include "relay/trim.h"

#include "common/failpoint.h"
#include "common/log.h"
#include "common/memory.h"
#include "common/pg.h"
#include "common/utf8.h"
#include "relay/script.h"
#include "relay_text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OBSTACLE_SIZE 300

struct trim {
	struct script groups, trim;
	bool is_done;
	char obstacle[OBSTACLE_SIZE];
	char logged[OBSTACLE_SIZE];
};

/* One group of the stream, and up to where it has surely acknowledged. */
struct group {
	const char *name; /* in the reply of groups.lua */
	size_t len;
	struct stream_id acknowledged;
};

struct groups {
	redisReply *reply;
	struct group *list;
	size_t n;
};

struct trim *trim_new(void)
{
	struct trim *t = mem_zalloc(1, sizeof(*t));

	script_init(&t->groups, relay_groups_lua);
	script_init(&t->trim, relay_trim_lua);
	return t;
}

void trim_free(struct trim *t)
{
	if (!t)
		return;
	script_done(&t->groups);
	script_done(&t->trim);
	free(t);
}

bool trim_is_done(const struct trim *t)
{
	return t->is_done;
}

const char *trim_obstacle(const struct trim *t)
{
	return t->obstacle;
}

static void groups_done(struct groups *g)
{
	freeReplyObject(g->reply);
	free(g->list);
}

static int read_group(const redisReply *entry, struct group *ret_group, struct err *err)
{
	struct group g;

	if (entry->type != REDIS_REPLY_ARRAY || entry->elements != 3 ||
	    !redis_text(entry->element[0]))
		return err_set(err, ERR_FATAL, "Redis: groups: unexpected reply");
	g.name = entry->element[0]->str;
	g.len = entry->element[0]->len;
	if (entry->element[2]->len > 0) {
		if (script_id(entry->element[2], &g.acknowledged, err) < 0)
			return -1;
		g.acknowledged = stream_id_before(g.acknowledged);
	} else if (script_id(entry->element[1], &g.acknowledged, err) < 0) {
		return -1;
	}
	*ret_group = g;
	return 0;
}

static int read_groups(
    struct trim *t, struct stream *stream, struct stream_id own, struct groups *g, struct err *err)
{
	const char *argv[] = {stream_key(stream)};

	if (script_run(stream_redis(stream), &t->groups, 1, 1, argv, &g->reply, err) < 0)
		return -1;
	g->list = mem_zalloc(g->reply->elements + 1, sizeof(*g->list));
	for (; g->n < g->reply->elements; g->n++) {
		if (read_group(g->reply->element[g->n], &g->list[g->n], err) < 0)
			return -1;
		/* What stands above our newest entry says nothing about rows: an empty stream must
		 * not be filled again from there. */
		if (stream_id_compare(g->list[g->n].acknowledged, own) > 0)
			g->list[g->n].acknowledged = own;
	}
	return 0;
}

/* A name that PostgreSQL cannot hold cannot be registered. */
static const struct group *unstorable(const struct groups *g)
{
	for (size_t i = 0; i < g->n; i++) {
		if (!utf8_valid(g->list[i].name, g->list[i].len) ||
		    memchr(g->list[i].name, '\0', g->list[i].len))
			return &g->list[i];
	}
	return NULL;
}

/* Register those that are new; *ret_registered are all that were ever seen. */
static int register_groups(
    struct db *db, const struct groups *g, PGresult **ret_registered, struct err *err)
{
	struct db_args args = {.n = 0};
	struct pg_array names;
	int rc;

	pg_array_init(&names, PG_TEXT);
	for (size_t i = 0; i < g->n; i++)
		pg_array_bytes(&names, g->list[i].name, g->list[i].len);
	db_arg_array(&args, &names);
	rc = db_run(db, DB_REGISTER, &args, ret_registered, err);
	pg_array_done(&names);
	return rc;
}

static void log_new(const struct stream *stream, const PGresult *registered)
{
	for (int i = 0; i < PQntuples(registered); i++) {
		if (pg_bool(registered, i, "is_new"))
			log_info("group registered: what it has not acknowledged is kept",
			    lf_str("stream", stream_key(stream)),
			    lf_str("group", pg_text(registered, i, "name")));
	}
}

static int store_acknowledged(struct db *db, const struct groups *g, struct err *err)
{
	struct db_args args = {.n = 0};
	struct pg_array names, ticks, ids;
	int rc;

	pg_array_init(&names, PG_TEXT);
	pg_array_init(&ticks, PG_INT8);
	pg_array_init(&ids, PG_INT8);
	for (size_t i = 0; i < g->n; i++) {
		pg_array_bytes(&names, g->list[i].name, g->list[i].len);
		pg_array_int(&ticks, stream_id_bigint(g->list[i].acknowledged.ms));
		pg_array_int(&ids, stream_id_bigint(g->list[i].acknowledged.seq));
	}
	db_arg_array(&args, &names);
	db_arg_array(&args, &ticks);
	db_arg_array(&args, &ids);
	rc = db_run(db, DB_ACKNOWLEDGE, &args, NULL, err);
	pg_array_done(&names);
	pg_array_done(&ticks);
	pg_array_done(&ids);
	return rc;
}

static const struct group *find_group(const struct groups *g, const char *name)
{
	for (size_t i = 0; i < g->n; i++) {
		if (strcmp(g->list[i].name, name) == 0)
			return &g->list[i];
	}
	return NULL;
}

/* What forbids to trim at all, or, when nothing does, who holds back the most. True: nothing does.
 */
static bool judge(
    struct trim *t, const struct groups *g, const PGresult *registered, struct stream_id own)
{
	const struct group *last = NULL;

	for (int i = 0; i < PQntuples(registered); i++) {
		const char *name = pg_text(registered, i, "name");
		const struct group *group = find_group(g, name);

		if (!group) {
			snprintf(t->obstacle, sizeof(t->obstacle),
			    "group %s is missing: create it again, or forget it with umavez "
			    "group drop",
			    name);
			return false;
		}
		if (!last || stream_id_compare(group->acknowledged, last->acknowledged) < 0)
			last = group;
	}
	if (!last) {
		snprintf(t->obstacle, sizeof(t->obstacle), "no group has ever read the stream");
		return false;
	}
	snprintf(t->obstacle, sizeof(t->obstacle), "group %s holds it back", last->name);
	t->is_done = stream_id_compare(last->acknowledged, own) == 0;
	return true;
}

/* Once for each obstacle.  A stream that nobody has read yet is new, and no trouble. */
static void log_obstacle(struct trim *t, const struct stream *stream, enum log_level level)
{
	const struct log_field fields[] = {
	    lf_str("stream", stream_key(stream)), lf_str("reason", t->obstacle), lf_end()};

	if (strcmp(t->obstacle, t->logged) == 0)
		return;
	memcpy(t->logged, t->obstacle, sizeof(t->logged));
	log_write(level, "nothing is trimmed", fields);
}

static int trim_stream(struct trim *t, struct stream *stream, const struct groups *g,
    struct stream_id own, int64_t *ret_removed, struct err *err)
{
	size_t max = 2 + 2 * g->n;
	const char **argv = mem_alloc(max * sizeof(*argv));
	char(*ids)[STREAM_ID_SIZE] = mem_alloc((g->n + 1) * sizeof(*ids));
	redisReply *reply = NULL;
	int n = 0, rc;

	argv[n++] = stream_key(stream);
	argv[n++] = stream_id_format(own, ids[g->n]);
	for (size_t i = 0; i < g->n; i++) {
		argv[n++] = g->list[i].name;
		argv[n++] = stream_id_format(g->list[i].acknowledged, ids[i]);
	}
	rc = script_run(stream_redis(stream), &t->trim, 1, n, argv, &reply, err);
	if (rc == 0)
		*ret_removed = reply->integer > 0 ? reply->integer : 0;
	freeReplyObject(reply);
	free(ids);
	free(argv);
	return rc;
}

/* Everything but the reading of groups. */
static int trim_groups(struct trim *t, struct db *db, struct stream *stream, const struct groups *g,
    struct stream_id own, int64_t *ret_removed, struct err *err)
{
	PGresult *registered = NULL;
	int rc = -1;

	if (register_groups(db, g, &registered, err) < 0)
		goto done;
	log_new(stream, registered);
	if (store_acknowledged(db, g, err) < 0)
		goto done;
	if (!judge(t, g, registered, own)) {
		log_obstacle(t, stream, PQntuples(registered) > 0 ? LOG_WARN : LOG_INFO);
		rc = 0;
		goto done;
	}
	t->logged[0] = '\0';
	/* Durable: how far each group has acknowledged.  A restart trims later; should Redis lose
	 * the stream, it is filled again from there. */
	if (FAILPOINT_ERR("relay.before_trim", err) < 0)
		goto done;
	rc = trim_stream(t, stream, g, own, ret_removed, err);
done:
	PQclear(registered);
	return rc;
}

int trim_run(struct trim *t, struct db *db, struct stream *stream, struct stream_id own,
    int64_t *ret_removed, struct err *err)
{
	struct groups g = {NULL, NULL, 0};
	const struct group *nameless;
	int rc = -1;

	*ret_removed = 0;
	t->is_done = false;
	if (read_groups(t, stream, own, &g, err) < 0)
		goto done;
	nameless = unstorable(&g);
	if (nameless) {
		snprintf(t->obstacle, sizeof(t->obstacle), "a group's name is not valid UTF-8");
		log_obstacle(t, stream, LOG_WARN);
		rc = 0;
		goto done;
	}
	rc = trim_groups(t, db, stream, &g, own, ret_removed, err);
done:
	groups_done(&g);
	return rc < 0 ? err_wrap(err, "trim") : 0;
}
