/*
 * redis.h - one blocking Redis connection with deadlines, every reply checked.
 *
 * A connection is dead after ERR_RETRY with `broken` set: close it and open a new one.  hiredis
 * 0.14.1: no TLS, no RESP3.  Error replies: https://redis.io/docs/reference/protocol-spec/
 */
#ifndef UMAVEZ_REDIS_H
#define UMAVEZ_REDIS_H

#include "common/err.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdint.h>

struct redis;

#define REDIS_URL_FORMS                                                                            \
	"redis://[user:password@]host:port/db, unix:///path?db=n, "                                \
	"redis-sentinel://[user:password@]host:port,host:port/master-name/db or "                  \
	"redis+cluster://[user:password@]host:port,host:port"

/*
 * Checks only the form, one of REDIS_URL_FORMS; unix:// has user and password as
 * unix://user:password@/path.  Names and passwords are percent-encoded.
 *
 * redis-sentinel:// lists sentinels (port 26379 unless given); user and password are for the server
 * that they name.  What they want for themselves are the parameters
 * ?sentinel_username=...&sentinel_password=....
 *
 * redis+cluster:// lists nodes of a cluster, any of them, masters or replicas; user and password
 * are the same at each.
 */
int redis_url_check(const char *url, struct err *err) warn_unused;

/*
 * Connect, authenticate, select the database, all within timeout_ms; later commands have timeout_ms
 * each.  Refuses a replica as redis_check_master() does: positions are compared only against a
 * master.
 *
 * Sentinels are asked in turn, each time anew, until the server that one names is a master; each
 * has its share of timeout_ms, so that a silent one does not hide the others.  The error then says
 * of each what was wrong.  As https://redis.io/docs/reference/sentinel-clients/ wants it.
 *
 * The nodes of a cluster are asked in the same way, for any that answers: redis_turn_to() comes
 * before a command with a key.
 */
int redis_open(
    const char *url, int64_t timeout_ms, struct redis **ret_redis, struct err *err) warn_unused;
void redis_close(struct redis *r); /* NULL is fine */
bool redis_broken(const struct redis *r);

/*
 * In a cluster: be at the node that serves the key's slot now, by a new connection where need be,
 * also after one that broke; elsewhere nothing is done.  Nodes are asked in turn, each time anew,
 * and so is whom they name; ERR_RETRY as by redis_open().  All that is asked here until the next
 * call has keys of the same hash tag.
 *
 * A slot that is on its way to another node is followed command by command (ASK).  One that has
 * moved is not (MOVED: ERR_RETRY, and broken): whoever knew a position has to ask for it anew at
 * the new owner, which may have lost entries.
 * https://redis.io/docs/reference/cluster-spec/
 */
int redis_turn_to(struct redis *r, const char *key, struct err *err) warn_unused;

bool redis_in_cluster(const struct redis *r);

/* Who is asked now, "host:port" or a path. */
enum { REDIS_NAME_SIZE = 272 };
const char *redis_name(const struct redis *r, char buf[REDIS_NAME_SIZE]);

/* The last command was answered with an error that begins like this: with a code, "BUSYGROUP", or,
 * where Redis has none, with more of its text. */
bool redis_failed_with(const struct redis *r, const char *start);

/* ERR_RETRY, and broken, unless the server is (still) a master; a user who may not ask for the ROLE
 * gets 0, and meets READONLY at the first write. */
int redis_check_master(struct redis *r, struct err *err) warn_unused;

/*
 * One command.  An error reply becomes *err by redis_error(); ret_reply may be NULL; free it with
 * freeReplyObject().  extra_ms is added to the deadline: a BLOCK time, so that a dead connection is
 * noticed after BLOCK and not never.
 */
int redis_command(
    struct redis *r, redisReply **ret_reply, struct err *err, const char *fmt, ...) warn_unused;
int redis_argv(struct redis *r, int64_t extra_ms, int argc, const char **argv, const size_t *lens,
    redisReply **ret_reply, struct err *err) warn_unused;

/*
 * What is sent in between is answered QUEUED, and done by redis_exec(), which checks the reply of
 * each.  Not so in a cluster while the keys are at two nodes: an error, and nothing is done.
 */
int redis_multi(struct redis *r, struct err *err) warn_unused;
int redis_exec(struct redis *r, struct err *err) warn_unused;

/*
 * A script, by its hash; sent whole when the server does not know it (NOSCRIPT).  text is borrowed
 * for the script's life.  keys come first in argv, n_keys of them.
 */
struct redis_script {
	const char *text;
	char sha1[41];
};
void redis_script_init(struct redis_script *s, const char *text);

/* Give it to the server now, so that its first use takes no second exchange. */
int redis_script_load(struct redis *r, const struct redis_script *s, struct err *err) warn_unused;
int redis_eval(struct redis *r, const struct redis_script *s, int n_keys, int argc,
    const char **argv, const size_t *lens, redisReply **ret_reply, struct err *err) warn_unused;

/*
 * The same in two halves, so that other work can go on while Redis executes: redis_eval_send()
 * writes, redis_wait() says whether a reply has begun to arrive within wait_ms (1, 0; -1 broken),
 * redis_eval_receive() reads it (and sends the script whole after NOSCRIPT).  One at a time, and no
 * other command in between.  argv is borrowed for the call only.
 */
int redis_eval_send(struct redis *r, const struct redis_script *s, int n_keys, int argc,
    const char **argv, const size_t *lens, struct err *err) warn_unused;
int redis_wait(struct redis *r, int64_t wait_ms);
int redis_eval_receive(struct redis *r, redisReply **ret_reply, struct err *err) warn_unused;

/*
 * The reaction to an error reply: WRONGTYPE is ERR_REJECT, and what the user may not do (NOPERM)
 * ERR_USAGE: as long as this process went on, others that may do it would wait for its shards.
 * Everything else is ERR_RETRY, since no Redis error (LOADING, READONLY, OOM, MISCONF, BUSY,
 * CLUSTERDOWN, ...) is the row's fault.  READONLY, MASTERDOWN and UNBLOCKED (a master that became a
 * replica), and MOVED, ASK and CLUSTERDOWN of a cluster also mark the connection broken, so that
 * the server is looked for again.  What a user may not do, or who it is, is told with a word about
 * schema/redis.acl, unless by a sentinel, which has users of its own: its NOPERM is ERR_RETRY.
 */
int redis_error(struct redis *r, const redisReply *reply, const char *doing, struct err *err);

/* The text of a string or status, borrowed, up to its first NUL; NULL: the reply is neither. */
const char *redis_text(const redisReply *reply);

/* The value after `name` in a flat name/value array reply (XINFO), or NULL. Fields move between
 * versions: always by name. */
const redisReply *redis_field(const redisReply *reply, const char *name);

#endif
