/*
 * health.c - umavez health: does the service behind an admin listener make progress?
 *
 * For whatever runs containers, where there is no other HTTP client.
 */
#include "cli/command.h"
#include "cli/print.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATIENCE_S = 5, ANSWER_SIZE = 4096 };

struct health {
	char *admin_listen;
	bool live;
};

static const struct option options[] = {
    {"admin-listen", OPT_ADDRESS, offsetof(struct health, admin_listen), NULL,
	"As the service has it: " OPTION_ENDPOINT_FORMS, OPT_REQUIRED, 0, 0, NULL, NULL},
    {"live", OPT_BOOL, offsetof(struct health, live), "off",
	"Ask /livez, whether it can answer at all", 0, 0, 0, NULL, NULL},
    {NULL, OPT_STRING, 0, NULL, NULL, 0, 0, 0, NULL, NULL},
};

static const char usage[] = "[OPTION]...\n\n"
			    "Asks a service's /readyz, and prints what it says.  Exits with 0 if "
			    "it makes progress, with 1\n"
			    "if it does not, or does not answer within 5 seconds.";

/* -1, and errno. */
static int connect_to(const struct sockaddr *address, socklen_t len)
{
	const struct timeval patience = {PATIENCE_S, 0};
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	if (connect(fd, address, len) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int connect_unix(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};

	memcpy(address.sun_path, path, strlen(path));
	return connect_to((struct sockaddr *)&address, sizeof(address));
}

/* A listener on every address (host NULL, 0.0.0.0, [::]) is reached as this host. */
static int connect_tcp(const char *host, int port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
	char service[12];
	int fd = -1;

	snprintf(service, sizeof(service), "%d", port);
	if (getaddrinfo(host, service, &hints, &list) != 0) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	for (const struct addrinfo *ai = list; ai && fd < 0; ai = ai->ai_next)
		fd = connect_to(ai->ai_addr, ai->ai_addrlen);
	freeaddrinfo(list);
	return fd;
}

/* The whole answer, NUL-terminated; what does not fit is of no interest. */
static int ask(int fd, const char *path, char answer[ANSWER_SIZE])
{
	char request[100];
	size_t len = 0;
	ssize_t n;
	int size = snprintf(request, sizeof(request),
	    "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", path);

	if (send(fd, request, (size_t)size, MSG_NOSIGNAL) != size)
		return -1;
	while ((n = recv(fd, answer + len, ANSWER_SIZE - 1 - len, 0)) > 0)
		len += (size_t)n;
	answer[len] = '\0';
	return n < 0 ? -1 : 0;
}

static int judge(char *answer, struct err *err)
{
	static const char version[] = "HTTP/1.1 ";
	char *body = strstr(answer, "\r\n\r\n");
	int rc = 0;

	if (!body || strncmp(answer, version, strlen(version)) != 0)
		return err_set(err, ERR_FATAL, "that is no HTTP");
	body += 4;
	body[strcspn(body, "\n")] = '\0';
	char *said = print_escape(body);
	if (strncmp(answer + strlen(version), "200", 3) == 0)
		puts(said);
	else
		rc = err_set(err, ERR_RETRY, "%.200s", said);
	free(said);
	return rc;
}

static int run(void *config, struct err *err)
{
	const struct health *health = config;
	char answer[ANSWER_SIZE], *host = NULL;
	int port, fd = -1, rc = -1;

	if (option_endpoint(health->admin_listen, &host, &port, err) < 0)
		goto done;
	fd = port < 0 ? connect_unix(host) : connect_tcp(host, port);
	if (fd < 0 || ask(fd, health->live ? "/livez" : "/readyz", answer) < 0) {
		err_set(err, ERR_RETRY, "%s", strerror(errno == EAGAIN ? ETIMEDOUT : errno));
		goto done;
	}
	rc = judge(answer, err);
done:
	if (rc < 0)
		err_wrap(err, "%s", health->admin_listen);
	if (fd >= 0)
		close(fd);
	free(host);
	return rc;
}

int command_health(int argc, char **argv)
{
	static const struct command_body body = {usage, options, sizeof(struct health), .run = run};

	return command_run(&body, argc, argv);
}
