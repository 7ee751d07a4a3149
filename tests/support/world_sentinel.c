#include "tests/support/die.h"
#include "tests/support/sentinels.h"
#include "tests/support/text.h"
#include "tests/support/world_private.h"

#include <stdlib.h>

#define SETTLE_MS 60000

void world_redis_add_replica(struct world *w)
{
	char *dir = text_format("%s/redis2", w->dir), *log = text_format("%s/redis2.log", w->dir);
	char *watch = text_format("%s/sentinels", w->dir);
	int port = redis_server_listen(w->redis);

	w->redis_replica = redis_server_new(dir, log);
	redis_server_start(w->redis_replica, false);
	redis_server_listen(w->redis_replica);
	redis_server_replicate(w->redis_replica, port);
	w->sentinels = sentinels_new(watch, port);
	if (!sentinels_await(w->sentinels, port, SETTLE_MS))
		die("the sentinels do not come to rest");
	for (int i = 0; i < ROLE_COUNT; i++) {
		free(w->redis_urls[i]);
		w->redis_urls[i] = sentinels_url(w->sentinels, world_redis_users[i]);
	}
	free(dir);
	free(log);
	free(watch);
}

int world_redis_port(const struct world *w)
{
	return redis_server_port(w->redis);
}

int world_redis_replica_port(const struct world *w)
{
	return redis_server_port(w->redis_replica);
}

struct sentinels *world_sentinels(const struct world *w)
{
	return w->sentinels;
}

void world_redis_lag(struct world *w)
{
	redis_server_lag(w->redis_replica, w->redis);
}

void world_redis_failover(struct world *w)
{
	struct redis_server *dead = w->redis;
	int port = redis_server_port(w->redis_replica);

	redis_server_stop(dead, false);
	redis_server_go_on(w->redis_replica);
	if (!sentinels_await_master(w->sentinels, port, SETTLE_MS))
		die("the replica is not promoted");
	w->redis = w->redis_replica;
	w->redis_replica = dead;
	redis_server_start(dead, false);
	if (!sentinels_await(w->sentinels, port, SETTLE_MS))
		die("the old master does not become a replica");
}
