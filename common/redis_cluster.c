#include "common/clock.h"
#include "common/memory.h"
#include "common/redis_private.h"
#include "common/redis_redirect.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Each node may know of one failover, or move, that the one before has not heard of yet. */
#define REDIRECTS_MAX 5

/* It answers, and has loaded its data. */
static int open_any(const struct redis_opening *o, const struct redis_address *node,
    const void *ctx, struct redis **ret_redis, struct err *err)
{
	struct redis *r = NULL;
	redisReply *role;
	int rc = -1;

	(void)ctx;
	if (redis_dial(o, node, &o->url->login, &r, err) < 0 || redis_role(r, &role, err) < 0)
		goto done;
	freeReplyObject(role);
	r->opening = false;
	*ret_redis = r;
	r = NULL; /* the caller's now */
	rc = 0;
done:
	if (rc < 0)
		err_wrap(err, "node %s:%d", node->host, node->port);
	redis_close(r);
	return rc;
}

int redis_cluster_open(const struct redis_opening *o, struct redis **ret_redis, struct err *err)
{
	return redis_open_by_turns(
	    o, o->url->nodes, o->url->n_nodes, open_any, NULL, ret_redis, err);
}

static bool is_redirect(const redisReply *reply, struct redis_redirect *ret_to)
{
	return reply->type == REDIS_REPLY_ERROR &&
	       redis_redirect_parse(reply->str, reply->len, ret_to);
}

/*
 * Whether the slot of the key is served here, by the word of the node itself: else *ret_to says
 * where.  A replica serves none; a node that is about to give the slot away does.
 */
static int is_served(struct redis *r, const char *key, bool *ret_here,
    struct redis_redirect *ret_to, struct err *err)
{
	redisReply *reply = NULL;
	char *command = NULL;
	int len = redisFormatCommand(&command, "EXISTS %s", key), rc = -1;

	assert(len > 0);
	redis_begin(r, 0);
	if (redis_exchange(r, command, (size_t)len, &reply, err) < 0)
		goto done;
	*ret_here = true;
	if (is_redirect(reply, ret_to))
		*ret_here = ret_to->kind == REDIRECT_ASK;
	else if (reply->type == REDIS_REPLY_ERROR) {
		redis_error(r, reply, "EXISTS", err);
		goto done;
	}
	rc = 0;
done:
	freeReplyObject(reply);
	redisFreeCommand(command);
	return rc;
}

static struct redis_address address_of(const struct redis_redirect *to, const struct redis *from)
{
	return (struct redis_address){
	    .host = mem_strdup(*to->host ? to->host : from->at.host), .port = to->port};
}

/* Close *r, and open in its place whom it has named. */
static int go_on_to(const struct redis_opening *o, struct redis **r,
    const struct redis_redirect *to, struct err *err)
{
	struct redis_address there = address_of(to, *r);
	struct redis *next = NULL;
	int rc = redis_dial(o, &there, &o->url->login, &next, err);

	if (rc < 0) {
		err_wrap(err, "%s:%d", there.host, there.port);
	} else {
		redis_close(*r);
		*r = next;
	}
	redis_address_done(&there);
	return rc;
}

/* ctx: a key.  The node may name another one, which may do so too. */
static int open_owner(const struct redis_opening *o, const struct redis_address *node,
    const void *ctx, struct redis **ret_redis, struct err *err)
{
	struct redis_redirect to;
	struct redis *r = NULL;
	bool here = false;
	int rc = -1;

	if (redis_dial(o, node, &o->url->login, &r, err) < 0)
		goto done;
	for (int i = 0; !here; i++) {
		if (is_served(r, ctx, &here, &to, err) < 0)
			goto done;
		if (!here && i == REDIRECTS_MAX) {
			redis_fail(r, err, "EXISTS", "each node names another one");
			goto done;
		}
		if (!here && go_on_to(o, &r, &to, err) < 0)
			goto done;
	}
	if (redis_check_master(r, err) < 0)
		goto done;
	r->opening = false;
	*ret_redis = r;
	r = NULL; /* the caller's now */
	rc = 0;
done:
	if (rc < 0)
		err_wrap(err, "node %s:%d", node->host, node->port);
	redis_close(r);
	return rc;
}

/* What r was goes with there. */
static void replace(struct redis *r, struct redis *there)
{
	struct redis was = *r;

	*r = *there;
	r->cluster = was.cluster;
	was.cluster = NULL;
	*there = was;
	redis_close(there);
}

int redis_turn_to(struct redis *r, const char *key, struct err *err)
{
	struct redis_opening o = {r->cluster, r->timeout_ms, 0};
	struct err ignored = ERR_INIT;
	struct redis *there = NULL;
	struct redis_redirect to;
	bool here;

	if (!r->cluster)
		return 0;
	if (!r->broken && is_served(r, key, &here, &to, &ignored) == 0 && here)
		return 0;
	o.deadline_us = clock_mono_us() + r->timeout_ms * 1000;
	if (redis_open_by_turns(
		&o, r->cluster->nodes, r->cluster->n_nodes, open_owner, key, &there, err) < 0) {
		r->broken = true;
		return -1;
	}
	replace(r, there);
	return 0;
}

bool redis_in_cluster(const struct redis *r)
{
	return r->cluster != NULL;
}

/* r->other, at the node that was named; within the deadline of the command. */
static int open_other(struct redis *r, const struct redis_redirect *to, struct err *err)
{
	struct redis_opening o = {r->cluster, r->timeout_ms, r->deadline_us};
	struct redis_address there = address_of(to, r);
	bool open = r->other && !r->other->broken && r->other->at.port == there.port &&
		    strcmp(r->other->at.host, there.host) == 0;
	int rc = 0;

	if (!open) {
		redis_close(r->other);
		r->other = NULL;
		rc = redis_dial(&o, &there, &r->cluster->login, &r->other, err);
	}
	if (rc == 0) {
		r->other->opening = false;
		r->other->deadline_us = r->deadline_us;
	}
	redis_address_done(&there);
	return rc;
}

/* A node that is being given a slot serves it to those who say ASKING, each time. */
static int ask_other(
    struct redis *other, const char *command, size_t len, redisReply **ret_reply, struct err *err)
{
	static const char asking[] = "*1\r\n$6\r\nASKING\r\n";
	redisReply *reply = NULL;
	int rc = -1;

	if (redis_exchange(other, asking, sizeof(asking) - 1, &reply, err) < 0)
		goto done;
	if (reply->type == REDIS_REPLY_ERROR) {
		redis_error(other, reply, "ASKING", err);
		goto done;
	}
	rc = redis_exchange(other, command, len, ret_reply, err);
done:
	freeReplyObject(reply);
	return rc;
}

int redis_cluster_ask(
    struct redis *r, const char *command, size_t len, redisReply **reply, struct err *err)
{
	struct redis_redirect to;

	if (!r->cluster || r->multi || !is_redirect(*reply, &to) || to.kind != REDIRECT_ASK)
		return 0;
	freeReplyObject(*reply);
	*reply = NULL;
	if (open_other(r, &to, err) == 0 && ask_other(r->other, command, len, reply, err) == 0)
		return 0;
	r->broken = true;
	return err_wrap(err, "asked at %s:%d", *to.host ? to.host : r->at.host, to.port);
}
