/*
 * world_private.h - what the files behind world.h share.
 */
#ifndef UMAVEZ_TESTS_WORLD_PRIVATE_H
#define UMAVEZ_TESTS_WORLD_PRIVATE_H

#include "tests/support/janitor.h"
#include "tests/support/pg_server.h"
#include "tests/support/redis_server.h"
#include "tests/support/signer.h"
#include "tests/support/world.h"

#include <pthread.h>

enum world_role { ROLE_ADMIN, ROLE_PRODUCER, ROLE_RELAY, ROLE_CONSUMER, ROLE_OPERATOR, ROLE_COUNT };

extern const char *const world_role_names[ROLE_COUNT];  /* in PostgreSQL */
extern const char *const world_redis_users[ROLE_COUNT]; /* NULL: the default user */

#define WORLD_MAX_SERVICES 64
#define WORLD_MAX_PROXIES 32

struct service {
	struct proc *proc;
	int reserved;        /* the socket that keeps its admin port for it */
	int reserved_listen; /* the same for what a producer listens on; 0: none */
};

struct world {
	char *dir;
	char *bin_dir; /* of umavez's own programs */
	struct janitor janitor;
	struct pg_server *pg;               /* takes writes */
	struct pg_server *pg_standby;       /* NULL: none */
	struct redis_server *redis;         /* the master */
	struct redis_server *redis_replica; /* NULL: none, and no sentinels */
	struct sentinels *sentinels;
	struct cluster *cluster; /* instead of them all; NULL: there is none */
	char *urls[ROLE_COUNT];
	char *redis_urls[ROLE_COUNT];
	struct signer *signer;
	const char *const *wrapper; /* what services run under; NULL: nothing */
	const char *host;           /* that services listen on */
	bool may_refuse;
	int n_proxies;
	struct proxy *proxies[WORLD_MAX_PROXIES];
	struct proxy *pg_proxy, *redis_proxy; /* between services and servers; NULL: nothing */
	int n_services;
	struct service services[WORLD_MAX_SERVICES];

	pthread_mutex_t sql_lock; /* world_sql() and the like may come from any thread */
	PGconn *sql;              /* NULL until needed and after the server went away */
};

/* Forget the session; the next statement opens one. */
void world_sql_reset(struct world *w);

/* End every service, and fail the program if a sanitizer complained in one of them. */
void world_services_end(struct world *w);

/* What a service is given instead of this URL of the world's. malloc'd. */
char *world_pg_url_via(const struct world *w, enum world_role role);
char *world_redis_url_via(const struct world *w, enum world_role role);

void world_proxies_follow(struct world *w); /* to the PostgreSQL server that takes writes */
void world_proxies_close(struct world *w);

/* Print the message and the end of every log, and exit(1). */
void world_die(struct world *w, const char *fmt, ...)
    __attribute__((format(printf, 2, 3), noreturn));
void world_print_logs(const struct world *w);

#endif
