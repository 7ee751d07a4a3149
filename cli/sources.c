#include "cli/sources.h"

#include "common/event.h"
#include "common/pg.h"
#include "common/redis.h"

#include <stdio.h>

enum { STATEMENT_MS = 60000, REDIS_MS = 5000 };

int sources_open_schema(
    const char *url, const char *command, const char *schema, PGconn **ret_conn, struct err *err)
{
	char name[64];
	const struct pg_session session = {
	    .application_name = name, .statement_timeout = STATEMENT_MS};
	PGconn *conn = NULL;
	int rc = -1;

	snprintf(name, sizeof(name), "umavez-%s", command);
	if (pg_connect(url, &session, &conn, err) < 0 || pg_check_schema(conn, schema, err) < 0)
		goto done;
	*ret_conn = conn;
	conn = NULL;
	rc = 0;
done:
	PQfinish(conn);
	return rc;
}

int sources_open_redis(const char *url, struct redis **ret_redis, struct err *err)
{
	if (!url)
		return err_set(err, ERR_USAGE, "no --redis-url (or REDIS_URL) is given");
	return redis_open(url, REDIS_MS, ret_redis, err);
}

int sources_open(const struct sources_options *options, const char *command,
    struct sources *ret_sources, struct err *err)
{
	const char *effects_url = options->effects_database_url;
	struct sources s = {.redis_err = ERR_INIT, .name_space = options->name_space};
	int rc = -1;

	if (!effects_url)
		effects_url = options->database_url;
	if (sources_open_schema(options->database_url, command, "intake", &s.intake, err) < 0 ||
	    sources_open_schema(effects_url, command, "effects", &s.effects, err) < 0)
		goto done;
	if (sources_open_redis(options->redis_url, &s.redis, &s.redis_err) < 0)
		s.redis = NULL;
	*ret_sources = s;
	s = (struct sources){0};
	rc = 0;
done:
	sources_close(&s);
	return rc;
}

void sources_close(struct sources *s)
{
	PQfinish(s->intake);
	PQfinish(s->effects);
	redis_close(s->redis);
}

int sources_stream(
    const struct sources *s, unsigned shard, char key[SOURCES_KEY_SIZE], struct err *err)
{
	event_key(key, SOURCES_KEY_SIZE, s->name_space, "purchases", shard);
	return redis_turn_to(s->redis, key, err);
}

void sources_lose_redis(struct sources *s, const struct err *why)
{
	s->redis_err = *why;
	if (redis_in_cluster(s->redis))
		return;
	redis_close(s->redis);
	s->redis = NULL;
}
