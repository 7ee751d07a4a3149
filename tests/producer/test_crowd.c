/*
 * Many clients, or greedy ones, and one that behaves: its answers must come meanwhile.
 */
#include "tests/producer/deliver.h"
#include "tests/producer/stage.h"
#include "tests/support/check.h"
#include "tests/support/die.h"
#include "tests/support/files.h"
#include "tests/support/http.h"
#include "tests/support/pause.h"
#include "tests/support/text.h"
#include "tests/support/world.h"

#include <dirent.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MANY = 10000, STEP = 500, SPARE = 200 };

static struct world *world;
static int crowd[MANY];
static int n_crowd;

static int connect_to(const char *base_url)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)strtol(strrchr(base_url, ':') + 1, NULL, 10)),
	    .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	CHECK(fd >= 0);
	CHECK(
	    connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0 || errno == EINPROGRESS);
	return fd;
}

/* n more connections. */
static void gather(const char *base_url, int n)
{
	CHECK(n_crowd + n <= MANY);
	while (n-- > 0)
		crowd[n_crowd++] = connect_to(base_url);
}

static void disperse(void)
{
	while (n_crowd > 0)
		close(crowd[--n_crowd]);
}

static void everybody_sends(const char *bytes)
{
	for (int i = 0; i < n_crowd; i++)
		(void)!send(crowd[i], bytes, strlen(bytes), MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* The longest of n answers to a client that behaves, in ms. */
static int64_t longest_answer(const char *base_url, const char *name, int n)
{
	int64_t longest = 0;

	for (int i = 0; i < n; i++) {
		char id[40];
		int64_t started = now_ms();
		snprintf(id, sizeof(id), "evt_%s_%d", name, i);
		CHECK_INT(deliver(base_url, id, name, NULL), 200);
		if (now_ms() - started > longest)
			longest = now_ms() - started;
	}
	printf("%s: %lld ms at most, besides %d ... ", name, (long long)longest, n_crowd);
	return longest;
}

/* As many files as we may have, and how many connections they are good for. */
static int room(void)
{
	struct rlimit files = {0, 0};

	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	return files.rlim_cur > MANY + SPARE ? MANY : (int)files.rlim_cur - SPARE;
}

static void ten_thousand_idle_connections(void)
{
	struct proc *p = stage_producer(world, NULL);
	int left = room();
	int64_t longest;

	for (; left > 0; left -= STEP) { /* no faster than they are accepted */
		gather(proc_url(p), left < STEP ? left : STEP);
		CHECK_INT(deliver(proc_url(p), "evt_step", "step", NULL), 200);
	}
	longest = longest_answer(proc_url(p), "idle", 20);
	disperse();
	CHECK(longest < 1000);
	stage_end(p);
}

static const char *const one_thread[] = {
    "--threads", "1", "--database-connections", "1", "--request-timeout", "20s", NULL};

/* A producer that has room for a few hundred clients. */
static struct proc *small_producer(void)
{
	static const char *const few_files[] = {"prlimit", "--nofile=400:400", NULL};
	struct proc *p;

	world_wrap(world, few_files);
	p = stage_producer(world, one_thread);
	world_wrap(world, NULL);
	return p;
}

static void no_room_is_made_by_the_idle(void)
{
	struct proc *p = small_producer();

	gather(proc_url(p), 600);
	CHECK(longest_answer(proc_url(p), "room_idle", 3) < 6000);
	CHECK(proc_log_has(p, "msg=\"no room for more connections"));
	disperse();
	CHECK(longest_answer(proc_url(p), "room_again", 5) < 2000);
	stage_end(p);
}

/* Requests that do not go on: with room they would have 20 s. */
static void no_room_is_made_by_the_slow(void)
{
	struct proc *p = small_producer();

	gather(proc_url(p), 600);
	everybody_sends("POST /webhooks/stripe HTTP/1.1\r\nHost: x\r\n");
	CHECK(longest_answer(proc_url(p), "room_slow", 3) < 8000);
	disperse();
	stage_end(p);
}

static int open_files(pid_t pid)
{
	char *path = text_format("/proc/%d/fd", (int)pid);
	DIR *files = opendir(path);
	int n = 0;

	if (!files)
		die("cannot read %s", path);
	while (readdir(files))
		n++;
	closedir(files);
	free(path);
	return n - 2; /* "." and ".." */
}

/* The descriptors end before the connections that were counted on: told, waited for, got over. */
static void no_descriptor_left(void)
{
	static const char told[] =
	    "msg=\"cannot accept a connection\" error=\"Too many open files\"";
	struct proc *p = stage_producer(world, one_thread);
	struct rlimit before, tight;

	CHECK(prlimit(proc_pid(p), RLIMIT_NOFILE, NULL, &before) == 0);
	tight = before;
	tight.rlim_cur = (rlim_t)open_files(proc_pid(p)) + 2;
	CHECK(prlimit(proc_pid(p), RLIMIT_NOFILE, &tight, NULL) == 0);
	gather(proc_url(p), 10);
	CHECK(proc_await_log(p, told, 5000));
	int64_t started = now_ms();
	while (file_count(proc_log(p), told) < 3 && now_ms() - started < 5000)
		sleep_ms(20);
	CHECK(now_ms() - started >= 700); /* no line for every turn of the loop */
	CHECK(prlimit(proc_pid(p), RLIMIT_NOFILE, &before, NULL) == 0);
	CHECK(longest_answer(proc_url(p), "descriptor", 3) < 3000);
	disperse();
	stage_end(p);
}

/* Send the same for as long as it is taken, until `limit` bytes or a second without progress. */
static size_t send_without_end(int fd, const char *bytes, size_t limit)
{
	size_t len = strlen(bytes), sent = 0;

	while (sent < limit) {
		struct pollfd p = {fd, POLLOUT, 0};
		if (poll(&p, 1, 1000) <= 0)
			break;
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);
		if (n < 0 && errno != EAGAIN)
			break;
		sent += n > 0 ? (size_t)n : 0;
	}
	return sent;
}

/* It goes on sending, since a machine that stood still for a second looked like a full buffer. */
static bool is_hung_up(int fd, const char *bytes)
{
	int64_t until_ms = now_ms() + 60000;

	while (now_ms() < until_ms) {
		struct pollfd p = {fd, POLLOUT, 0};
		ssize_t n = 0;

		if (poll(&p, 1, 1000) > 0 && !(p.revents & (POLLHUP | POLLERR)))
			n = send(fd, bytes, strlen(bytes), MSG_NOSIGNAL);
		if (p.revents & (POLLHUP | POLLERR) || (n < 0 && errno != EAGAIN))
			return true;
	}
	return false;
}

/* It asks and asks, and never reads an answer: what it sends is left in the kernel's buffers, and
 * it is not waited for for ever. */
static void a_client_that_does_not_read(void)
{
	enum { LIMIT = 100 << 20 };
	static const char ask[] = "GET /nowhere HTTP/1.1\r\nHost: x\r\n\r\n";
	static const char *const args[] = {"--request-timeout", "1s", "--threads", "1", NULL};
	struct proc *p = stage_producer(world, args);
	char *piece = calloc(1, 65536);
	const int little = 4096;
	int fd = connect_to(proc_url(p));

	setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little));
	for (size_t at = 0; at < 64000; at += sizeof(ask) - 1)
		memcpy(piece + at, ask, sizeof(ask) - 1);
	CHECK(send_without_end(fd, piece, LIMIT) < LIMIT);
	CHECK(longest_answer(proc_url(p), "not_reading", 5) < 1000);
	CHECK(is_hung_up(fd, piece));
	close(fd);
	free(piece);
	stage_end(p);
}

/* What follows a request that waits for the database is not read meanwhile. */
static void a_client_that_floods_while_it_waits(void)
{
	enum { LIMIT = 100 << 20 };
	struct proc *p = stage_producer(world, one_thread);
	char *request = deliver_request("evt_flood_1", "sub_flood", ""), *piece = calloc(1, 65536);
	PGconn *locker;
	int fd;

	CHECK_INT(deliver(proc_url(p), "evt_flood", "sub_flood", NULL), 200);
	locker = stage_lock(world, "sub_flood");
	fd = connect_to(proc_url(p));
	memset(piece, 'x', 65535);
	CHECK(send_without_end(fd, request, strlen(request)) == strlen(request));
	CHECK(stage_await_lock_waits(world, 1));
	CHECK(send_without_end(fd, piece, LIMIT) < LIMIT);
	stage_unlock(locker);
	CHECK(longest_answer(proc_url(p), "flood", 5) < 1000);
	CHECK_INT(stage_whole(world, "^evt_flood_1$"), 1);
	close(fd);
	free(piece);
	free(request);
	stage_end(p);
}

static void too_few_files_are_refused_at_start(void)
{
	char *command =
	    text_format("ulimit -n 150; exec '%s' --database-url '%s' --listen 127.0.0.1:0"
			" --admin-listen 127.0.0.1:0 --stripe-secret x 2>&1",
		UMAVEZ_BIN_DIR "/umavez-producer", world_producer_url(world));
	char text[8192];
	FILE *out = popen(command, "r");
	size_t n;

	CHECK(out != NULL);
	n = fread(text, 1, sizeof(text) - 1, out);
	text[n] = '\0';
	CHECK(WEXITSTATUS(pclose(out)) == 1);
	CHECK(strstr(text, "the limit of open files is 150: raise it (ulimit -n) to ") != NULL);
	free(command);
}

int main(int argc, char **argv)
{
	static const struct check checks[] = {
	    {"ten thousand idle connections", ten_thousand_idle_connections},
	    {"no room: it is made by the idle", no_room_is_made_by_the_idle},
	    {"no room: it is made by the slow", no_room_is_made_by_the_slow},
	    {"no descriptor left", no_descriptor_left},
	    {"a client that does not read", a_client_that_does_not_read},
	    {"a client that floods while it waits", a_client_that_floods_while_it_waits},
	    {"too few files are refused at start", too_few_files_are_refused_at_start},
	    {NULL, NULL},
	};
	int status;

	world = world_open(1);
	status = check_main("producer crowd", checks, argc, argv);
	world_close(world);
	return status;
}
