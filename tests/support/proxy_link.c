#include "tests/support/die.h"
#include "tests/support/pause.h"
#include "tests/support/proxy_private.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

/* All here are called with the lock held, unless it says so. */

/* INT64_MAX: only for a change. */
static void wait_until(struct proxy *p, int64_t due_ms)
{
	struct timespec due = {due_ms / 1000, due_ms % 1000 * 1000000};

	if (due_ms == INT64_MAX)
		pthread_cond_wait(&p->changed, &p->lock);
	else
		pthread_cond_timedwait(&p->changed, &p->lock, &due);
}

/* A shutdown for reading ends a blocked read, and sends nothing; a client's socket that is closed
 * with a linger time of 0 sends a reset. */
void link_cut(struct link *l, enum proxy_cut how)
{
	const struct linger at_once = {1, 0};

	if (how == PROXY_RESET)
		setsockopt(l->client, SOL_SOCKET, SO_LINGER, &at_once, sizeof(at_once));
	shutdown(l->client, how == PROXY_RESET ? SHUT_RD : SHUT_RDWR);
	shutdown(l->server, SHUT_RDWR);
	l->dead = true;
	pthread_cond_broadcast(&l->proxy->changed);
}

static bool is_held(const struct pump *pump)
{
	return pump->link->forgotten || (pump->link->proxy->held & pump->way);
}

/* False: the link is cut. */
static bool await_passage(const struct pump *pump)
{
	struct proxy *p = pump->link->proxy;
	int64_t since_ms = now_ms();

	while (!pump->link->dead && (is_held(pump) || now_ms() < since_ms + p->delay_ms))
		wait_until(p, is_held(pump) ? INT64_MAX : since_ms + p->delay_ms);
	return !pump->link->dead;
}

/* How much of pending may go on; *ret_cut: and no more after it. */
static size_t judge_answers(struct pump *pump, bool *ret_cut)
{
	struct proxy *p = pump->link->proxy;
	const char *all = (const char *)evbuffer_pullup(pump->pending, -1);
	size_t len = evbuffer_get_length(pump->pending), at = pump->held, released = 0, n;
	enum answer answer;

	while ((n = answers_reply(pump->link->answers, all + at, len - at, &answer)) > 0) {
		if (answer == ANSWER_DONE && p->pattern != NULL) {
			free(p->pattern);
			p->pattern = NULL;
			p->answers_cut++;
			*ret_cut = true;
			return p->keep == PROXY_KEEP_END ? at : released;
		}
		at += n;
		if (answer != ANSWER_PART)
			released = at;
	}
	pump->held = at - released;
	return released;
}

static void note_hello(struct link *l, const char *bytes, size_t len)
{
	if (l->hello_len > 0)
		return;
	l->hello_len = len < sizeof(l->hello) ? len : sizeof(l->hello);
	memcpy(l->hello, bytes, l->hello_len);
}

static size_t judge(struct pump *pump, const char *bytes, size_t len, bool *ret_cut)
{
	struct proxy *p = pump->link->proxy;
	size_t *left = &p->left[pump->way - 1], released = len;

	evbuffer_add(pump->pending, bytes, len);
	if (pump->way == PROXY_TO_SERVER) {
		note_hello(pump->link, bytes, len);
		answers_request(pump->link->answers, bytes, len, p->pattern);
	} else {
		released = judge_answers(pump, ret_cut);
	}
	if (*left != NO_LIMIT && released >= *left) {
		released = *left;
		*left = NO_LIMIT;
		*ret_cut = true;
	} else if (*left != NO_LIMIT) {
		*left -= released;
	}
	return released;
}

/* Without the lock. The other end may be gone, which its own pump will see. */
static void send_pending(struct pump *pump, size_t len)
{
	const char *bytes = (const char *)evbuffer_pullup(pump->pending, (ssize_t)len);

	for (size_t sent = 0; sent < len;) {
		ssize_t n = send(pump->to, bytes + sent, len - sent, MSG_NOSIGNAL);

		if (n <= 0)
			break;
		sent += (size_t)n;
	}
}

/* Without the lock. What was read, a part of it, or nothing goes on. False: the link is cut. */
static bool pass(struct pump *pump, const char *bytes, size_t len)
{
	struct link *l = pump->link;
	struct proxy *p = l->proxy;
	bool cuts = false, alive, ended;
	size_t released = 0;

	pthread_mutex_lock(&p->lock);
	alive = await_passage(pump);
	if (alive)
		released = judge(pump, bytes, len, &cuts);
	ended = pump->ended;
	pthread_mutex_unlock(&p->lock);
	if (!ended)
		send_pending(pump, released);
	evbuffer_drain(pump->pending, released);
	if (!cuts)
		return alive;
	pthread_mutex_lock(&p->lock);
	link_cut(l, PROXY_CLOSE);
	pthread_mutex_unlock(&p->lock);
	return false;
}

static void end_way(struct pump *pump)
{
	pump->ended = true;
	shutdown(pump->to, SHUT_WR);
}

void link_half_close(struct link *l, enum proxy_way way)
{
	end_way(way == PROXY_TO_SERVER ? &l->up : &l->down);
}

/* The last one closes the door. */
static void leave(struct pump *pump)
{
	struct link *l = pump->link, **at = &l->proxy->links;

	evbuffer_free(pump->pending);
	if (--l->running > 0)
		return;
	while (*at != l)
		at = &(*at)->next;
	*at = l->next;
	close(l->client);
	close(l->server);
	answers_free(l->answers);
	pthread_cond_broadcast(&l->proxy->changed);
	free(l);
}

static void *run_pump(void *ctx)
{
	struct pump *pump = ctx;
	struct link *l = pump->link;
	struct proxy *p = l->proxy;
	char bytes[16384];
	ssize_t n;

	while ((n = recv(pump->from, bytes, sizeof(bytes), 0)) > 0 && pass(pump, bytes, (size_t)n))
		;
	pthread_mutex_lock(&p->lock);
	if (n < 0)
		link_cut(l, PROXY_RESET);
	else if (n == 0 && await_passage(pump))
		end_way(pump);
	leave(pump);
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

static void start_pump(struct link *l, struct pump *pump, enum proxy_way way)
{
	bool up = way == PROXY_TO_SERVER;
	pthread_t thread;

	*pump = (struct pump){.link = l,
	    .way = way,
	    .from = up ? l->client : l->server,
	    .to = up ? l->server : l->client,
	    .pending = evbuffer_new()};
	if (pthread_create(&thread, NULL, run_pump, pump) != 0)
		die("cannot start a thread of a proxy");
	pthread_detach(thread);
}

void link_start(struct proxy *p, int client, int server)
{
	struct link *l = calloc(1, sizeof(*l));
	int on = 1;

	if (l == NULL)
		die("out of memory");
	setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	*l = (struct link){.proxy = p, .client = client, .server = server, .running = 2};
	l->answers = answers_new(p->protocol);
	pthread_mutex_lock(&p->lock);
	l->next = p->links;
	p->links = l;
	start_pump(l, &l->up, PROXY_TO_SERVER);
	start_pump(l, &l->down, PROXY_TO_CLIENT);
	pthread_mutex_unlock(&p->lock);
}
