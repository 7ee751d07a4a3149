/*
 * redis_url.h - the parts of a Redis URL, percent-decoded.  Internal to redis.c.
 */
#ifndef UMAVEZ_REDIS_URL_H
#define UMAVEZ_REDIS_URL_H

#include "common/err.h"

struct redis_url {
	char *host; /* NULL: path is set */
	int port;
	char *path;
	char *user;     /* NULL: none */
	char *password; /* NULL: none */
	int db;
};

/* The forms that redis_url_check() names; anything else is ERR_USAGE, and the message quotes
 * nothing of it.  Free with redis_url_done(), also after a failure. */
int redis_url_parse(const char *text, struct redis_url *ret_url, struct err *err) warn_unused;
void redis_url_done(struct redis_url *url);

#endif
