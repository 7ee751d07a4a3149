#include "tests/fuzz/fake_redis.h"

#include <ctype.h>
#include <fcntl.h>
#include <hiredis/hiredis.h>
#include <sys/socket.h>
#include <unistd.h>

/* Of the numbers in the replies. */
#define MAX_DIGITS 6

/* What a socket takes at once. */
#define MAX_SIZE 65536

/* The server's end of the connection. */
struct server {
	int fd;
	struct fuzz_piece replies;
};

static struct server *server(void)
{
	static struct server s = {.fd = -1};

	return &s;
}

redisContext *__wrap_redisConnectUnixNonBlock(const char *path);

redisContext *__wrap_redisConnectUnixNonBlock(const char *path)
{
	struct server *s = server();
	redisContext *context;
	int fd[2];

	(void)path;
	FUZZ_CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, fd) == 0);
	FUZZ_CHECK(write(fd[0], s->replies.at, s->replies.len) == (ssize_t)s->replies.len);
	FUZZ_CHECK(shutdown(fd[0], SHUT_WR) == 0);
	FUZZ_CHECK(fcntl(fd[1], F_SETFL, O_NONBLOCK) == 0);
	s->fd = fd[0];
	context = redisConnectFd(fd[1]);
	context->flags &= ~REDIS_BLOCK;
	return context;
}

static bool announces_too_much(struct fuzz_piece replies)
{
	size_t digits = 0;

	for (size_t i = 0; i < replies.len; i++) {
		digits = isdigit((unsigned char)replies.at[i]) ? digits + 1 : 0;
		if (digits > MAX_DIGITS)
			return true;
	}
	return false;
}

bool fake_redis_open(struct fuzz_piece replies)
{
	if (replies.len > MAX_SIZE || announces_too_much(replies))
		return false;
	server()->replies = replies;
	return true;
}

void fake_redis_close(void)
{
	struct server *s = server();

	if (s->fd >= 0)
		close(s->fd);
	s->fd = -1;
}
