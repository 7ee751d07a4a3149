/*
 * B51: a server that is stopped, slow, silent or gone is noticed within the deadline, never later.
 */
#include "common/clock.h"
#include "common/redis.h"
#include "tests/common/client.h"
#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static struct world *world;

static int read_blocking(struct redis *r, const char *block_ms, int64_t extra_ms,
    redisReply **ret_reply, struct err *err)
{
	const char *argv[] = {"XREAD", "BLOCK", block_ms, "STREAMS", "nosuch", "$"};

	return redis_argv(r, extra_ms, 6, argv, NULL, ret_reply, err);
}

static void b51_stopped_server(void)
{
	struct redis *r = client_open_at(world_redis_url(world), 600), *other;
	struct err err = ERR_INIT;

	kill(world_redis_pid(world), SIGSTOP);
	int64_t began_us = clock_mono_us();
	CHECK_INT(read_blocking(r, "300", 300, NULL, &err), -1);
	int64_t took_us = clock_mono_us() - began_us;
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK_STR(err.message, "Redis: receive: timed out");
	CHECK(took_us >= 900000 && took_us < 10000000);
	CHECK(redis_broken(r));

	began_us = clock_mono_us();
	CHECK_INT(redis_open(world_redis_url(world), 300, &other, &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK(clock_mono_us() - began_us < 10000000);
	kill(world_redis_pid(world), SIGCONT);
	redis_close(r);
	redis_close(client_open(world));
}

static void b51_timeouts_do_not_mix(void)
{
	struct redis *r = client_open_at(world_redis_url(world), 600);
	struct err err = ERR_INIT;
	redisReply *reply;

	/* Longer than the connect timeout, and fine. */
	CHECK_INT(read_blocking(r, "1200", 10000, &reply, &err), 0);
	CHECK_INT(reply->type, REDIS_REPLY_NIL);
	freeReplyObject(reply);
	client_command(r, "PING");
	redis_close(r);
}

static void b51_killed_and_restarted(void)
{
	enum { CYCLES = 200 };

	for (int i = 0; i < CYCLES; i++) {
		struct redis *r = client_open(world);
		struct err err = ERR_INIT;

		world_redis_stop(world, false);
		CHECK_INT(redis_command(r, NULL, &err, "PING"), -1);
		CHECK_INT(err.kind, ERR_RETRY);
		CHECK(redis_broken(r));
		redis_close(r);
		CHECK_INT(redis_open(world_redis_url(world), 1000, &r, &err), -1);
		CHECK_INT(err.kind, ERR_RETRY);
		world_redis_start(world, false);
	}
}

/* A server that answers ROLE, and then one byte at a time, without end. */
static void *drip(void *arg)
{
	static const char role[] = "*1\r\n$6\r\nmaster\r\n";
	char request[1000];
	int fd = accept(*(int *)arg, NULL, NULL);

	if (read(fd, request, sizeof(request)) > 0 &&
	    send(fd, role, strlen(role), MSG_NOSIGNAL) > 0 &&
	    read(fd, request, sizeof(request)) > 0) {
		while (send(fd, "+", 1, MSG_NOSIGNAL) == 1)
			usleep(20000);
	}
	close(fd);
	return NULL;
}

static int listen_at(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, 5) < 0)
		die("listen: %s", strerror(errno));
	return fd;
}

static void b51_deadline_covers_the_whole_reply(void)
{
	char *path = text_format("%s/drip", world_dir(world));
	char *url = text_format("unix://%s", path);
	int fd = listen_at(path);
	struct err err = ERR_INIT;
	struct redis *r;
	pthread_t thread;

	CHECK_INT(pthread_create(&thread, NULL, drip, &fd), 0);
	r = client_open_at(url, 600);
	int64_t began_us = clock_mono_us();
	CHECK_INT(redis_command(r, NULL, &err, "PING"), -1);
	CHECK_STR(err.message, "Redis: receive: timed out");
	CHECK(clock_mono_us() - began_us < 10000000);
	redis_close(r);
	pthread_join(thread, NULL);
	close(fd);
	free(url);
	free(path);
}

static void b51_accepts_and_never_answers(void)
{
	char *path = text_format("%s/silent", world_dir(world));
	char *url = text_format("unix://u:p@%s?db=1", path);
	int fd = listen_at(path);
	struct err err = ERR_INIT;
	struct redis *r;
	int64_t began_us = clock_mono_us();

	CHECK_INT(redis_open(url, 300, &r, &err), -1);
	CHECK_INT(err.kind, ERR_RETRY);
	CHECK(clock_mono_us() - began_us < 10000000);
	close(fd);
	free(url);
	free(path);
}

static const struct check checks[] = {
    {"B51: a stopped server", b51_stopped_server},
    {"B51: timeouts do not mix", b51_timeouts_do_not_mix},
    {"B51: the deadline covers the whole reply", b51_deadline_covers_the_whole_reply},
    {"B51: accepts and never answers", b51_accepts_and_never_answers},
    {"B51: killed and restarted 200 times", b51_killed_and_restarted},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	int status;

	world = world_open(0);
	status = check_main("common redis deadline", checks, argc, argv);
	world_close(world);
	return status;
}
