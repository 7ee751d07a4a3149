/*
 * redis_redirect.h - the error by which a node of a Redis Cluster names another one.  Internal to
 * redis_*.c.
 *
 *   MOVED 3999 10.0.0.2:6379   the slot is served there
 *   ASK 3999 10.0.0.2:6379     the slot is on its way there, and this key is not here any more
 *
 * https://redis.io/docs/reference/cluster-spec/ ("Redirection and resharding")
 */
#ifndef UMAVEZ_REDIS_REDIRECT_H
#define UMAVEZ_REDIS_REDIRECT_H

#include <stdbool.h>
#include <stddef.h>

enum redis_redirect_kind { REDIRECT_MOVED, REDIRECT_ASK };

struct redis_redirect {
	enum redis_redirect_kind kind;
	char host[256]; /* a name, or an address without brackets; "": the host that was asked */
	int port;
};

/* False: the text of this error is of another kind, or not of the form. */
bool redis_redirect_parse(const char *text, size_t len, struct redis_redirect *ret_redirect);

#endif
