#include "common/redis.h"

#include "common/clock.h"
#include "common/hex.h"
#include "common/memory.h"
#include "common/redis_private.h"
#include "common/role.h"

#include <assert.h>
#include <errno.h>
#include <openssl/evp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int redis_fail(struct redis *r, struct err *err, const char *doing, const char *why)
{
	r->broken = true;
	err_set(err, ERR_RETRY, "Redis: %s: %s", doing, why);
	return -1;
}

void redis_begin(struct redis *r, int64_t extra_ms)
{
	r->error[0] = '\0';
	if (!r->opening)
		r->deadline_us = clock_mono_us() + (r->timeout_ms + extra_ms) * 1000;
}

int redis_await(const struct redis *r, short events, int64_t deadline_us)
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
		return redis_fail(r, err, "send", "the connection is broken");
	while (len > 0) {
		ssize_t n = send(r->context->fd, bytes, len, MSG_NOSIGNAL);
		if (n >= 0) {
			bytes += n;
			len -= (size_t)n;
		} else if (errno == EAGAIN) {
			if (!redis_await(r, POLLOUT, r->deadline_us))
				return redis_fail(r, err, "send", "timed out");
		} else if (errno != EINTR) {
			return redis_fail(r, err, "send", strerror(errno));
		}
	}
	return 0;
}

static int receive(struct redis *r, redisReply **ret_reply, struct err *err)
{
	void *reply = NULL;

	if (r->broken)
		return redis_fail(r, err, "receive", "the connection is broken");
	for (;;) {
		if (redisGetReplyFromReader(r->context, &reply) != REDIS_OK)
			return redis_fail(r, err, "receive", r->context->errstr);
		if (reply)
			break;
		if (!redis_await(r, POLLIN, r->deadline_us))
			return redis_fail(r, err, "receive", "timed out");
		if (redisBufferRead(r->context) != REDIS_OK)
			return redis_fail(r, err, "receive", r->context->errstr);
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
		snprintf(r->error, sizeof(r->error), "%s", reply->str);
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

int redis_exchange(
    struct redis *r, const char *command, size_t len, redisReply **ret_reply, struct err *err)
{
	if (send_all(r, command, len, err) < 0)
		return -1;
	return receive(r, ret_reply, err);
}

/* The same, at the other node if this one says that it has the key. */
static int exchange(
    struct redis *r, const char *command, size_t len, redisReply **ret_reply, struct err *err)
{
	redisReply *reply = NULL;

	if (redis_exchange(r, command, len, &reply, err) < 0 ||
	    redis_cluster_ask(r, command, len, &reply, err) < 0)
		return -1;
	*ret_reply = reply;
	return 0;
}

/* Takes over the formatted command. */
static int run_formatted(struct redis *r, int64_t extra_ms, char *command, size_t len,
    const char *doing, redisReply **ret_reply, struct err *err)
{
	redisReply *reply;
	int rc = -1;

	redis_begin(r, extra_ms);
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

int redis_multi(struct redis *r, struct err *err)
{
	if (redis_command(r, NULL, err, "MULTI") < 0)
		return -1;
	r->multi = true;
	return 0;
}

/* Redis runs the commands of a transaction all, also after one that fails. */
static int check_exec(struct redis *r, const redisReply *reply, struct err *err)
{
	if (reply->type != REDIS_REPLY_ARRAY)
		return err_set(err, ERR_RETRY, "Redis: EXEC: unexpected reply");
	for (size_t i = 0; i < reply->elements; i++)
		if (reply->element[i]->type == REDIS_REPLY_ERROR)
			return redis_error(r, reply->element[i], "EXEC", err);
	return 0;
}

int redis_exec(struct redis *r, struct err *err)
{
	redisReply *reply = NULL;
	int rc;

	if (redis_command(r, &reply, err, "EXEC") < 0)
		return -1;
	r->multi = false;
	rc = check_exec(r, reply, err);
	freeReplyObject(reply);
	return rc;
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

static bool is_one_of(const redisReply *reply, const char *const *codes)
{
	for (; *codes; codes++) {
		if (is_error(reply, *codes))
			return true;
	}
	return false;
}

/* A script's own commands are denied under the code ERR by Redis 7.0 and 7.2. */
static bool is_denied(const redisReply *reply)
{
	return is_error(reply, "NOPERM") || strstr(reply->str, "The user executing the script") ||
	       strstr(reply->str, "ACL failure in script");
}

int redis_error(struct redis *r, const redisReply *reply, const char *doing, struct err *err)
{
	/* UNBLOCKED: the master that we were waiting on has become a replica. */
	static const char *const leave[] = {
	    "READONLY", "MASTERDOWN", "UNBLOCKED", "MOVED", "ASK", "CLUSTERDOWN", NULL};
	const char *advice = "";

	if (is_denied(reply) && !r->sentinel)
		return err_set(err, ERR_USAGE,
		    "Redis: %s: %s (log in as %s, which has the rights in schema/redis.acl)", doing,
		    reply->str, role_name());
	if (is_one_of(reply, leave))
		r->broken = true;
	if (is_error(reply, "NOAUTH") && !r->sentinel)
		advice = " (the URL has no user and password: schema/redis.acl has them)";
	else if (is_error(reply, "WRONGPASS") && !r->sentinel)
		advice = " (schema/redis.acl has the users and their rights)";
	else if (is_error(reply, "MOVED") && !r->cluster)
		advice = " (the URL of a cluster begins with redis+cluster://)";
	return err_set(err, is_error(reply, "WRONGTYPE") ? ERR_REJECT : ERR_RETRY,
	    "Redis: %s: %s%s", doing, reply->str, advice);
}

const char *redis_text(const redisReply *reply)
{
	bool is_text = reply->type == REDIS_REPLY_STRING || reply->type == REDIS_REPLY_STATUS;

	return is_text ? reply->str : NULL;
}

const redisReply *redis_field(const redisReply *reply, const char *name)
{
	if (reply->type != REDIS_REPLY_ARRAY)
		return NULL;
	for (size_t i = 0; i + 1 < reply->elements; i += 2) {
		const char *key = redis_text(reply->element[i]);
		if (key && strcmp(key, name) == 0)
			return reply->element[i + 1];
	}
	return NULL;
}

bool redis_failed_with(const struct redis *r, const char *start)
{
	return strncmp(r->error, start, strlen(start)) == 0;
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
	hex_format(digest, sizeof(digest), s->sha1);
}

int redis_script_load(struct redis *r, const struct redis_script *s, struct err *err)
{
	return redis_command(r, NULL, err, "SCRIPT LOAD %s", s->text);
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
	r->eval_script = s;
	free(all_lens);
	free(all);

	redis_begin(r, 0);
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
	return redis_await(r, POLLIN, clock_mono_us() + wait_ms * 1000);
}

/* The server does not know the script (restart, SCRIPT FLUSH, another node): give it the text, and
 * ask again. */
static int eval_again(struct redis *r, redisReply **reply, struct err *err)
{
	freeReplyObject(*reply);
	*reply = NULL;
	if (redis_script_load(r, r->eval_script, err) < 0 ||
	    (r->other && redis_script_load(r->other, r->eval_script, err) < 0))
		return -1;
	redis_begin(r, 0);
	return exchange(r, r->eval, r->eval_len, reply, err);
}

int redis_eval_receive(struct redis *r, redisReply **ret_reply, struct err *err)
{
	redisReply *reply = NULL;
	int rc = -1;

	assert(r->eval);
	if (receive(r, &reply, err) < 0 ||
	    redis_cluster_ask(r, r->eval, r->eval_len, &reply, err) < 0)
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
