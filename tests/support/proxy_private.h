/*
 * proxy_private.h - what proxy.c (faults) and proxy_link.c (connections) share.
 */
#ifndef UMAVEZ_TESTS_PROXY_PRIVATE_H
#define UMAVEZ_TESTS_PROXY_PRIVATE_H

#include "tests/support/proxy.h"
#include "tests/support/proxy_answers.h"

#include <event2/buffer.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/un.h>

#define NO_LIMIT SIZE_MAX

/*
 * One way of a link.  Its thread reads, waits until it may go on, and writes.
 *
 *   flowing ──end of the sender, half_close──▶ ended ──link cut, or the other way ended──▶ gone
 */
struct pump {
	struct link *link;
	enum proxy_way way;
	int from, to;
	bool ended;               /* what comes goes nowhere */
	struct evbuffer *pending; /* begins with what was not sent yet */
	size_t held;              /* the beginning of pending: parts of an answer that may be cut */
};

struct link {
	struct proxy *proxy;
	struct link *next;
	int client, server;
	int running; /* pumps */
	bool dead;
	bool forgotten;   /* nothing goes on, ever */
	char hello[1024]; /* the beginning of what the client sent at first */
	size_t hello_len;
	struct answers *answers;
	struct pump up, down;
};

struct proxy {
	enum proxy_protocol protocol;
	int port, listener;
	int stop[2]; /* a pipe: closing its end stops the accepting thread */
	pthread_t thread;

	pthread_mutex_t lock; /* of all below, and of links but for their reading and writing */
	pthread_cond_t changed;
	struct sockaddr_un server;
	struct link *links;
	unsigned held; /* ways */
	int64_t delay_ms;
	size_t left[PROXY_BOTH]; /* by way: bytes until the cut, or NO_LIMIT */
	char *pattern;           /* of the answer to be cut; NULL: none */
	enum proxy_keep keep;
	int answers_cut;
};

/* Takes both sockets over. */
void link_start(struct proxy *p, int client, int server);

/* Called with the lock held. */
void link_cut(struct link *l, enum proxy_cut how);
void link_half_close(struct link *l, enum proxy_way way);

#endif
