#include "tests/common/pooler.h"

#include "tests/support/die.h"
#include "tests/support/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { PACKET_MAX = 8192, HEADER = 8 };

struct pooler {
	enum pooler_kind kind;
	struct sockaddr_un server;
	int listener;
	pthread_t thread;
};

static struct sockaddr_un address_in(const char *dir)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	char *path = text_format("%s/.s.PGSQL.5432", dir);

	if (strlen(path) >= sizeof(address.sun_path))
		die("too long: %s", path);
	memcpy(address.sun_path, path, strlen(path) + 1);
	free(path);
	return address;
}

/* The startup packet: its length, the protocol, and names and values until an empty name. */
static size_t read_startup(int fd, char *packet)
{
	uint32_t len;

	if (recv(fd, packet, 4, MSG_WAITALL) != 4)
		return 0;
	memcpy(&len, packet, 4);
	len = ntohl(len);
	if (len < HEADER || len > PACKET_MAX ||
	    recv(fd, packet + 4, len - 4, MSG_WAITALL) != len - 4)
		return 0;
	return len;
}

static size_t drop_options(char *packet, size_t len)
{
	size_t from = HEADER, to = HEADER;

	while (from < len && packet[from]) {
		size_t name = strlen(packet + from) + 1;
		size_t both = name + strlen(packet + from + name) + 1;
		if (strcmp(packet + from, "options") != 0) {
			memmove(packet + to, packet + from, both);
			to += both;
		}
		from += both;
	}
	packet[to++] = '\0';
	uint32_t net = htonl((uint32_t)to);
	memcpy(packet, &net, 4);
	return to;
}

static void refuse(int fd)
{
	static const char fields[] =
	    "SFATAL\0VFATAL\0C08P01\0Munsupported startup parameter: options\0";
	uint32_t len = htonl(4 + sizeof(fields));

	send(fd, "E", 1, MSG_NOSIGNAL | MSG_MORE);
	send(fd, &len, 4, MSG_NOSIGNAL | MSG_MORE);
	send(fd, fields, sizeof(fields), MSG_NOSIGNAL);
}

static bool copy(int from, int to)
{
	char bytes[PACKET_MAX];
	ssize_t n = recv(from, bytes, sizeof(bytes), 0);

	return n > 0 && send(to, bytes, (size_t)n, MSG_NOSIGNAL) == n;
}

static void relay(struct pooler *p, int client, const char *packet, size_t len)
{
	int server = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct pollfd pfds[] = {{.fd = client, .events = POLLIN}, {.fd = server, .events = POLLIN}};
	bool open = connect(server, (struct sockaddr *)&p->server, sizeof(p->server)) == 0 &&
		    send(server, packet, len, MSG_NOSIGNAL) == (ssize_t)len;

	while (open && poll(pfds, 2, -1) > 0) {
		if (pfds[0].revents)
			open = copy(client, server);
		else if (pfds[1].revents)
			open = copy(server, client);
	}
	close(server);
}

static void *run(void *arg)
{
	struct pooler *p = arg;
	char packet[PACKET_MAX];
	int client;

	while ((client = accept(p->listener, NULL, NULL)) >= 0) {
		size_t len = read_startup(client, packet);
		if (len > 0 && p->kind == POOLER_REFUSES)
			refuse(client);
		else if (len > 0)
			relay(p, client, packet, drop_options(packet, len));
		close(client);
	}
	return NULL;
}

struct pooler *pooler_open(enum pooler_kind kind, const char *dir, const char *server_dir)
{
	struct pooler *p = calloc(1, sizeof(*p));
	struct sockaddr_un address = address_in(dir);

	p->kind = kind;
	p->server = address_in(server_dir);
	p->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (mkdir(dir, 0755) < 0 ||
	    bind(p->listener, (struct sockaddr *)&address, sizeof(address)) < 0 ||
	    listen(p->listener, 5) < 0 || pthread_create(&p->thread, NULL, run, p) != 0)
		die("pooler in %s: %s", dir, strerror(errno));
	return p;
}

void pooler_close(struct pooler *p)
{
	shutdown(p->listener, SHUT_RDWR);
	pthread_join(p->thread, NULL);
	close(p->listener);
	free(p);
}
