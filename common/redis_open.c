#include "common/clock.h"
#include "common/memory.h"
#include "common/redis.h"
#include "common/redis_private.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int connect_socket(struct redis *r, const struct redis_address *to, struct err *err)
{
	int error = 0;
	socklen_t len = sizeof(error);

	r->context = to->path ? redisConnectUnixNonBlock(to->path)
			      : redisConnectNonBlock(to->host, to->port);
	if (!r->context)
		return redis_fail(r, err, "connect", "out of memory");
	if (r->context->err)
		return redis_fail(r, err, "connect", r->context->errstr);
	if (!redis_await(r, POLLOUT, r->deadline_us))
		return redis_fail(r, err, "connect", "timed out");
	if (getsockopt(r->context->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error)
		return redis_fail(r, err, "connect", strerror(error));
	if (to->host && redisEnableKeepAlive(r->context) != REDIS_OK)
		return redis_fail(r, err, "connect", r->context->errstr);
	return 0;
}

static int authenticate(struct redis *r, const struct redis_login *as, struct err *err)
{
	if (as->user)
		return redis_command(r, NULL, err, "AUTH %s %s", as->user, as->password);
	if (as->password)
		return redis_command(r, NULL, err, "AUTH %s", as->password);
	return 0;
}

static int select_db(struct redis *r, int db, struct err *err)
{
	return db ? redis_command(r, NULL, err, "SELECT %d", db) : 0;
}

static bool is_master(const redisReply *role)
{
	const char *name = role->type == REDIS_REPLY_ARRAY && role->elements > 0
			       ? redis_text(role->element[0])
			       : NULL;

	return name && strcmp(name, "master") == 0;
}

int redis_role(struct redis *r, redisReply **ret_role, struct err *err)
{
	struct err cause = ERR_INIT;

	*ret_role = NULL;
	if (redis_command(r, ret_role, &cause, "ROLE") == 0 || redis_failed_with(r, "NOPERM"))
		return 0;
	*err = cause;
	return -1;
}

int redis_check_master(struct redis *r, struct err *err)
{
	redisReply *role;
	bool master;

	if (redis_role(r, &role, err) < 0)
		return -1;
	/* A user that may not ask learns it from READONLY, at the first write. */
	master = !role || is_master(role);
	freeReplyObject(role);
	return master ? 0 : redis_fail(r, err, "ROLE", "not a master");
}

static struct redis_address copy_address(const struct redis_address *a)
{
	return (struct redis_address){
	    .host = mem_strdup(a->host), .port = a->port, .path = mem_strdup(a->path)};
}

int redis_dial(const struct redis_opening *o, const struct redis_address *to,
    const struct redis_login *as, struct redis **ret_redis, struct err *err)
{
	struct redis *r = mem_zalloc(1, sizeof(*r));
	int rc = -1;

	r->timeout_ms = o->timeout_ms;
	r->deadline_us = o->deadline_us;
	r->opening = true;
	r->sentinel = as == &o->url->sentinel_login;
	r->at = copy_address(to);
	if (connect_socket(r, to, err) < 0 || authenticate(r, as, err) < 0)
		goto done;
	*ret_redis = r;
	r = NULL; /* the caller's now */
	rc = 0;
done:
	redis_close(r);
	return rc;
}

static int open_master(const struct redis_opening *o, const struct redis_address *at,
    struct redis **ret_redis, struct err *err)
{
	struct redis *r = NULL;
	int rc = -1;

	if (redis_dial(o, at, &o->url->login, &r, err) < 0 || select_db(r, o->url->db, err) < 0 ||
	    redis_check_master(r, err) < 0)
		goto done;
	r->opening = false;
	*ret_redis = r;
	r = NULL; /* the caller's now */
	rc = 0;
done:
	redis_close(r);
	return rc;
}

/* ctx: the master's name. */
static int open_through(const struct redis_opening *o, const struct redis_address *sentinel,
    const void *ctx, struct redis **ret_redis, struct err *err)
{
	struct redis_address master = {.host = NULL};
	struct redis *asked = NULL;
	const char *name = ctx;
	int rc = -1;

	if (redis_dial(o, sentinel, &o->url->sentinel_login, &asked, err) < 0 ||
	    redis_sentinel_ask(asked, name, &master, err) < 0)
		goto done;
	rc = open_master(o, &master, ret_redis, err);
	if (rc < 0)
		err_wrap(err, "%s at %s:%d", name, master.host, master.port);
done:
	if (rc < 0)
		err_wrap(err, "sentinel %s:%d", sentinel->host, sentinel->port);
	redis_address_done(&master);
	redis_close(asked);
	return rc;
}

/* Takes text over. */
static char *join(char *text, const char *more)
{
	char *joined = text ? mem_printf("%s; %s", text, more) : mem_strdup(more);

	free(text);
	return joined;
}

/* One of them may be silent, or behind the others and name a server that was the master. */
int redis_open_by_turns(const struct redis_opening *o, const struct redis_address *all, size_t n,
    redis_attempt_fn *attempt, const void *ctx, struct redis **ret_redis, struct err *err)
{
	struct redis_opening part = *o;
	int64_t left = (int64_t)n;
	char *why_not = NULL;
	int rc = -1;

	for (size_t i = 0; rc < 0 && i < n; i++, left--) {
		int64_t now_us = clock_mono_us();
		struct err one = ERR_INIT;

		part.deadline_us = now_us + (o->deadline_us - now_us) / left;
		rc = attempt(&part, &all[i], ctx, ret_redis, &one);
		if (rc < 0)
			why_not = join(why_not, one.message);
	}
	if (rc < 0)
		err_set(err, ERR_RETRY, "%s", why_not);
	free(why_not);
	return rc;
}

static int open_server(const struct redis_opening *o, struct redis **ret_redis, struct err *err)
{
	const struct redis_address *at = &o->url->server;

	if (open_master(o, at, ret_redis, err) == 0)
		return 0;
	if (at->host)
		return err_wrap(err, "server %s:%d", at->host, at->port);
	return err_wrap(err, "server %s", at->path);
}

static int open_url(const struct redis_opening *o, struct redis **ret_redis, struct err *err)
{
	const struct redis_url *url = o->url;

	if (url->master)
		return redis_open_by_turns(
		    o, url->sentinels, url->n_sentinels, open_through, url->master, ret_redis, err);
	if (url->n_nodes > 0)
		return redis_cluster_open(o, ret_redis, err);
	return open_server(o, ret_redis, err);
}

static void free_url(struct redis_url *url)
{
	if (!url)
		return;
	redis_url_done(url);
	free(url);
}

int redis_open(const char *url, int64_t timeout_ms, struct redis **ret_redis, struct err *err)
{
	struct redis_url *parts = mem_zalloc(1, sizeof(*parts));
	struct redis_opening o = {
	    parts, timeout_ms, .deadline_us = clock_mono_us() + timeout_ms * 1000};
	struct redis *r = NULL;
	int rc = -1;

	if (redis_url_parse(url, parts, err) < 0 || open_url(&o, &r, err) < 0)
		goto done;
	if (parts->n_nodes > 0) {
		r->cluster = parts;
		parts = NULL; /* the connection's now */
	}
	*ret_redis = r;
	rc = 0;
done:
	free_url(parts);
	return rc;
}

const char *redis_name(const struct redis *r, char buf[REDIS_NAME_SIZE])
{
	if (r->at.host)
		snprintf(buf, REDIS_NAME_SIZE, "%s:%d", r->at.host, r->at.port);
	else
		snprintf(buf, REDIS_NAME_SIZE, "%s", r->at.path);
	return buf;
}

void redis_close(struct redis *r)
{
	if (!r)
		return;
	redis_close(r->other);
	if (r->context)
		redisFree(r->context);
	if (r->eval)
		redisFreeCommand(r->eval);
	redis_address_done(&r->at);
	free_url(r->cluster);
	free(r);
}
