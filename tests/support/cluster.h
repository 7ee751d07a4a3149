/*
 * cluster.h - a Redis Cluster on 127.0.0.1: three masters with a third of the slots each, and a
 * replica of each, which takes its place soon after it died.
 *
 * Nodes are numbered; which of them are masters changes with each failover.  A slot whose node is
 * away stops nothing but itself (cluster-require-full-coverage no).
 */
#ifndef UMAVEZ_TESTS_CLUSTER_H
#define UMAVEZ_TESTS_CLUSTER_H

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <sys/types.h>

#define CLUSTER_NODES 6

struct cluster;

/* Running, and at rest: every slot is served, every replica follows.  dir must not exist. */
struct cluster *cluster_new(const char *dir);
void cluster_free(struct cluster *c); /* kills them; NULL is fine */

/* redis+cluster://... with the nodes that began as masters; user NULL: the default user; else the
 * password is the user's name.  malloc'd. */
char *cluster_url(const struct cluster *c, const char *user);

/* Of the default user; redisFree() it. */
redisContext *cluster_connect(const struct cluster *c, int node);
redisContext *cluster_connect_any(const struct cluster *c); /* one that runs */

/* One command at one node, formatted as by redisCommand(); dies on an error. */
redisReply *cluster_ask(const struct cluster *c, int node, const char *fmt, ...);
void cluster_run(const struct cluster *c, int node, const char *fmt, ...);

int cluster_port(const struct cluster *c, int node);
pid_t cluster_pid(const struct cluster *c, int node);
int cluster_node_at(const struct cluster *c, int port);

int cluster_slot(const struct cluster *c, const char *key);
int cluster_owner(const struct cluster *c, const char *key); /* the node that serves its slot */
/* Until no node says anything else, not even for a moment from what it heard before. */
void cluster_await_owner(struct cluster *c, const char *key, int owner);
int cluster_replica(const struct cluster *c, int master);

/* The master's replica stops, and misses what its master is given from now on. */
void cluster_lag(struct cluster *c, int master);

/* The master is killed with SIGKILL, its replica (which goes on) takes over, and the dead one comes
 * back empty and becomes its replica. */
void cluster_fail_over(struct cluster *c, int master);

void cluster_stop(struct cluster *c, int node); /* SIGKILL */
void cluster_start(struct cluster *c, int node);

/* Until the cluster is at rest, with all nodes. */
void cluster_await(struct cluster *c);

/*
 * The key's slot goes to another master, in three steps: who asks for a key of the slot that is not
 * there is sent on (ASK); then none is there any more; then every master knows the new owner
 * (MOVED).
 */
void cluster_move_begin(struct cluster *c, const char *key, int to);
void cluster_move_keys(struct cluster *c, const char *key, int to);
void cluster_move_end(struct cluster *c, const char *key, int to);

#endif
