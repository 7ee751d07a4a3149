#include "common/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static const char *socket_name(void)
{
	const char *name = getenv("NOTIFY_SOCKET");

	return name && (name[0] == '/' || name[0] == '@') && name[1] ? name : NULL;
}

bool notify_wanted(void)
{
	return socket_name() != NULL;
}

void notify_tell(const char *lines)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	const char *name = socket_name();
	size_t len = name ? strlen(name) : 0;
	int fd;

	if (!name || len >= sizeof(address.sun_path))
		return;
	memcpy(address.sun_path, name, len);
	if (name[0] == '@')
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	ssize_t n = sendto(fd, lines, strlen(lines), MSG_DONTWAIT | MSG_NOSIGNAL,
	    (struct sockaddr *)&address, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len));
	(void)n;
	close(fd);
}
