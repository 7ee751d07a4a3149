#include "tests/support/test_responder.h"

#include "tests/support/die.h"
#include "tests/support/text.h"

#include <arpa/inet.h>
#include <openssl/ocsp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

struct responder {
	int listener;
	char *url;
	pthread_t thread;
	const struct test_ca *ca;
	atomic_int mood, asked;
	atomic_bool stop;
};

/* Who asked may have left. */
static void send_all(int fd, const void *bytes, size_t len)
{
	const char *p = bytes;

	while (len > 0) {
		ssize_t n = send(fd, p, len, MSG_NOSIGNAL);

		if (n <= 0)
			return;
		p += n;
		len -= (size_t)n;
	}
}

static void write_answer(struct responder *r, int fd, const char *request, size_t len)
{
	static const int statuses[] = {
	    [ANSWERS_GOOD] = V_OCSP_CERTSTATUS_GOOD,
	    [ANSWERS_REVOKED] = V_OCSP_CERTSTATUS_REVOKED,
	    [ANSWERS_UNKNOWN] = V_OCSP_CERTSTATUS_UNKNOWN,
	};
	static const char nonsense[] = "nonsense";
	size_t answer_len = strlen(nonsense);
	void *answer = NULL;
	int mood = r->mood;
	char *head;

	if (mood <= ANSWERS_UNKNOWN)
		answer = test_ca_ocsp_answer(r->ca, request, len, statuses[mood], time(NULL) - 60,
		    time(NULL) + 3600, &answer_len);
	head = text_format(
	    "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n", answer_len);
	send_all(fd, head, strlen(head));
	send_all(fd, answer ? answer : nonsense, answer_len);
	free(head);
	OPENSSL_free(answer);
}

/* The request's body, once all of it is there. */
static bool has_body(const char *text, size_t len, const char **ret_body, size_t *ret_len)
{
	const char *end = memmem(text, len, "\r\n\r\n", 4);
	const char *length = strcasestr(text, "content-length:");

	if (!end || !length)
		return false;
	*ret_body = end + 4;
	*ret_len = strtoul(length + strlen("content-length:"), NULL, 10);
	return (size_t)(text + len - *ret_body) >= *ret_len;
}

static void serve_one(struct responder *r, int fd)
{
	char text[8192];
	const char *body;
	size_t len = 0, body_len;

	while (len < sizeof(text) - 1) {
		ssize_t n = read(fd, text + len, sizeof(text) - 1 - len);

		if (n <= 0)
			return;
		len += (size_t)n;
		text[len] = '\0';
		if (!has_body(text, len, &body, &body_len))
			continue;
		r->asked++;
		if (r->mood != SILENT) {
			write_answer(r, fd, body, body_len);
			return;
		}
	}
}

static void *serve(void *ctx)
{
	struct responder *r = ctx;
	int fd;

	while (!r->stop && (fd = accept(r->listener, NULL, NULL)) >= 0) {
		serve_one(r, fd);
		close(fd);
	}
	return NULL;
}

struct responder *responder_open(enum mood mood)
{
	struct responder *r = calloc(1, sizeof(*r));
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t len = sizeof(at);

	if (!r)
		die("no memory");
	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	r->mood = mood;
	r->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (r->listener < 0 || bind(r->listener, (struct sockaddr *)&at, sizeof(at)) < 0 ||
	    listen(r->listener, 16) < 0 ||
	    getsockname(r->listener, (struct sockaddr *)&at, &len) < 0 ||
	    pthread_create(&r->thread, NULL, serve, r) != 0)
		die("no responder: %m");
	r->url = text_format("http://127.0.0.1:%d/ocsp", ntohs(at.sin_port));
	return r;
}

void responder_close(struct responder *r)
{
	r->stop = true;
	shutdown(r->listener, SHUT_RDWR);
	pthread_join(r->thread, NULL);
	close(r->listener);
	free(r->url);
	free(r);
}

const char *responder_url(const struct responder *r)
{
	return r->url;
}

void responder_set_ca(struct responder *r, const struct test_ca *ca)
{
	r->ca = ca;
}

void responder_set_mood(struct responder *r, enum mood mood)
{
	r->mood = (int)mood;
}

int responder_asked(struct responder *r)
{
	return r->asked;
}
