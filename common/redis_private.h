/*
 * redis_private.h - one Redis connection from within: redis_open.c makes it, redis_sentinel.c and
 * redis_cluster.c say with whom, redis.c works on it.
 */
#ifndef UMAVEZ_REDIS_PRIVATE_H
#define UMAVEZ_REDIS_PRIVATE_H

#include "common/redis.h"
#include "common/redis_url.h"

/*
 * hiredis parses and formats; waiting is done here, on a non-blocking descriptor.  So one deadline
 * covers a whole command, a connect timeout is no command timeout, and a peer that stops in the
 * middle of a reply is noticed.
 */
struct redis {
	redisContext *context;
	int64_t timeout_ms;
	int64_t deadline_us; /* of the command in flight */
	bool opening;        /* all that redis_open() does shares one deadline */
	bool sentinel;       /* it has users of its own */
	bool broken;
	char error[64]; /* the last command's error reply, as far as it goes; "": there was none */
	/* between redis_eval_send() and redis_eval_receive() */
	char *eval;
	size_t eval_len;
	const struct redis_script *eval_script;

	struct redis_address at;   /* with whom */
	struct redis_url *cluster; /* NULL: there is none */
	struct redis *other;       /* the node that the last ASK named; NULL: none yet */
	bool multi;                /* what is sent now is only queued */
};

/* Starts the deadline of a command (extra_ms as of redis_argv()), and forgets the last one's error.
 */
void redis_begin(struct redis *r, int64_t extra_ms);

/* 1: ready, or failed in a way that the next read or write will report; 0: deadline passed. */
int redis_await(const struct redis *r, short events, int64_t deadline_us);

/* ERR_RETRY, and the connection is broken. Returns -1. */
int redis_fail(struct redis *r, struct err *err, const char *doing, const char *why);

/* One command, its deadline as it stands; the reply may be an error. */
int redis_exchange(struct redis *r, const char *command, size_t len, redisReply **ret_reply,
    struct err *err) warn_unused;

/* All that is done to open one connection. */
struct redis_opening {
	const struct redis_url *url;
	int64_t timeout_ms;  /* of the commands that come later */
	int64_t deadline_us; /* of the attempt that is made now */
};

/* Connected and logged in; still opening. */
int redis_dial(const struct redis_opening *o, const struct redis_address *to,
    const struct redis_login *as, struct redis **ret_redis, struct err *err) warn_unused;

/* One attempt by way of one of several addresses.  ctx: of redis_open_by_turns(). */
typedef int redis_attempt_fn(const struct redis_opening *o, const struct redis_address *by,
    const void *ctx, struct redis **ret_redis, struct err *err);

/* The first attempt that succeeds; each has its share of the time.  The error then says of each
 * what was wrong. */
int redis_open_by_turns(const struct redis_opening *o, const struct redis_address *all, size_t n,
    redis_attempt_fn *attempt, const void *ctx, struct redis **ret_redis,
    struct err *err) warn_unused;

/* Some node of the cluster, which need not be a master. */
int redis_cluster_open(
    const struct redis_opening *o, struct redis **ret_redis, struct err *err) warn_unused;

/*
 * If *reply says ASK: put the command to the node that it names, once, and what that answers in the
 * place of *reply.  A command of a transaction is not, since it would take effect there at once.
 */
int redis_cluster_ask(struct redis *r, const char *command, size_t len, redisReply **reply,
    struct err *err) warn_unused;

/* The ROLE.  NULL without an error: the user may not ask.  Free it with freeReplyObject(). */
int redis_role(struct redis *r, redisReply **ret_role, struct err *err) warn_unused;

/* Where the master of that name is.  ERR_RETRY, and broken, if the sentinel does not know the name.
 * Free *ret_master with redis_address_done(). */
int redis_sentinel_ask(struct redis *sentinel, const char *name, struct redis_address *ret_master,
    struct err *err) warn_unused;

#endif
