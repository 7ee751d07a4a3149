/*
 * world.h - private PostgreSQL and Redis servers and the three services, for one test program.
 *
 * Everything lives in a fresh directory under $TMPDIR: PostgreSQL on a unix socket (run by an
 * unprivileged user when we are root), Redis on a unix socket, services on ports that the system
 * chose. A process dies with its world (PR_SET_PDEATHSIG), and is killed by pid, never by name.
 * Waiting is always for a condition with a deadline; a deadline that passes fails the test and
 * prints the logs' tails.
 *
 * Set-up errors abort the test program with a message: a test without its servers is a failed test.
 */
#ifndef UMAVEZ_TESTS_WORLD_H
#define UMAVEZ_TESTS_WORLD_H

#include <hiredis/hiredis.h>
#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct world;
struct proc;
struct proxy;

/* migrate: run `umavez migrate --shards N` (0: leave the databases empty). */
struct world *world_open(unsigned shards);

struct world_options {
	unsigned shards;     /* as above */
	const char *bin_dir; /* of umavez's programs; NULL: where this tree's build has them */
	bool leave_nothing;  /* not even what makes the next world open faster */
	bool may_refuse;     /* a service that ends as it starts is left to proc_alive() */
};
struct world *world_open_with(const struct world_options *options);

/* Kills every process and removes the directory.  It is kept if KEEP=1: if that is so already when
 * the world is opened, whatever becomes of the program. */
void world_close(struct world *w);

const char *world_dir(const struct world *w);

/* What world_open(n) does at its end: migrate, and make the login roles behind the URLs. */
void world_migrate(struct world *w, unsigned shards);

/* The signer that the world's producers trust; its keys are those of every signer_new(). */
struct signer;
struct signer *world_signer(struct world *w);

/* URLs by role; the services use the least-privileged ones made by schema/roles.sql. */
const char *world_admin_url(const struct world *w); /* owner: what migrate uses */
const char *world_producer_url(const struct world *w);
const char *world_relay_url(const struct world *w);
const char *world_consumer_url(const struct world *w);
const char *world_operator_url(const struct world *w); /* umavez trace, status */
const char *world_redis_url(const struct world *w);    /* may do all; the services may not */

/* A new admin session of the test's own; PQfinish() it. */
PGconn *world_pg(struct world *w);
redisContext *world_redis(struct world *w);

/* One command on a connection of its own, formatted as by redisCommand(), at the node of a cluster
 * that serves it.  All but the first die on an error reply. */
redisReply *world_redis_reply(struct world *w, const char *fmt, ...); /* freeReplyObject() it */
void world_redis_run(struct world *w, const char *fmt, ...);
int64_t world_redis_int(struct world *w, const char *fmt, ...);
char *world_redis_text(struct world *w, const char *fmt, ...); /* malloc'd; NULL for nil */

/* SQL through a session of the world's own. %-formatted; aborts on an SQL error. */
int64_t world_int(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *world_text(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void world_sql(struct world *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* No row or NULL: world_int() aborts, world_text() gives NULL. Any thread. */

/* Poll until the query gives `want`, at most timeout_ms. False (and a line on stderr) otherwise. */
bool world_await_int(struct world *w, int64_t want, int64_t timeout_ms, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

/* Servers' faults. */
void world_pg_stop(struct world *w, const char *mode); /* "immediate", "fast" */
void world_pg_start(struct world *w);
void world_redis_stop(struct world *w, bool save); /* save false: SIGKILL */
void world_redis_start(struct world *w, bool keep_data);
pid_t world_redis_pid(const struct world *w);

/*
 * A second PostgreSQL server, to which every commit is copied before it returns.  From then on all
 * URLs name both servers and mean the one that takes writes; so before any service is started.
 * world_pg_failover(): the one that takes writes dies, the other takes over (proxies follow it),
 * and gets a new standby in the place of the dead.  Writes wait until it is there.
 * world_pg_part_standby(): the standby is sent nothing any more, and no commit waits for it: what
 * is committed from now on is lost with the next failover.
 */
void world_pg_add_standby(struct world *w);
void world_pg_part_standby(struct world *w);
void world_pg_failover(struct world *w);

/*
 * A second Redis server, which follows the first, and sentinels.  From then on all URLs name the
 * sentinels; so before any service is started.
 * world_redis_lag(): the replica misses what Redis is given from now on.  world_redis_failover():
 * the master dies, the sentinels promote the replica, and the dead one comes back empty and becomes
 * its replica.
 */
void world_redis_add_replica(struct world *w);
void world_redis_lag(struct world *w);
void world_redis_failover(struct world *w);
int world_redis_port(const struct world *w); /* of the master, and of the replica */
int world_redis_replica_port(const struct world *w);
struct sentinels;
struct sentinels *world_sentinels(const struct world *w); /* NULL: none */

/* A Redis Cluster (cluster.h), which belongs to the world.  From then on all URLs of Redis and what
 * world_redis_run() and the like do mean this one; so before any service is started. */
struct cluster *world_redis_add_cluster(struct world *w);

/*
 * Services. args is NULL-terminated and comes after the options that the world gives by itself
 * (URLs, listeners on port 0 or a socket, test secrets and roots).  env is NULL-terminated
 * "NAME=value", for UMAVEZ_FAILPOINTS. Returns when /livez answers; a service with
 * UMAVEZ_FAILPOINTS may also have died. Start services from a thread that lives as long as they
 * should: they die with it.
 */
struct proc *world_producer(struct world *w, const char *const *args, const char *const *env);
struct proc *world_relay(struct world *w, const char *const *args, const char *const *env);
struct proc *world_consumer(struct world *w, const char *const *args, const char *const *env);

/* Services started from now on run under this program: its words come before theirs, and are
 * borrowed; NULL: none. */
void world_wrap(struct world *w, const char *const *words);

/* Services started from now on listen on this address, with ports that are free on 127.0.0.1; at
 * first that.  Borrowed. */
void world_listen_on(struct world *w, const char *host);

/*
 * A network with faults (proxy.h) in front of a server; it belongs to the world.  Services started
 * from now on reach PostgreSQL and Redis through these; NULL: directly, as at first.
 */
struct proxy *world_pg_proxy(struct world *w);
struct proxy *world_redis_proxy(struct world *w);
void world_via(struct world *w, struct proxy *pg, struct proxy *redis);

/*
 * Any binary of ours, run to its end; returns its exit status, *ret_out gets stdout (malloc'd; may
 * be NULL).  Its DATABASE_URL and REDIS_URL are the operator's; w NULL: it has neither.
 */
int world_run(struct world *w, char **ret_out, const char *binary, const char *const *args);

/* The same with an environment, and stderr to look at (else it goes to the test's own). */
int world_run_all(struct world *w, const char *binary, const char *const *args,
    const char *const *env, char **ret_out, char **ret_err);

pid_t proc_pid(const struct proc *p);
const char *proc_url(const struct proc *p);       /* producer: http://127.0.0.1:port */
const char *proc_admin_url(const struct proc *p); /* http://127.0.0.1:port */
const char *proc_log(const struct proc *p);       /* path of its stderr */
bool proc_alive(struct proc *p);
void proc_kill(struct proc *p, int sig);
int proc_wait(struct proc *p, int64_t timeout_ms); /* exit status, 128+signal, or -1 on timeout */
void proc_restart(struct proc *p); /* (SIGKILL,) the same command again, same log, same ports */
void proc_set_env(struct proc *p, const char *const *env); /* for the next restart */
bool proc_log_has(struct proc *p, const char *text);
bool proc_is_ready(const struct proc *p);                  /* /readyz says 200, now */
bool proc_await_ready(struct proc *p, int64_t timeout_ms); /* /readyz says 200 */
bool proc_await_log(struct proc *p, const char *text, int64_t timeout_ms);

/* A condition polled every few milliseconds. */
bool await(bool (*condition)(void *), void *ctx, int64_t timeout_ms);

#endif
