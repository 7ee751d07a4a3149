#include "tests/bench/fleet.h"

#include "tests/support/die.h"
#include "tests/support/text.h"
#include "tests/support/witness.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define PG_PORT 5432
#define REDIS_PORT 6379
#define READY_MS 60000
#define STOP_MS 30000

const char *const fleet_names[FLEET_SERVICES] = {"producer", "relay", "consumer"};
const char *const fleet_leases[FLEET_SERVICES] = {
    NULL, "intake.shard_lease", "effects.shard_lease"};

/* A counter of what each does. */
static const char *const work[FLEET_SERVICES] = {
    "umavez_notifications_total", "umavez_appended_total", "umavez_messages_total"};

/* Nobody else is in this network. */
static void open_servers(struct ground *g)
{
	char *hba = text_format("%s/pg/pg_hba.conf", world_dir(g->w));
	FILE *f = fopen(hba, "ae");

	if (f == NULL || fprintf(f, "host all all " NETNS_SUBNET " trust\n") < 0 || fclose(f) != 0)
		die("cannot write %s", hba);
	world_sql(g->w, "ALTER SYSTEM SET listen_addresses = '" NETNS_HUB "'");
	world_sql(g->w, "ALTER SYSTEM SET port = %d", PG_PORT);
	ground_restart_postgres(g);
	freeReplyObject(ground_redis(g, "CONFIG SET protected-mode no"));
	freeReplyObject(ground_redis(g, "CONFIG SET bind %s port %d", NETNS_HUB, REDIS_PORT));
	free(hba);
}

void fleet_open(struct fleet *f, struct ground *g)
{
	*f = (struct fleet){.g = g};
	open_servers(g);
	for (int s = 0; s < FLEET_SERVICES; s++)
		for (int i = 0; i < FLEET_MAX; i++)
			netns_add(1 + s * FLEET_MAX + i, &f->places[s][i]);
}

static struct proc *launch(struct fleet *f, enum fleet_service service)
{
	static const char *const roles[FLEET_SERVICES] = {"w_producer", "w_relay", "w_consumer"};
	static const char *const users[FLEET_SERVICES] = {NULL, "umavez_relay", "umavez_consumer"};
	char *database =
	    text_format("postgresql://%s@" NETNS_HUB ":%d/postgres", roles[service], PG_PORT);
	char *redis = text_format(
	    "redis://%s:%s@" NETNS_HUB ":%d", users[service], users[service], REDIS_PORT);
	const char *const producer[] = {"--database-url", database, NULL};
	const char *const relay[] = {
	    "--database-url", database, "--redis-url", redis, "--lease", "5s", NULL};
	const char *const consumer[] = {"--database-url", database, "--redis-url", redis, "--lease",
	    "5s", "--handler", WITNESS_HANDLER, NULL};
	struct proc *p;

	if (service == FLEET_PRODUCERS)
		p = world_producer(f->g->w, producer, NULL);
	else if (service == FLEET_RELAYS)
		p = world_relay(f->g->w, relay, NULL);
	else
		p = world_consumer(f->g->w, consumer, NULL);
	free(database);
	free(redis);
	return p;
}

static void start(struct fleet *f, enum fleet_service service, int i)
{
	const struct netns *place = &f->places[service][i];

	world_wrap(f->g->w, place->wrapper);
	world_listen_on(f->g->w, place->address);
	f->all[service][i] = launch(f, service);
}

void fleet_await_shares(struct fleet *f)
{
	for (int s = 0; s < FLEET_SERVICES; s++) {
		for (int i = 0; i < f->n; i++)
			if (!proc_await_ready(f->all[s][i], READY_MS))
				die("%s %d is not ready", fleet_names[s], i + 1);
		if (fleet_leases[s] != NULL &&
		    !world_await_int(f->g->w, f->n, READY_MS,
			"SELECT count(*) FILTER (WHERE n = %d / %d) FROM (SELECT count(*) AS n"
			" FROM %s WHERE expires_at > now() GROUP BY holder) AS h",
			GROUND_SHARDS, f->n, fleet_leases[s]))
			die("the shards are not shared evenly");
	}
}

void fleet_start(struct fleet *f, int n)
{
	f->n = n;
	for (int s = 0; s < FLEET_SERVICES; s++)
		for (int i = 0; i < n; i++)
			start(f, (enum fleet_service)s, i);
	fleet_await_shares(f);
}

void fleet_stop(struct fleet *f)
{
	for (int s = 0; s < FLEET_SERVICES; s++)
		for (int i = 0; i < f->n; i++)
			proc_kill(f->all[s][i], SIGTERM);
	for (int s = 0; s < FLEET_SERVICES; s++)
		for (int i = 0; i < f->n; i++)
			if (proc_wait(f->all[s][i], STOP_MS) != 0)
				die("%s: it did not stop", proc_log(f->all[s][i]));
}

void fleet_urls(const struct fleet *f, const char *ret_urls[FLEET_MAX + 1])
{
	for (int i = 0; i < f->n; i++)
		ret_urls[i] = proc_url(f->all[FLEET_PRODUCERS][i]);
	ret_urls[f->n] = NULL;
}

/* A holder is host:pid:nonce. */
char *fleet_shards(struct fleet *f, enum fleet_service service, int i)
{
	if (fleet_leases[service] == NULL)
		return text_format("-");
	return world_text(f->g->w,
	    "SELECT coalesce(string_agg(shard::text, ', ' ORDER BY shard), '') FROM %s"
	    " WHERE holder LIKE '%%:%d:%%' AND expires_at > now()",
	    fleet_leases[service], (int)proc_pid(f->all[service][i]));
}

double fleet_work(const struct fleet *f, enum fleet_service service, int i)
{
	return ground_metric(f->all[service][i], work[service]);
}
