#include "common/clock.h"
#include "common/memory.h"
#include "common/redis.h"
#include "common/redis_private.h"
#include "common/redis_url.h"

#include <errno.h>
#include <poll.h>
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

int redis_check_master(struct redis *r, struct err *err)
{
	struct err cause = ERR_INIT;
	redisReply *role = NULL;

	if (redis_command(r, &role, &cause, "ROLE") < 0) {
		/* A user that may not ask learns it from READONLY, at the first write. */
		if (redis_failed_with(r, "NOPERM"))
			return 0;
		*err = cause;
		return -1;
	}
	bool master = is_master(role);
	freeReplyObject(role);
	return master ? 0 : redis_fail(r, err, "ROLE", "not a master");
}

/* All that is done to open one connection. */
struct opening {
	struct redis_url url;
	int64_t timeout_ms;  /* of the commands that come later */
	int64_t deadline_us; /* of the attempt that is made now */
};

static int dial(const struct opening *o, const struct redis_address *to,
    const struct redis_login *as, struct redis **ret_redis, struct err *err)
{
	struct redis *r = mem_zalloc(1, sizeof(*r));
	int rc = -1;

	r->timeout_ms = o->timeout_ms;
	r->deadline_us = o->deadline_us;
	r->opening = true;
	r->sentinel = as == &o->url.sentinel_login;
	if (connect_socket(r, to, err) < 0 || authenticate(r, as, err) < 0)
		goto done;
	*ret_redis = r;
	r = NULL; /* the caller's now */
	rc = 0;
done:
	redis_close(r);
	return rc;
}

static int open_master(const struct opening *o, const struct redis_address *at,
    struct redis **ret_redis, struct err *err)
{
	struct redis *r = NULL;
	int rc = -1;

	if (dial(o, at, &o->url.login, &r, err) < 0 || select_db(r, o->url.db, err) < 0 ||
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

static int open_through(const struct opening *o, const struct redis_address *sentinel,
    struct redis **ret_redis, struct err *err)
{
	struct redis_address master = {.host = NULL};
	struct redis *asked = NULL;
	int rc = -1;

	if (dial(o, sentinel, &o->url.sentinel_login, &asked, err) < 0 ||
	    redis_sentinel_ask(asked, o->url.master, &master, err) < 0)
		goto done;
	rc = open_master(o, &master, ret_redis, err);
	if (rc < 0)
		err_wrap(err, "%s at %s:%d", o->url.master, master.host, master.port);
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
static int open_named(struct opening *o, struct redis **ret_redis, struct err *err)
{
	int64_t end_us = o->deadline_us, left = (int64_t)o->url.n_sentinels;
	char *why_not = NULL;
	int rc = -1;

	for (size_t i = 0; rc < 0 && i < o->url.n_sentinels; i++, left--) {
		int64_t now_us = clock_mono_us();
		struct err one = ERR_INIT;

		o->deadline_us = now_us + (end_us - now_us) / left;
		rc = open_through(o, &o->url.sentinels[i], ret_redis, &one);
		if (rc < 0)
			why_not = join(why_not, one.message);
	}
	if (rc < 0)
		err_set(err, ERR_RETRY, "%s", why_not);
	free(why_not);
	return rc;
}

int redis_open(const char *url, int64_t timeout_ms, struct redis **ret_redis, struct err *err)
{
	struct opening o = {
	    .timeout_ms = timeout_ms, .deadline_us = clock_mono_us() + timeout_ms * 1000};
	int rc = redis_url_parse(url, &o.url, err);

	if (rc == 0)
		rc = o.url.master ? open_named(&o, ret_redis, err)
				  : open_master(&o, &o.url.server, ret_redis, err);
	redis_url_done(&o.url);
	return rc;
}

void redis_close(struct redis *r)
{
	if (!r)
		return;
	if (r->context)
		redisFree(r->context);
	if (r->eval)
		redisFreeCommand(r->eval);
	free(r);
}
