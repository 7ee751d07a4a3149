/*
 * redis_url.h - the parts of a Redis URL, percent-decoded.  Internal to redis_*.c.
 */
#ifndef UMAVEZ_REDIS_URL_H
#define UMAVEZ_REDIS_URL_H

#include "common/err.h"

#include <stdbool.h>
#include <stddef.h>

struct redis_address {
	char *host; /* NULL: path is set */
	int port;
	char *path;
};

struct redis_login {
	char *user;     /* NULL: none */
	char *password; /* NULL: none */
};

struct redis_url {
	struct redis_address server; /* empty if sentinels or nodes are to tell where it is */
	struct redis_login login;    /* at the server, whoever named it */
	int db;

	char *master; /* what the sentinels call the server; NULL: there are none */
	size_t n_sentinels;
	struct redis_address *sentinels; /* with a host each */
	struct redis_login sentinel_login;

	size_t n_nodes; /* of a cluster; 0: it is none */
	struct redis_address *nodes;
};

/* The forms that redis_url_check() names; anything else is ERR_USAGE, and the message quotes
 * nothing of it.  Free with redis_url_done(), also after a failure. */
int redis_url_parse(const char *text, struct redis_url *ret_url, struct err *err) warn_unused;
void redis_url_done(struct redis_url *url);

void redis_address_done(struct redis_address *address);

/* 1 to 65535, in digits. */
bool redis_port_parse(const char *text, size_t len, int *ret_port);

#endif
