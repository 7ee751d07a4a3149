#include "tests/support/die.h"
#include "tests/support/proxy.h"
#include "tests/support/text.h"
#include "tests/support/world_private.h"

#include <stdlib.h>

static struct proxy *keep(struct world *w, struct proxy *p)
{
	if (w->n_proxies == WORLD_MAX_PROXIES)
		die("too many proxies in one world");
	w->proxies[w->n_proxies++] = p;
	return p;
}

struct proxy *world_pg_proxy(struct world *w)
{
	char *socket = pg_server_socket(w->pg);
	struct proxy *p = keep(w, proxy_open(PROXY_POSTGRES, socket));

	free(socket);
	return p;
}

struct proxy *world_redis_proxy(struct world *w)
{
	return keep(w, proxy_open(PROXY_REDIS, redis_server_socket(w->redis)));
}

void world_via(struct world *w, struct proxy *pg, struct proxy *redis)
{
	w->pg_proxy = pg;
	w->redis_proxy = redis;
}

static char *url_via(const struct proxy *p, const char *url)
{
	return p != NULL ? proxy_url(p, url) : text_format("%s", url);
}

char *world_pg_url_via(const struct world *w, enum world_role role)
{
	return url_via(w->pg_proxy, w->urls[role]);
}

char *world_redis_url_via(const struct world *w, enum world_role role)
{
	return url_via(w->redis_proxy, w->redis_urls[role]);
}

void world_proxies_follow(struct world *w)
{
	char *socket = pg_server_socket(w->pg);

	for (int i = 0; i < w->n_proxies; i++)
		if (proxy_protocol(w->proxies[i]) == PROXY_POSTGRES)
			proxy_set_server(w->proxies[i], socket);
	free(socket);
}

void world_proxies_close(struct world *w)
{
	for (int i = 0; i < w->n_proxies; i++)
		proxy_close(w->proxies[i]);
	w->n_proxies = 0;
}
