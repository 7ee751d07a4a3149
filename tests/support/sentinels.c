#include "tests/support/sentinels.h"

#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/port.h"
#include "tests/support/proc.h"
#include "tests/support/text.h"

#include <errno.h>
#include <hiredis/hiredis.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#define START_MS 30000
#define ANSWER_S 5

struct sentinel {
	struct proc *proc;
	char *log;
	int port, reserved; /* the port is kept for it */
};

struct sentinels {
	struct sentinel all[SENTINELS];
	int wanted; /* what sentinels_await() asks for */
};

/* One that is stopped accepts, and never answers. */
static redisReply *run(const struct sentinel *s, const char *fmt, va_list args)
{
	struct timeval timeout = {.tv_sec = ANSWER_S};
	redisContext *c = redisConnectWithTimeout("127.0.0.1", s->port, timeout);
	redisReply *reply = NULL;

	if (c != NULL && !c->err && redisSetTimeout(c, timeout) == REDIS_OK)
		reply = redisvCommand(c, fmt, args);
	if (c != NULL)
		redisFree(c);
	return reply;
}

static redisReply *ask(const struct sentinel *s, const char *fmt, ...)
{
	redisReply *reply;
	va_list args;

	va_start(args, fmt);
	reply = run(s, fmt, args);
	va_end(args);
	return reply;
}

static void expect(const redisReply *reply, const char *what)
{
	if (reply == NULL || reply->type == REDIS_REPLY_ERROR)
		die("a sentinel: %s: %s", what, reply ? reply->str : "no answer");
}

static bool answers(void *ctx)
{
	const struct sentinel *s = ctx;
	redisReply *reply = ask(s, "PING");
	bool done = reply != NULL && reply->type == REDIS_REPLY_STATUS;

	freeReplyObject(reply);
	return done || !proc_alive(s->proc);
}

/* Its periods are seconds, and a sentinel that was held up for two would rest for thirty. */
static void hurry(const struct sentinel *s)
{
	redisReply *reply = ask(s, "SENTINEL DEBUG info-period 200 ping-period 200 ask-period 200 "
				   "publish-period 200 tilt-period 1000");

	expect(reply, "SENTINEL DEBUG");
	freeReplyObject(reply);
}

/* It writes what it learns into its configuration, and insists on being able to. */
static char *configure(const char *dir, int i, int port, int master_port)
{
	char *path = text_format("%s/%d.conf", dir, i);
	char *text = text_format("port %d\nbind 127.0.0.1\ndir %s\n"
				 "sentinel monitor " SENTINELS_MASTER " 127.0.0.1 %d 2\n"
				 "sentinel down-after-milliseconds " SENTINELS_MASTER " 600\n"
				 "sentinel failover-timeout " SENTINELS_MASTER " 3000\n",
	    port, dir, master_port);

	file_write(path, text);
	free(text);
	return path;
}

static void start(struct sentinel *s, const char *dir, int i, int master_port)
{
	char *path;

	s->reserved = port_reserve(&s->port);
	path = configure(dir, i, s->port, master_port);
	s->log = text_format("%s/%d.log", dir, i);
	const char *const argv[] = {"redis-server", path, "--sentinel", NULL};
	struct proc_spec spec = {.argv = argv, .log = s->log};
	s->proc = proc_new(&spec);
	proc_start(s->proc);
	if (!await(answers, s, START_MS) || !proc_alive(s->proc)) {
		file_print_tail(s->log, 4000);
		die("a sentinel did not start");
	}
	hurry(s);
	free(path);
}

struct sentinels *sentinels_new(const char *dir, int port)
{
	struct sentinels *s = calloc(1, sizeof(*s));

	if (s == NULL)
		die("out of memory");
	if (mkdir(dir, 0700) < 0)
		die("cannot make %s: %s", dir, strerror(errno));
	for (int i = 0; i < SENTINELS; i++)
		start(&s->all[i], dir, i, port);
	return s;
}

void sentinels_free(struct sentinels *s)
{
	if (s == NULL)
		return;
	for (int i = 0; i < SENTINELS; i++) {
		proc_free(s->all[i].proc);
		close(s->all[i].reserved);
		free(s->all[i].log);
	}
	free(s);
}

static bool field_is(const redisReply *fields, const char *name, const char *value)
{
	for (size_t i = 0; i + 1 < fields->elements; i += 2)
		if (strcmp(fields->element[i]->str, name) == 0)
			return strcmp(fields->element[i + 1]->str, value) == 0;
	return false;
}

static bool knows_master(const struct sentinel *s, int port)
{
	redisReply *reply = ask(s, "SENTINEL MASTER " SENTINELS_MASTER);
	char *wanted = text_format("%d", port);
	bool good = reply != NULL && reply->type == REDIS_REPLY_ARRAY &&
		    field_is(reply, "port", wanted) && field_is(reply, "flags", "master") &&
		    field_is(reply, "num-other-sentinels", "2");

	freeReplyObject(reply);
	free(wanted);
	return good;
}

static bool knows_replica(const struct sentinel *s)
{
	redisReply *reply = ask(s, "SENTINEL REPLICAS " SENTINELS_MASTER);
	bool good = reply != NULL && reply->type == REDIS_REPLY_ARRAY && reply->elements == 1 &&
		    field_is(reply->element[0], "flags", "slave") &&
		    field_is(reply->element[0], "master-link-status", "ok");

	freeReplyObject(reply);
	return good;
}

static bool all_at_rest(void *ctx)
{
	const struct sentinels *s = ctx;

	for (int i = 0; i < SENTINELS; i++)
		if (!knows_master(&s->all[i], s->wanted) || !knows_replica(&s->all[i]))
			return false;
	return true;
}

static bool all_agree(void *ctx)
{
	const struct sentinels *s = ctx;

	for (int i = 0; i < SENTINELS; i++)
		if (!knows_master(&s->all[i], s->wanted))
			return false;
	return true;
}

static bool wait_for(struct sentinels *s, bool (*condition)(void *), int port, int64_t timeout_ms)
{
	s->wanted = port;
	if (await(condition, s, timeout_ms))
		return true;
	for (int i = 0; i < SENTINELS; i++)
		file_print_tail(s->all[i].log, 2000);
	return false;
}

bool sentinels_await(struct sentinels *s, int port, int64_t timeout_ms)
{
	return wait_for(s, all_at_rest, port, timeout_ms);
}

bool sentinels_await_master(struct sentinels *s, int port, int64_t timeout_ms)
{
	return wait_for(s, all_agree, port, timeout_ms);
}

void sentinels_run(struct sentinels *s, int i, const char *fmt, ...)
{
	redisReply *reply;
	va_list args;

	va_start(args, fmt);
	reply = run(&s->all[i], fmt, args);
	va_end(args);
	expect(reply, fmt);
	freeReplyObject(reply);
}

int sentinels_port(const struct sentinels *s, int i)
{
	return s->all[i].port;
}

pid_t sentinels_pid(const struct sentinels *s, int i)
{
	return proc_pid(s->all[i].proc);
}

char *sentinels_url(const struct sentinels *s, const char *user)
{
	char *login = user == NULL ? text_format("%s", "") : text_format("%s:%s@", user, user);
	char *url = text_format("redis-sentinel://%s127.0.0.1:%d,127.0.0.1:%d,127.0.0.1:%d/%s/0",
	    login, s->all[0].port, s->all[1].port, s->all[2].port, SENTINELS_MASTER);

	free(login);
	return url;
}
