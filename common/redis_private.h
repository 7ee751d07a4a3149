/*
 * redis_private.h - one Redis connection from within: redis_open.c makes it, redis_sentinel.c says
 * with whom, redis.c works on it.
 */
#ifndef UMAVEZ_REDIS_PRIVATE_H
#define UMAVEZ_REDIS_PRIVATE_H

#include "common/redis.h"

struct redis_address;

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
};

/* Starts the deadline of a command (extra_ms as of redis_argv()), and forgets the last one's error.
 */
void redis_begin(struct redis *r, int64_t extra_ms);

/* 1: ready, or failed in a way that the next read or write will report; 0: deadline passed. */
int redis_await(const struct redis *r, short events, int64_t deadline_us);

/* ERR_RETRY, and the connection is broken. Returns -1. */
int redis_fail(struct redis *r, struct err *err, const char *doing, const char *why);

/* Where the master of that name is.  ERR_RETRY, and broken, if the sentinel does not know the name.
 * Free *ret_master with redis_address_done(). */
int redis_sentinel_ask(struct redis *sentinel, const char *name, struct redis_address *ret_master,
    struct err *err) warn_unused;

#endif
