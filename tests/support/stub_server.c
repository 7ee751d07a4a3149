#include "tests/support/stub_server.h"

#include "tests/support/die.h"
#include "tests/support/text.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

#define MAX_HANGING 64

struct stub_server {
	int listener;
	int stop[2]; /* a pipe: closing its end wakes the thread */
	char *url;
	pthread_t thread;
	pthread_mutex_t lock; /* of the next three */
	int status, hits;
	char *headers, *body, *last;
	size_t len;
	int hanging[MAX_HANGING];
	size_t n_hanging;
};

static size_t content_length(const char *head)
{
	const char *line = strcasestr(head, "\r\nContent-Length:");

	return line ? strtoul(line + 17, NULL, 10) : 0;
}

/* A whole request, NUL-terminated. */
static char *read_request(int fd)
{
	char *text = NULL;
	size_t len = 0;

	for (;;) {
		const char *end;
		ssize_t n;

		text = realloc(text, len + 4097);
		n = read(fd, text + len, 4096);
		if (n <= 0)
			break;
		len += (size_t)n;
		text[len] = '\0';
		end = strstr(text, "\r\n\r\n");
		if (end && len >= (size_t)(end + 4 - text) + content_length(text))
			return text;
	}
	free(text);
	return NULL;
}

static void write_all(int fd, const char *bytes, size_t len)
{
	while (len > 0) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		bytes += n;
		len -= (size_t)n;
	}
}

static void answer(struct stub_server *s, int fd)
{
	char *request = read_request(fd);

	pthread_mutex_lock(&s->lock);
	if (request) {
		free(s->last);
		s->last = request;
		s->hits++;
	}
	if (s->status == 0 && s->n_hanging < MAX_HANGING) {
		s->hanging[s->n_hanging++] = fd;
		fd = -1;
	} else if (s->status > 0) {
		char *head =
		    text_format("HTTP/1.1 %d Status\r\nContent-Length: %zu\r\n%sConnection: "
				"close\r\n\r\n",
			s->status, s->len, s->headers);

		write_all(fd, head, strlen(head));
		write_all(fd, s->body, s->len);
		free(head);
	}
	pthread_mutex_unlock(&s->lock);
	if (fd >= 0)
		close(fd);
}

static void *serve(void *ctx)
{
	struct stub_server *s = ctx;
	struct pollfd fds[] = {{s->listener, POLLIN, 0}, {s->stop[0], POLLIN, 0}};

	while (poll(fds, 2, -1) >= 0 && !fds[1].revents) {
		int fd = accept(s->listener, NULL, NULL);

		if (fd >= 0)
			answer(s, fd);
	}
	return NULL;
}

struct stub_server *stub_open(void)
{
	struct stub_server *s = calloc(1, sizeof(*s));
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);

	s->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(s->listener, (struct sockaddr *)&at, len) < 0 || listen(s->listener, 64) < 0 ||
	    getsockname(s->listener, (struct sockaddr *)&at, &len) < 0 || pipe(s->stop) < 0)
		die("cannot open a stub server");
	s->url = text_format("http://127.0.0.1:%d/x", ntohs(at.sin_port));
	pthread_mutex_init(&s->lock, NULL);
	stub_answer(s, 404, "", "", 0);
	if (pthread_create(&s->thread, NULL, serve, s) != 0)
		die("cannot start a stub server");
	return s;
}

void stub_close(struct stub_server *s)
{
	close(s->stop[1]);
	pthread_join(s->thread, NULL);
	for (size_t i = 0; i < s->n_hanging; i++)
		close(s->hanging[i]);
	close(s->listener);
	close(s->stop[0]);
	pthread_mutex_destroy(&s->lock);
	free(s->headers);
	free(s->body);
	free(s->last);
	free(s->url);
	free(s);
}

const char *stub_url(const struct stub_server *s)
{
	return s->url;
}

void stub_answer(
    struct stub_server *s, int status, const char *headers, const void *body, size_t len)
{
	pthread_mutex_lock(&s->lock);
	free(s->headers);
	free(s->body);
	s->status = status;
	s->headers = strdup(headers);
	s->body = malloc(len + 1);
	memcpy(s->body, body, len);
	s->len = len;
	pthread_mutex_unlock(&s->lock);
}

int stub_hits(struct stub_server *s)
{
	int hits;

	pthread_mutex_lock(&s->lock);
	hits = s->hits;
	pthread_mutex_unlock(&s->lock);
	return hits;
}

char *stub_last_request(struct stub_server *s)
{
	char *last;

	pthread_mutex_lock(&s->lock);
	last = s->last ? strdup(s->last) : NULL;
	pthread_mutex_unlock(&s->lock);
	return last;
}
