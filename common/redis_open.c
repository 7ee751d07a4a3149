#include "common/memory.h"
#include "common/redis.h"
#include "common/redis_private.h"
#include "common/redis_url.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

static int connect_socket(struct redis *r, const struct redis_url *url, struct err *err)
{
	int error = 0;
	socklen_t len = sizeof(error);

	r->context = url->path ? redisConnectUnixNonBlock(url->path)
			       : redisConnectNonBlock(url->host, url->port);
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
	if (url->host && redisEnableKeepAlive(r->context) != REDIS_OK)
		return redis_fail(r, err, "connect", r->context->errstr);
	return 0;
}

static int authenticate(struct redis *r, const struct redis_url *url, struct err *err)
{
	if (url->user)
		return redis_command(r, NULL, err, "AUTH %s %s", url->user, url->password);
	if (url->password)
		return redis_command(r, NULL, err, "AUTH %s", url->password);
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

int redis_open(const char *url, int64_t timeout_ms, struct redis **ret_redis, struct err *err)
{
	struct redis *r = mem_zalloc(1, sizeof(*r));
	struct redis_url parts;
	int rc = -1;

	r->timeout_ms = timeout_ms;
	redis_begin(r, 0);
	r->opening = true;
	if (redis_url_parse(url, &parts, err) < 0)
		goto done;
	if (connect_socket(r, &parts, err) < 0 || authenticate(r, &parts, err) < 0 ||
	    select_db(r, parts.db, err) < 0 || redis_check_master(r, err) < 0)
		goto done;
	r->opening = false;
	*ret_redis = r;
	r = NULL; /* the caller's now */
	rc = 0;
done:
	redis_url_done(&parts);
	redis_close(r);
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
