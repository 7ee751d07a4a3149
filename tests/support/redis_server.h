/*
 * redis_server.h - one private Redis server on a unix socket, in memory only unless told otherwise.
 *
 * It knows the users of schema/redis.acl, whose password is their name.
 */
#ifndef UMAVEZ_TESTS_REDIS_SERVER_H
#define UMAVEZ_TESTS_REDIS_SERVER_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <sys/types.h>

struct redis_server;

/* dir must not exist. log is appended to. Not yet running. */
struct redis_server *redis_server_new(const char *dir, const char *log);
void redis_server_free(struct redis_server *s); /* kills it; NULL is fine */

/* The same for one that is to be a node of a cluster: it listens on a port of 127.0.0.1, too, and
 * for the other nodes on another one. Redis 7. */
struct redis_server *redis_server_new_node(const char *dir, const char *log);
int redis_server_bus_port(const struct redis_server *s);

/* Returns when it answers. keep_data false: what was saved in dir is removed first. */
void redis_server_start(struct redis_server *s, bool keep_data);

/* save: SHUTDOWN SAVE; else SIGKILL, and what was not saved is gone. */
void redis_server_stop(struct redis_server *s, bool save);

/* From now on it listens on a port of 127.0.0.1, too, the same one after every start.  Returns it.
 */
int redis_server_listen(struct redis_server *s);
int redis_server_port(const struct redis_server *s); /* 0: it does not */

/* Become the replica of who listens on that port. */
void redis_server_replicate(struct redis_server *s, int port);

/* The replica stops, and misses what its master is given from now on. */
void redis_server_lag(struct redis_server *s, struct redis_server *master);
void redis_server_go_on(struct redis_server *s);

pid_t redis_server_pid(const struct redis_server *s);

/* As one of the users of schema/redis.acl, or NULL: as the default user, who may do all. malloc'd.
 */
char *redis_server_url(const struct redis_server *s, const char *user);

const char *redis_server_socket(const struct redis_server *s); /* path */

/* A new connection of the default user; redisFree() it. */
redisContext *redis_server_connect(const struct redis_server *s);

#endif
