#include "tests/support/cluster.h"
#include "tests/support/text.h"
#include "tests/support/world_private.h"

#include <stdlib.h>

struct cluster *world_redis_add_cluster(struct world *w)
{
	char *dir = text_format("%s/cluster", w->dir);

	w->cluster = cluster_new(dir);
	for (int i = 0; i < ROLE_COUNT; i++) {
		free(w->redis_urls[i]);
		w->redis_urls[i] = cluster_url(w->cluster, world_redis_users[i]);
	}
	free(dir);
	return w->cluster;
}
