#include "tests/support/redis_server.h"

#include "schema_text.h"
#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/port.h"
#include "tests/support/proc.h"
#include "tests/support/text.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define START_MS 30000
#define STOP_MS 10000
#define MAX_ARGS 40

/* For how long a node of a cluster may say nothing until it counts as dead. */
#define NODE_TIMEOUT_MS "2000"

struct redis_server {
	char *dir;
	char *log;
	char *socket;
	char *acl;
	struct proc *proc;
	int port, reserved;         /* 0: on the socket only; else the port is kept for it */
	int bus_port, reserved_bus; /* of a node of a cluster; 0: it is none */
};

/* The part of the command line that all servers share, and what comes behind it. */
static void make_process(struct redis_server *s, const char *const *more)
{
	const char *argv[MAX_ARGS] = {"redis-server", "--unixsocket", s->socket, "--dir", s->dir,
	    "--save", "", "--appendonly", "no", "--repl-diskless-sync-delay", "0",
	    "--enable-debug-command", "local", "--aclfile", s->acl};
	struct proc_spec spec = {.argv = argv, .log = s->log};
	size_t n = 0;

	while (argv[n] != NULL)
		n++;
	for (; *more != NULL && n < MAX_ARGS - 1; more++)
		argv[n++] = *more;
	s->proc = proc_new(&spec);
}

static struct redis_server *new_server(const char *dir, const char *log)
{
	struct redis_server *s = calloc(1, sizeof(*s));

	if (s == NULL)
		die("out of memory");
	if (mkdir(dir, 0700) < 0)
		die("cannot make %s: %s", dir, strerror(errno));
	s->dir = text_format("%s", dir);
	s->log = text_format("%s", log);
	s->socket = text_format("%s/redis.sock", dir);
	s->acl = text_format("%s/users.acl", dir);
	file_write(s->acl, schema_redis_acl);
	return s;
}

struct redis_server *redis_server_new(const char *dir, const char *log)
{
	static const char *const more[] = {"--port", "0", NULL};
	struct redis_server *s = new_server(dir, log);

	make_process(s, more);
	return s;
}

struct redis_server *redis_server_new_node(const char *dir, const char *log)
{
	struct redis_server *s = new_server(dir, log);
	char *port, *bus_port;

	s->reserved = port_reserve(&s->port);
	s->reserved_bus = port_reserve(&s->bus_port);
	port = text_format("%d", s->port);
	bus_port = text_format("%d", s->bus_port);
	const char *const more[] = {"--bind", "127.0.0.1", "--port", port, "--cluster-enabled",
	    "yes", "--cluster-port", bus_port, "--cluster-node-timeout", NODE_TIMEOUT_MS,
	    "--cluster-replica-validity-factor", "0", "--cluster-allow-replica-migration", "no",
	    "--cluster-require-full-coverage", "no", NULL};
	make_process(s, more);
	free(port);
	free(bus_port);
	return s;
}

void redis_server_free(struct redis_server *s)
{
	if (s == NULL)
		return;
	proc_free(s->proc);
	if (s->port != 0)
		close(s->reserved);
	if (s->bus_port != 0)
		close(s->reserved_bus);
	free(s->dir);
	free(s->log);
	free(s->socket);
	free(s->acl);
	free(s);
}

redisContext *redis_server_connect(const struct redis_server *s)
{
	redisContext *c = redisConnectUnix(s->socket);

	if (c == NULL || c->err)
		die("cannot connect to Redis: %s", c ? c->errstr : "out of memory");
	return c;
}

/* LOADING is an error reply, so that a long load counts as not yet. */
static bool answers(void *ctx)
{
	struct redis_server *s = ctx;
	redisContext *c = redisConnectUnix(s->socket);
	redisReply *reply = NULL;
	bool done;

	if (c != NULL && !c->err)
		reply = redisCommand(c, "PING");
	done = reply != NULL && reply->type == REDIS_REPLY_STATUS;
	freeReplyObject(reply);
	if (c != NULL)
		redisFree(c);
	return done || !proc_alive(s->proc);
}

static void forget(const struct redis_server *s)
{
	char *rdb = text_format("%s/dump.rdb", s->dir);
	char *aof = text_format("%s/appendonlydir", s->dir);

	unlink(rdb);
	tree_remove(aof);
	free(rdb);
	free(aof);
}

static void command(const struct redis_server *s, const char *fmt, ...)
{
	redisContext *c = redis_server_connect(s);
	redisReply *reply;
	va_list args;

	va_start(args, fmt);
	reply = redisvCommand(c, fmt, args);
	va_end(args);
	if (reply == NULL || reply->type == REDIS_REPLY_ERROR)
		die("Redis: %s: %s", fmt, reply ? reply->str : c->errstr);
	freeReplyObject(reply);
	redisFree(c);
}

/* The file has them switched off, since it cannot hold anybody's passwords. */
static void switch_users_on(const struct redis_server *s)
{
	static const char *const users[] = {"umavez_relay", "umavez_consumer", "umavez_operator"};

	for (size_t i = 0; i < sizeof(users) / sizeof(users[0]); i++)
		command(s, "ACL SETUSER %s on >%s", users[i], users[i]);
}

static void listen_on_port(const struct redis_server *s)
{
	command(s, "CONFIG SET bind 127.0.0.1 port %d", s->port);
}

int redis_server_listen(struct redis_server *s)
{
	s->reserved = port_reserve(&s->port);
	listen_on_port(s);
	return s->port;
}

void redis_server_start(struct redis_server *s, bool keep_data)
{
	if (!keep_data)
		forget(s);
	proc_start(s->proc);
	if (!await(answers, s, START_MS) || !proc_alive(s->proc)) {
		file_print_tail(s->log, 4000);
		die("Redis did not start");
	}
	switch_users_on(s);
	if (s->port != 0 && s->bus_port == 0)
		listen_on_port(s);
}

void redis_server_stop(struct redis_server *s, bool save)
{
	redisContext *c;

	if (save) {
		c = redis_server_connect(s);
		freeReplyObject(redisCommand(c, "SHUTDOWN SAVE"));
		redisFree(c);
		if (proc_wait(s->proc, STOP_MS) != 0)
			die("Redis did not save and stop");
		return;
	}
	proc_stop(s->proc, SIGKILL, STOP_MS);
}

void redis_server_replicate(struct redis_server *s, int port)
{
	command(s, "REPLICAOF 127.0.0.1 %d", port);
}

void redis_server_lag(struct redis_server *s, struct redis_server *master)
{
	kill(redis_server_pid(s), SIGSTOP);
	command(master, "CLIENT KILL TYPE replica");
}

void redis_server_go_on(struct redis_server *s)
{
	kill(redis_server_pid(s), SIGCONT);
}

int redis_server_port(const struct redis_server *s)
{
	return s->port;
}

int redis_server_bus_port(const struct redis_server *s)
{
	return s->bus_port;
}

pid_t redis_server_pid(const struct redis_server *s)
{
	return proc_pid(s->proc);
}

char *redis_server_url(const struct redis_server *s, const char *user)
{
	if (user == NULL)
		return text_format("unix://%s?db=0", s->socket);
	return text_format("unix://%s:%s@%s?db=0", user, user, s->socket);
}

const char *redis_server_socket(const struct redis_server *s)
{
	return s->socket;
}
