#include "tests/support/proxy_answers.h"

#include "tests/support/die.h"

#include <arpa/inet.h>
#include <event2/buffer.h>
#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_IN_FLIGHT 256

struct answers {
	enum proxy_protocol protocol;
	bool wanted[MAX_IN_FLIGHT]; /* requests without an answer yet: a ring */
	unsigned first, in_flight;

	struct evbuffer *request; /* PostgreSQL: begins with a message that is not whole yet */
	bool started;             /* the first message, which has no type, has passed */
	bool matches;             /* a message since the last Sync or Query is wanted */
	bool completed, failed;   /* what the answer has said so far */

	redisReader *commands, *replies;
	size_t fed; /* bytes that `replies` has seen already */
};

struct answers *answers_new(enum proxy_protocol protocol)
{
	struct answers *a = calloc(1, sizeof(*a));

	if (a == NULL)
		die("out of memory");
	a->protocol = protocol;
	a->request = evbuffer_new();
	a->commands = redisReaderCreate();
	a->replies = redisReaderCreate();
	return a;
}

void answers_free(struct answers *a)
{
	evbuffer_free(a->request);
	redisReaderFree(a->commands);
	redisReaderFree(a->replies);
	free(a);
}

static void push(struct answers *a, bool wanted)
{
	if (a->in_flight == MAX_IN_FLIGHT)
		die("proxy: too many requests without an answer");
	a->wanted[(a->first + a->in_flight++) % MAX_IN_FLIGHT] = wanted;
}

/* Of the request whose answer is coming in; none was asked for what a server says by itself. */
static bool is_wanted(const struct answers *a)
{
	return a->in_flight > 0 && a->wanted[a->first];
}

static enum answer pop(struct answers *a, bool done)
{
	bool wanted = is_wanted(a);

	if (a->in_flight > 0) {
		a->first = (a->first + 1) % MAX_IN_FLIGHT;
		a->in_flight--;
	}
	return wanted && done ? ANSWER_DONE : ANSWER_OTHER;
}

/* Type (but for the first message), length without the type, content. 0: not whole yet. */
static size_t pg_length(const char *bytes, size_t len, bool typed)
{
	uint32_t length;

	if (len < sizeof(length) + typed)
		return 0;
	memcpy(&length, bytes + typed, sizeof(length));
	length = ntohl(length) + typed;
	return length <= len ? length : 0;
}

static bool pg_names(const char *message, const char *pattern)
{
	const char *text = message + 5;

	switch (*message) {
	case 'Q':
		return strstr(text, pattern) != NULL;
	case 'P': /* the statement's name comes first */
		return strstr(text + strlen(text) + 1, pattern) != NULL;
	case 'B': /* the portal's */
		return strcmp(text + strlen(text) + 1, pattern) == 0;
	default:
		return false;
	}
}

static void pg_message(struct answers *a, const char *message, const char *pattern)
{
	if (!a->started) {
		a->started = true;
		return;
	}
	if (pattern != NULL && pg_names(message, pattern))
		a->matches = true;
	if (*message == 'Q' || *message == 'S') {
		push(a, a->matches);
		a->matches = false;
	}
}

static void pg_request(struct answers *a, const char *bytes, size_t len, const char *pattern)
{
	evbuffer_add(a->request, bytes, len);
	for (;;) {
		const char *all = (const char *)evbuffer_pullup(a->request, -1);
		size_t n = pg_length(all, evbuffer_get_length(a->request), a->started);

		if (n == 0)
			return;
		pg_message(a, all, pattern);
		evbuffer_drain(a->request, n);
	}
}

static size_t pg_reply(struct answers *a, const char *bytes, size_t len, enum answer *ret)
{
	size_t n = pg_length(bytes, len, true);

	if (n == 0)
		return 0;
	*ret = is_wanted(a) ? ANSWER_PART : ANSWER_OTHER;
	switch (*bytes) {
	case 'C': /* CommandComplete: the tag */
		a->completed |= strcmp(bytes + 5, "ROLLBACK") != 0;
		break;
	case 'E':
		a->failed = true;
		break;
	case 'Z': /* ReadyForQuery */
		*ret = pop(a, a->completed && !a->failed && bytes[5] == 'I');
		a->completed = a->failed = false;
		break;
	}
	return n;
}

static redisReply *redis_next(redisReader *reader)
{
	void *reply = NULL;

	if (redisReaderGetReply(reader, &reply) != REDIS_OK)
		die("proxy: not Redis's protocol: %s", reader->errstr);
	return reply;
}

/* A command looks like a reply: an array of strings. */
static void redis_request(struct answers *a, const char *bytes, size_t len, const char *pattern)
{
	redisReply *command;

	redisReaderFeed(a->commands, bytes, len);
	while ((command = redis_next(a->commands)) != NULL) {
		const char *name = command->elements > 0 ? command->element[0]->str : "";

		push(a, pattern != NULL && strncasecmp(name, pattern, strlen(pattern)) == 0);
		freeReplyObject(command);
	}
}

/* Clients wait for each reply: so what comes at once is one. */
static size_t redis_reply(struct answers *a, const char *bytes, size_t len, enum answer *ret)
{
	redisReply *reply;
	bool whole = false;

	redisReaderFeed(a->replies, bytes + a->fed, len - a->fed);
	while ((reply = redis_next(a->replies)) != NULL) {
		*ret = pop(a, reply->type != REDIS_REPLY_ERROR);
		freeReplyObject(reply);
		whole = true;
	}
	a->fed = whole ? 0 : len;
	return whole ? len : 0;
}

void answers_request(struct answers *a, const char *bytes, size_t len, const char *pattern)
{
	if (a->protocol == PROXY_POSTGRES)
		pg_request(a, bytes, len, pattern);
	else
		redis_request(a, bytes, len, pattern);
}

size_t answers_reply(struct answers *a, const char *bytes, size_t len, enum answer *ret)
{
	if (len == 0)
		return 0;
	return a->protocol == PROXY_POSTGRES ? pg_reply(a, bytes, len, ret)
					     : redis_reply(a, bytes, len, ret);
}
