#include "tests/support/die.h"
#include "tests/support/proxy_private.h"
#include "tests/support/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void set_limit(struct proxy *p, enum proxy_way way, size_t bytes)
{
	p->left[way - 1] = bytes;
}

/* A server that does not listen refuses, and so do we. */
static void accept_link(struct proxy *p)
{
	int client = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un at;

	pthread_mutex_lock(&p->lock);
	at = p->server;
	pthread_mutex_unlock(&p->lock);

	if (client >= 0 && server >= 0 &&
	    connect(server, (struct sockaddr *)&at, sizeof(at)) == 0) {
		link_start(p, client, server);
		return;
	}
	if (client >= 0)
		close(client);
	if (server >= 0)
		close(server);
}

static void *run_listener(void *ctx)
{
	struct proxy *p = ctx;
	struct pollfd fds[] = {{p->listener, POLLIN, 0}, {p->stop[0], POLLIN, 0}};

	while (poll(fds, 2, -1) >= 0 && !fds[1].revents)
		accept_link(p);
	return NULL;
}

static void listen_anywhere(struct proxy *p)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);

	p->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(p->listener, (struct sockaddr *)&at, len) < 0 || listen(p->listener, 64) < 0 ||
	    getsockname(p->listener, (struct sockaddr *)&at, &len) < 0)
		die("a proxy cannot listen: %s", strerror(errno));
	p->port = ntohs(at.sin_port);
}

enum proxy_protocol proxy_protocol(const struct proxy *p)
{
	return p->protocol;
}

int proxy_port(const struct proxy *p)
{
	return p->port;
}

void proxy_set_server(struct proxy *p, const char *server)
{
	pthread_mutex_lock(&p->lock);
	p->server.sun_family = AF_UNIX;
	snprintf(p->server.sun_path, sizeof(p->server.sun_path), "%s", server);
	pthread_mutex_unlock(&p->lock);
}

struct proxy *proxy_open(enum proxy_protocol protocol, const char *server)
{
	struct proxy *p = calloc(1, sizeof(*p));
	pthread_condattr_t monotonic;

	if (p == NULL)
		die("out of memory");
	p->protocol = protocol;
	set_limit(p, PROXY_TO_SERVER, NO_LIMIT);
	set_limit(p, PROXY_TO_CLIENT, NO_LIMIT);
	pthread_mutex_init(&p->lock, NULL);
	proxy_set_server(p, server);
	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(&p->changed, &monotonic);
	pthread_condattr_destroy(&monotonic);
	listen_anywhere(p);
	if (pipe2(p->stop, O_CLOEXEC) < 0 || pthread_create(&p->thread, NULL, run_listener, p) != 0)
		die("cannot start a proxy");
	return p;
}

void proxy_close(struct proxy *p)
{
	if (p == NULL)
		return;
	close(p->stop[1]);
	pthread_join(p->thread, NULL);
	close(p->stop[0]);
	close(p->listener);
	proxy_cut(p, PROXY_CLOSE);
	pthread_mutex_lock(&p->lock);
	while (p->links != NULL)
		pthread_cond_wait(&p->changed, &p->lock);
	pthread_mutex_unlock(&p->lock);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p->pattern);
	free(p);
}

/* postgresql://role@/name?host=... and unix://user:password@/path?db=n: as tests' servers have
 * them. */
char *proxy_url(const struct proxy *p, const char *url)
{
	const char *user = strstr(url, "://") + 3, *at = strchr(user, '@');
	const char *name = strrchr(url, '/');
	int user_len = at != NULL ? (int)(at + 1 - user) : 0;

	if (p->protocol == PROXY_REDIS)
		return text_format("redis://%.*s127.0.0.1:%d/0", user_len, user, p->port);
	/* Nothing but the plain protocol, and no name service to ask. */
	name = at + 2;
	return text_format("postgresql://%.*s127.0.0.1:%d/%.*s?sslmode=disable&gssencmode=disable",
	    user_len, user, p->port, (int)strcspn(name, "?"), name);
}

void proxy_hold(struct proxy *p, unsigned ways)
{
	pthread_mutex_lock(&p->lock);
	p->held = ways;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

void proxy_forget(struct proxy *p)
{
	pthread_mutex_lock(&p->lock);
	for (struct link *l = p->links; l != NULL; l = l->next)
		l->forgotten = true;
	pthread_mutex_unlock(&p->lock);
}

int proxy_forget_client(struct proxy *p, const char *name)
{
	int n = 0;

	pthread_mutex_lock(&p->lock);
	for (struct link *l = p->links; l != NULL; l = l->next) {
		if (l->dead || l->forgotten ||
		    memmem(l->hello, l->hello_len, name, strlen(name)) == NULL)
			continue;
		l->forgotten = true;
		n++;
	}
	pthread_mutex_unlock(&p->lock);
	return n;
}

void proxy_delay(struct proxy *p, int64_t ms)
{
	pthread_mutex_lock(&p->lock);
	p->delay_ms = ms;
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

void proxy_cut(struct proxy *p, enum proxy_cut how)
{
	pthread_mutex_lock(&p->lock);
	for (struct link *l = p->links; l != NULL; l = l->next)
		link_cut(l, how);
	pthread_mutex_unlock(&p->lock);
}

void proxy_half_close(struct proxy *p, enum proxy_way way)
{
	pthread_mutex_lock(&p->lock);
	for (struct link *l = p->links; l != NULL; l = l->next)
		link_half_close(l, way);
	pthread_mutex_unlock(&p->lock);
}

void proxy_cut_after(struct proxy *p, enum proxy_way way, size_t bytes)
{
	pthread_mutex_lock(&p->lock);
	set_limit(p, way, bytes);
	pthread_mutex_unlock(&p->lock);
}

void proxy_cut_answer(struct proxy *p, const char *pattern, enum proxy_keep keep)
{
	pthread_mutex_lock(&p->lock);
	free(p->pattern);
	p->pattern = text_format("%s", pattern);
	p->keep = keep;
	pthread_mutex_unlock(&p->lock);
}

void proxy_heal(struct proxy *p)
{
	pthread_mutex_lock(&p->lock);
	p->held = 0;
	p->delay_ms = 0;
	free(p->pattern);
	p->pattern = NULL;
	set_limit(p, PROXY_TO_SERVER, NO_LIMIT);
	set_limit(p, PROXY_TO_CLIENT, NO_LIMIT);
	pthread_cond_broadcast(&p->changed);
	pthread_mutex_unlock(&p->lock);
}

int proxy_answers_cut(struct proxy *p)
{
	int n;

	pthread_mutex_lock(&p->lock);
	n = p->answers_cut;
	pthread_mutex_unlock(&p->lock);
	return n;
}

int proxy_links(struct proxy *p)
{
	int n = 0;

	pthread_mutex_lock(&p->lock);
	for (const struct link *l = p->links; l != NULL; l = l->next)
		n++;
	pthread_mutex_unlock(&p->lock);
	return n;
}
