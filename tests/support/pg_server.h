/*
 * pg_server.h - one private PostgreSQL server on a unix socket.
 *
 * initdb is run once a machine, user and version: its result is a template under $TMPDIR that every
 * server starts from, unless it is to have its own.  As root, the server runs as the user postgres.
 */
#ifndef UMAVEZ_TESTS_PG_SERVER_H
#define UMAVEZ_TESTS_PG_SERVER_H

#include "tests/support/proc.h"

#include <stdbool.h>
#include <sys/types.h>

struct pg_server;

/* Whom servers run as: they refuse to be root. */
struct proc_user pg_server_user(void);

/* dir must not exist: it becomes data and socket directory. log is appended to. Not yet running. */
struct pg_server *pg_server_new(const char *dir, const char *log, bool share_template);

/* The same with the data that pg_server_keep() has put at `kept`. */
struct pg_server *pg_server_new_from(const char *kept, const char *dir, const char *log);

/* Copy the data of a server that was stopped "fast": what is at `kept` is always complete, and of
 * several programs that keep something there the first one's stays. */
void pg_server_keep(const struct pg_server *s, const char *kept);

void pg_server_free(struct pg_server *s); /* stops it; NULL is fine */

/*
 * The same as a standby that streams from the primary, which must be running and knows it by the
 * name "walreceiver". pg_server_promote() returns when it takes writes;
 * pg_server_stop_following() when it has been told to ask the primary for no more.
 */
struct pg_server *pg_server_new_standby(
    const struct pg_server *primary, const char *dir, const char *log);
void pg_server_stop_following(struct pg_server *s);
void pg_server_promote(struct pg_server *s);

void pg_server_start(struct pg_server *s);                  /* returns when it takes connections */
void pg_server_stop(struct pg_server *s, const char *mode); /* "smart", "fast", "immediate" */
pid_t pg_server_pid(const struct pg_server *s);

/* The only database, as this role (no password). malloc'd. */
char *pg_server_url(const struct pg_server *s, const char *role);

/* Whichever of the two takes writes. malloc'd. */
char *pg_server_pair_url(const struct pg_server *a, const struct pg_server *b, const char *role);

const char *pg_server_dir(const struct pg_server *s);

char *pg_server_socket(const struct pg_server *s); /* path; malloc'd */

#endif
