#include "tests/chaos/faults.h"
#include "tests/chaos/scene.h"
#include "tests/crash/streams.h"
#include "tests/support/die.h"
#include "tests/support/text.h"

#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>

#define COPIES 3
#define MAX_THEFT_MS 3000
#define MAX_REFUSAL_MS 5000

void fault_pg_crash(struct scene *s, const struct step *step)
{
	world_pg_stop(s->stack.world, step->detail % 4 ? "immediate" : "fast");
	s->counts.failovers++;
}

void fault_pg_start(struct scene *s, const struct step *step)
{
	(void)step;
	world_pg_start(s->stack.world);
}

void fault_pg_failover(struct scene *s, const struct step *step)
{
	(void)step;
	world_pg_failover(s->stack.world);
	s->counts.failovers++;
}

void fault_sessions(struct scene *s, const struct step *step)
{
	static const char *const names[] = {"umavez-producer", "umavez-relay", "umavez-consumer"};

	world_int(s->stack.world,
	    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
	    "WHERE application_name LIKE '%s%%'",
	    names[step->target]);
	s->counts.cuts++;
}

/* For a while nobody holds the shard: its worker goes on until it looks. */
void fault_lease(struct scene *s, const struct step *step)
{
	world_sql(s->stack.world,
	    "UPDATE intake.shard_lease SET holder = 'thief', term = term + 1, "
	    "expires_at = clock_timestamp() + interval '%d ms' WHERE shard = %u",
	    (int)(step->detail % MAX_THEFT_MS), step->target % SHARDS);
	effects_db_run(s->effects,
	    "UPDATE effects.shard_lease SET holder = 'thief', term = term + 1, "
	    "expires_at = clock_timestamp() + interval '1 second' WHERE shard = %u",
	    (unsigned)(step->detail / MAX_THEFT_MS % SHARDS));
}

/* Another application writes into the outbox, and lets the transaction wait. */
void fault_tell(struct scene *s, const struct step *step)
{
	PGconn *conn = world_pg(s->stack.world);
	char *sql = text_format("BEGIN; SELECT intake.emit('app', 'm%" PRId64
				"-' || g, 'app.told', 'elsewhere//%u-' || g %% 5, '{}') "
				"FROM generate_series(1, 10) AS g",
	    s->told++, step->target);
	PGresult *res = PQexec(conn, sql);

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		die("%s: %s", sql, PQerrorMessage(conn));
	PQclear(res);
	free(sql);
	s->tellers[step->target] = conn;
}

/* Whether the server is there or not. */
void fault_told(struct scene *s, const struct step *step)
{
	PQclear(PQexec(s->tellers[step->target], step->detail % 4 ? "COMMIT" : "ROLLBACK"));
	PQfinish(s->tellers[step->target]);
	s->tellers[step->target] = NULL;
}

/* The handler raises for a purchase that it has applied before. */
void fault_refuse(struct scene *s, const struct step *step)
{
	effects_db_run(s->effects,
	    "INSERT INTO witness.refused SELECT subject, clock_timestamp() + interval '%d ms' "
	    "FROM effects.inbox ORDER BY md5(subject || %d) LIMIT 1",
	    (int)(step->detail % MAX_REFUSAL_MS), (int)(step->detail >> 40));
}

static char *copy_name(unsigned n)
{
	return text_format("copy_%u", n);
}

void fault_effects_copy(struct scene *s, const struct step *step)
{
	unsigned n = (unsigned)(step->detail % COPIES);
	char *name = copy_name(n);

	world_sql(s->stack.world, "DROP DATABASE IF EXISTS %s", name);
	effects_db_backup(s->effects, name);
	s->copies |= 1U << n;
	free(name);
}

void fault_effects_restore(struct scene *s, const struct step *step)
{
	unsigned n = (unsigned)(step->detail % COPIES);
	char *name;

	while (!(s->copies & 1U << n))
		n = (n + 1) % COPIES;
	name = copy_name(n);
	scene_say(s, "    %s", name);
	effects_db_restore(s->effects, name);
	s->counts.failovers++;
	free(name);
}

void fault_redis_crash(struct scene *s, const struct step *step)
{
	(void)step;
	world_redis_stop(s->stack.world, false);
	s->counts.failovers++;
}

/* Empty, or as it was saved last. */
void fault_redis_start(struct scene *s, const struct step *step)
{
	world_redis_start(s->stack.world, step->detail % 3 > 0);
}

void fault_redis_stop(struct scene *s, const struct step *step)
{
	(void)step;
	kill(world_redis_pid(s->stack.world), SIGSTOP);
}

void fault_redis_continue(struct scene *s, const struct step *step)
{
	(void)step;
	kill(world_redis_pid(s->stack.world), SIGCONT);
}

void fault_redis_full(struct scene *s, const struct step *step)
{
	(void)step;
	world_redis_run(s->stack.world, "CONFIG SET maxmemory-policy noeviction maxmemory 1mb");
}

void fault_redis_room(struct scene *s, const struct step *step)
{
	(void)step;
	world_redis_run(s->stack.world, "CONFIG SET maxmemory 0");
}

void fault_redis_replica(struct scene *s, const struct step *step)
{
	(void)step;
	world_redis_run(s->stack.world, "REPLICAOF 127.0.0.1 1");
}

void fault_redis_master(struct scene *s, const struct step *step)
{
	(void)step;
	world_redis_run(s->stack.world, "REPLICAOF NO ONE");
}

void fault_redis_save(struct scene *s, const struct step *step)
{
	(void)step;
	world_redis_run(s->stack.world, "SAVE");
}

void fault_redis_flush(struct scene *s, const struct step *step)
{
	if (step->detail % 2)
		world_redis_run(s->stack.world, "FLUSHALL");
	else
		world_redis_run(
		    s->stack.world, "DEL " STREAM, (unsigned)(step->detail / 2 % SHARDS));
	s->counts.failovers++;
}

void fault_redis_foreign(struct scene *s, const struct step *step)
{
	for (unsigned n = 0; n <= step->detail % 4; n++)
		world_redis_run(s->stack.world, "XADD " STREAM " * who knows", step->target);
}
