#include "common/redis.h"

#include "common/clock.h"
#include "common/memory.h"
#include "common/redis_url.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <openssl/evp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/*
 * hiredis parses and formats; waiting is done here, on a non-blocking descriptor.  So one deadline
 * covers a whole command, a connect timeout is no command timeout, and a peer that stops in the
 * middle of a reply is noticed.
 */
struct redis {
	redisContext *context;
	int64_t timeout_ms;
	int64_t deadline_us; /* of the command in flight */
	bool opening;        /* all that redis_open() does shares one deadline */
	bool broken;
	/* between redis_eval_send() and redis_eval_receive() */
	char *eval;
	size_t eval_len;
	const char *eval_text;
};

static int fail(struct redis *r, struct err *err, const char *doing, const char *why)
{
	r->broken = true;
	err_set(err, ERR_RETRY, "Redis: %s: %s", doing, why);
	return -1;
}

static void start_clock(struct redis *r, int64_t extra_ms)
{
	if (!r->opening)
		r->deadline_us = clock_mono_us() + (r->timeout_ms + extra_ms) * 1000;
}

/* 1: ready, or failed in a way that the next read or write will report; 0: deadline passed. */
static int await_socket(const struct redis *r, short events, int64_t deadline_us)
{
	struct pollfd pfd = {.fd = r->context->fd, .events = events};

	for (;;) {
		int64_t left_us = deadline_us - clock_mono_us();
		int n = poll(&pfd, 1, left_us > 0 ? (int)((left_us + 999) / 1000) : 0);
		if (n >= 0)
			return n;
		if (errno != EINTR)
			return 1;
	}
}

static int send_all(struct redis *r, const char *bytes, size_t len, struct err *err)
{
	if (r->broken)
		return fail(r, err, "send", "the connection is broken");
	while (len > 0) {
		ssize_t n = send(r->context->fd, bytes, len, MSG_NOSIGNAL);
		if (n >= 0) {
			bytes += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			if (!await_socket(r, POLLOUT, r->deadline_us))
				return fail(r, err, "send", "timed out");
		} else if (errno != EINTR) {
			return fail(r, err, "send", strerror(errno));
		}
	}
	return 0;
}

static int receive(struct redis *r, redisReply **ret_reply, struct err *err)
{
	void *reply = NULL;

	if (r->broken)
		return fail(r, err, "receive", "the connection is broken");
	for (;;) {
		if (redisGetReplyFromReader(r->context, &reply) != REDIS_OK)
			return fail(r, err, "receive", r->context->errstr);
		if (reply)
			break;
		if (!await_socket(r, POLLIN, r->deadline_us))
			return fail(r, err, "receive", "timed out");
		if (redisBufferRead(r->context) != REDIS_OK)
			return fail(r, err, "receive", r->context->errstr);
	}
	*ret_reply = reply;
	return 0;
}

static bool is_error(const redisReply *reply, const char *code)
{
	return reply->type == REDIS_REPLY_ERROR && strncmp(reply->str, code, strlen(code)) == 0;
}

/* Give the reply to the caller, or turn an error reply into *err. */
static int finish(
    struct redis *r, redisReply *reply, redisReply **ret_reply, const char *doing, struct err *err)
{
	if (reply->type == REDIS_REPLY_ERROR) {
		redis_error(r, reply, doing, err);
		freeReplyObject(reply);
		return -1;
	}
	if (ret_reply)
		*ret_reply = reply;
	else
		freeReplyObject(reply);
	return 0;
}

static int exchange(
    struct redis *r, const char *command, size_t len, redisReply **ret_reply, struct err *err)
{
	if (send_all(r, command, len, err) < 0)
		return -1;
	return receive(r, ret_reply, err);
}

/* Takes over the formatted command. */
static int run_formatted(struct redis *r, int64_t extra_ms, char *command, size_t len,
    const char *doing, redisReply **ret_reply, struct err *err)
{
	redisReply *reply;
	int rc = -1;

	start_clock(r, extra_ms);
	if (exchange(r, command, len, &reply, err) == 0)
		rc = finish(r, reply, ret_reply, doing, err);
	redisFreeCommand(command);
	return rc;
}

/* The command's name, for messages. */
static void first_word(const char *text, char *buf, size_t size)
{
	snprintf(buf, size, "%.*s", (int)strcspn(text, " "), text);
}

int redis_command(struct redis *r, redisReply **ret_reply, struct err *err, const char *fmt, ...)
{
	char *command = NULL, doing[32];
	va_list ap;

	va_start(ap, fmt);
	int len = redisvFormatCommand(&command, fmt, ap);
	va_end(ap);
	assert(len > 0);
	first_word(fmt, doing, sizeof(doing));
	return run_formatted(r, 0, command, (size_t)len, doing, ret_reply, err);
}

static char *format(int argc, const char **argv, const size_t *lens, size_t *ret_len)
{
	char *command = NULL;
	int len = redisFormatCommandArgv(&command, argc, argv, lens);

	assert(len > 0);
	*ret_len = (size_t)len;
	return command;
}

int redis_argv(struct redis *r, int64_t extra_ms, int argc, const char **argv, const size_t *lens,
    redisReply **ret_reply, struct err *err)
{
	char doing[32];
	size_t len;
	char *command = format(argc, argv, lens, &len);

	first_word(argv[0], doing, sizeof(doing));
	return run_formatted(r, extra_ms, command, len, doing, ret_reply, err);
}

int redis_error(struct redis *r, const redisReply *reply, const char *doing, struct err *err)
{
	/* UNBLOCKED: the master that we were waiting on has become a replica. */
	static const char *const leave[] = {"READONLY", "MASTERDOWN", "UNBLOCKED"};

	for (size_t i = 0; i < sizeof(leave) / sizeof(leave[0]); i++) {
		if (is_error(reply, leave[i]))
			r->broken = true;
	}
	return err_set(err, is_error(reply, "WRONGTYPE") ? ERR_REJECT : ERR_RETRY, "Redis: %s: %s",
	    doing, reply->str);
}

const redisReply *redis_field(const redisReply *reply, const char *name)
{
	if (reply->type != REDIS_REPLY_ARRAY)
		return NULL;
	for (size_t i = 0; i + 1 < reply->elements; i += 2) {
		const redisReply *key = reply->element[i];
		if ((key->type == REDIS_REPLY_STRING || key->type == REDIS_REPLY_STATUS) &&
		    strcmp(key->str, name) == 0)
			return reply->element[i + 1];
	}
	return NULL;
}

static int connect_socket(struct redis *r, const struct redis_url *url, struct err *err)
{
	int error = 0;
	socklen_t len = sizeof(error);

	r->context = url->path ? redisConnectUnixNonBlock(url->path)
			       : redisConnectNonBlock(url->host, url->port);
	if (!r->context)
		return fail(r, err, "connect", "out of memory");
	if (r->context->err)
		return fail(r, err, "connect", r->context->errstr);
	if (!await_socket(r, POLLOUT, r->deadline_us))
		return fail(r, err, "connect", "timed out");
	if (getsockopt(r->context->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	if (error)
		return fail(r, err, "connect", strerror(error));
	if (url->host && redisEnableKeepAlive(r->context) != REDIS_OK)
		return fail(r, err, "connect", r->context->errstr);
	return 0;
}

static int authenticate(struct redis *r, const struct redis_url *url, struct err *err)
{
	if (url->user)
		return redis_command(r, NULL, err, "AUTH %s %s", url->user, url->password);
	if (url->password)
		return redis_command(r, NULL, err, "AUTH %s", url->password);
	return 0;
}

static int select_db(struct redis *r, int db, struct err *err)
{
	return db ? redis_command(r, NULL, err, "SELECT %d", db) : 0;
}

static bool is_master(const redisReply *role)
{
	return role->type == REDIS_REPLY_ARRAY && role->elements > 0 &&
	       role->element[0]->type == REDIS_REPLY_STRING &&
	       strcmp(role->element[0]->str, "master") == 0;
}

static int check_role(struct redis *r, struct err *err)
{
	redisReply *reply = NULL;
	int rc = -1;

	if (exchange(r, "*1\r\n$4\r\nROLE\r\n", 14, &reply, err) < 0)
		goto done;
	/* A user that may not ask learns it from READONLY, at the first write. */
	if (is_error(reply, "NOPERM") || is_master(reply))
		rc = 0;
	else if (reply->type == REDIS_REPLY_ERROR)
		redis_error(r, reply, "ROLE", err);
	else
		fail(r, err, "ROLE", "not a master");
done:
	freeReplyObject(reply);
	return rc;
}

int redis_open(const char *url, int64_t timeout_ms, struct redis **ret_redis, struct err *err)
{
	struct redis *r = mem_zalloc(1, sizeof(*r));
	struct redis_url parts;
	int rc = -1;

	r->timeout_ms = timeout_ms;
	start_clock(r, 0);
	r->opening = true;
	if (redis_url_parse(url, &parts, err) < 0)
		goto done;
	if (connect_socket(r, &parts, err) < 0 || authenticate(r, &parts, err) < 0 ||
	    select_db(r, parts.db, err) < 0 || check_role(r, err) < 0)
		goto done;
	r->opening = false;
	*ret_redis = r;
	r = NULL; /* the caller's now */
	rc = 0;
done:
	redis_url_done(&parts);
	redis_close(r);
	return rc;
}

void redis_close(struct redis *r)
{
	if (!r)
		return;
	if (r->context)
		redisFree(r->context);
	if (r->eval)
		redisFreeCommand(r->eval);
	free(r);
}

bool redis_broken(const struct redis *r)
{
	return r->broken;
}

void redis_script_init(struct redis_script *s, const char *text)
{
	unsigned char digest[20];
	unsigned int len = sizeof(digest);

	if (!EVP_Digest(text, strlen(text), digest, &len, EVP_sha1(), NULL))
		abort();
	s->text = text;
	for (size_t i = 0; i < sizeof(digest); i++)
		snprintf(s->sha1 + 2 * i, 3, "%02x", digest[i]);
}

int redis_eval_send(struct redis *r, const struct redis_script *s, int n_keys, int argc,
    const char **argv, const size_t *lens, struct err *err)
{
	char keys[16];
	const char **all = mem_alloc((size_t)(argc + 3) * sizeof(*all));
	size_t *all_lens = mem_alloc((size_t)(argc + 3) * sizeof(*all_lens));

	assert(!r->eval);
	snprintf(keys, sizeof(keys), "%d", n_keys);
	all[0] = "EVALSHA";
	all[1] = s->sha1;
	all[2] = keys;
	for (int i = 0; i < argc; i++)
		all[i + 3] = argv[i];
	for (int i = 0; i < argc + 3; i++)
		all_lens[i] = i >= 3 && lens ? lens[i - 3] : strlen(all[i]);
	r->eval = format(argc + 3, all, all_lens, &r->eval_len);
	r->eval_text = s->text;
	free(all_lens);
	free(all);

	start_clock(r, 0);
	if (send_all(r, r->eval, r->eval_len, err) == 0)
		return 0;
	redisFreeCommand(r->eval);
	r->eval = NULL;
	return -1;
}

int redis_wait(struct redis *r, int64_t wait_ms)
{
	const redisReader *reader = r->context->reader;

	if (r->broken)
		return -1;
	if (reader->pos < reader->len)
		return 1;
	return await_socket(r, POLLIN, clock_mono_us() + wait_ms * 1000);
}

/* The server has forgotten the script (restart, SCRIPT FLUSH): give it the text, and ask again. */
static int eval_again(struct redis *r, redisReply **reply, struct err *err)
{
	freeReplyObject(*reply);
	*reply = NULL;
	if (redis_command(r, NULL, err, "SCRIPT LOAD %s", r->eval_text) < 0)
		return -1;
	start_clock(r, 0);
	return exchange(r, r->eval, r->eval_len, reply, err);
}

int redis_eval_receive(struct redis *r, redisReply **ret_reply, struct err *err)
{
	redisReply *reply = NULL;
	int rc = -1;

	assert(r->eval);
	if (receive(r, &reply, err) < 0)
		goto done;
	if (is_error(reply, "NOSCRIPT") && eval_again(r, &reply, err) < 0)
		goto done;
	rc = finish(r, reply, ret_reply, "EVALSHA", err);
	reply = NULL; /* finish() has taken it */
done:
	freeReplyObject(reply);
	redisFreeCommand(r->eval);
	r->eval = NULL;
	return rc;
}

int redis_eval(struct redis *r, const struct redis_script *s, int n_keys, int argc,
    const char **argv, const size_t *lens, redisReply **ret_reply, struct err *err)
{
	if (redis_eval_send(r, s, n_keys, argc, argv, lens, err) < 0)
		return -1;
	return redis_eval_receive(r, ret_reply, err);
}
