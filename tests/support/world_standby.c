#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/text.h"
#include "tests/support/world_private.h"

#include <stdlib.h>
#include <string.h>

#define ATTACH_MS 60000

/* It streams, and commits wait for it. */
static void await_standby(struct world *w)
{
	if (!world_await_int(w, 1, ATTACH_MS,
		"SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'"))
		die("the standby does not come up");
}

static void start_standby(struct world *w, const char *name)
{
	char *dir = text_format("%s/%s", w->dir, name),
	     *log = text_format("%s/%s.log", w->dir, name);

	w->pg_standby = pg_server_new_standby(w->pg, dir, log);
	pg_server_start(w->pg_standby);
	await_standby(w);
	free(dir);
	free(log);
}

/* ALTER SYSTEM is not for several statements at once.  A base backup copies the settings. */
void world_pg_add_standby(struct world *w)
{
	world_sql(w, "ALTER SYSTEM SET wal_keep_size = '256MB'");
	world_sql(w, "ALTER SYSTEM SET wal_retrieve_retry_interval = '100ms'");
	world_sql(w, "ALTER SYSTEM SET synchronous_standby_names = 'walreceiver'");
	world_sql(w, "SELECT pg_reload_conf()");
	start_standby(w, "pg2");
	world_sql_reset(w);
	for (int i = 0; i < ROLE_COUNT; i++) {
		free(w->urls[i]);
		w->urls[i] = pg_server_pair_url(w->pg, w->pg_standby, world_role_names[i]);
	}
}

void world_pg_part_standby(struct world *w)
{
	world_sql(w, "ALTER SYSTEM SET synchronous_standby_names = ''");
	world_sql(w, "SELECT pg_reload_conf()");
	pg_server_stop_following(w->pg_standby);
	if (!world_await_int(w, 0, ATTACH_MS, "SELECT count(*) FROM pg_stat_replication"))
		die("the standby does not let go");
}

void world_pg_failover(struct world *w)
{
	struct pg_server *dead = w->pg;
	char *name;

	world_pg_stop(w, "immediate");
	pg_server_promote(w->pg_standby);
	w->pg = w->pg_standby;
	w->pg_standby = NULL;
	world_proxies_follow(w);
	name = text_format("%s", strrchr(pg_server_dir(dead), '/') + 1);
	tree_remove(pg_server_dir(dead));
	pg_server_free(dead);
	start_standby(w, name);
	free(name);
}
