#include "producer/listening.h"

#include "common/option.h"

#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* As long as the host allows (net.core.somaxconn): a client for whom there is no place in it tries
 * again after a second, and stores come back all at once. */
enum { BACKLOG = 65535 };

static int open_one(const struct sockaddr *address, socklen_t len)
{
	const int on = 1;
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0 &&
	    setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) == 0 &&
	    bind(fd, address, len) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	int saved = errno;
	if (fd >= 0)
		close(fd);
	errno = saved;
	return -1;
}

static int open_all(const struct addrinfo *found, int n, int *ret_fds)
{
	struct sockaddr_storage address;
	socklen_t len = found->ai_addrlen;

	memcpy(&address, found->ai_addr, len);
	for (int i = 0; i < n; i++) {
		ret_fds[i] = open_one((const struct sockaddr *)&address, len);
		if (ret_fds[i] < 0) {
			int saved = errno;
			while (i-- > 0)
				close(ret_fds[i]);
			errno = saved;
			return -1;
		}
		/* The others follow the first to the port that the system chose for it. */
		getsockname(ret_fds[i], (struct sockaddr *)&address, &len);
	}
	return 0;
}

int listening_open(const char *endpoint, int n, int *ret_fds, struct err *err)
{
	const struct addrinfo hints = {
	    .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
	struct addrinfo *found = NULL;
	char *host = NULL, service[16];
	int port, rc = -1;

	if (option_endpoint(endpoint, &host, &port, err) < 0)
		goto done;
	snprintf(service, sizeof(service), "%d", port);
	int gai = getaddrinfo(host, service, &hints, &found);
	if (gai != 0) {
		err_set(err, ERR_FATAL, "%s: %s", endpoint, gai_strerror(gai));
		goto done;
	}
	if (open_all(found, n, ret_fds) < 0) {
		err_set(err, ERR_FATAL, "cannot listen on %s: %s", endpoint, strerror(errno));
		goto done;
	}
	rc = 0;
done:
	if (found)
		freeaddrinfo(found);
	free(host);
	return rc;
}

int listening_port(int fd)
{
	struct sockaddr_storage address;
	socklen_t len = sizeof(address);
	char service[16];

	if (getsockname(fd, (struct sockaddr *)&address, &len) < 0 ||
	    getnameinfo((struct sockaddr *)&address, len, NULL, 0, service, sizeof(service),
		NI_NUMERICSERV) != 0)
		return 0;
	return (int)strtol(service, NULL, 10);
}
