#include "common/admin.h"
#include "common/metric.h"
#include "common/notify.h"
#include "common/service.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/text.h"

#include <poll.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATIENCE_MS = 20000 };

/* The service manager: a socket that NOTIFY_SOCKET names. */
struct manager {
	int fd;
	char *name;
};

static struct manager manager_open(const char *form)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct manager m = {.fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
	size_t len;

	if (*form == '@')
		m.name = text_format(form, (int)getpid());
	else
		m.name = text_format("%s/umavez-notify-%d", temp_root(), (int)getpid());
	len = strlen(m.name);
	memcpy(address.sun_path, m.name, len);
	if (*form == '@')
		address.sun_path[0] = '\0';
	CHECK_INT(bind(m.fd, (struct sockaddr *)&address,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)),
	    0);
	setenv("NOTIFY_SOCKET", m.name, 1);
	return m;
}

static void manager_close(struct manager *m)
{
	unsetenv("NOTIFY_SOCKET");
	close(m->fd);
	if (*m->name == '/')
		unlink(m->name);
	free(m->name);
}

static void hears(const struct manager *m, const char *want)
{
	struct pollfd pfd = {.fd = m->fd, .events = POLLIN};
	char text[512];

	CHECK_INT(poll(&pfd, 1, PATIENCE_MS), 1);
	ssize_t n = recv(m->fd, text, sizeof(text) - 1, 0);
	CHECK(n > 0);
	text[n] = '\0';
	CHECK_STR(text, want);
}

static bool hears_nothing(const struct manager *m)
{
	char c;

	return recv(m->fd, &c, 1, MSG_DONTWAIT) < 0;
}

static void names(void)
{
	struct manager m = manager_open("/");

	CHECK(notify_wanted());
	notify_tell("READY=1");
	hears(&m, "READY=1");
	manager_close(&m);

	m = manager_open("@umavez-notify-%d");
	CHECK(notify_wanted());
	notify_tell("STATUS=a\nREADY=1");
	hears(&m, "STATUS=a\nREADY=1");
	manager_close(&m);
}

static void nobody_listens(void)
{
	CHECK(!notify_wanted());
	notify_tell("READY=1");
	setenv("NOTIFY_SOCKET", "relative", 1);
	CHECK(!notify_wanted());
	notify_tell("READY=1");
	setenv("NOTIFY_SOCKET", "/no/such/socket", 1);
	notify_tell("READY=1");
	unsetenv("NOTIFY_SOCKET");
}

struct service {
	atomic_int stage;
};

static bool is_ready(void *ctx, char *reason, size_t size)
{
	int stage = atomic_load(&((struct service *)ctx)->stage);

	if (stage < 2)
		snprintf(reason, size, "shard %d waits", stage);
	return stage >= 2;
}

/* /readyz and READY=1 are one question. */
static void ready(void)
{
	struct manager m = manager_open("/");
	struct metrics *metrics = metrics_new();
	struct service s = {.stage = 0};
	struct admin *admin = NULL;
	struct err err = ERR_INIT;

	if (admin_open("127.0.0.1:0", metrics, is_ready, &s, &admin, &err) < 0)
		CU_FAIL_FATAL(err.message);
	hears(&m, "STATUS=shard 0 waits");
	atomic_store(&s.stage, 1);
	hears(&m, "STATUS=shard 1 waits");
	atomic_store(&s.stage, 2);
	hears(&m, "READY=1\nSTATUS=ready");
	atomic_store(&s.stage, 0);
	admin_close(admin);
	CHECK(hears_nothing(&m));
	metrics_free(metrics);
	manager_close(&m);
}

static void stopping(void)
{
	struct manager m = manager_open("/");

	service_stop();
	service_stop();
	hears(&m, "STOPPING=1\nSTATUS=stopping");
	CHECK(hears_nothing(&m));
	manager_close(&m);
}

static const struct check checks[] = {
    {"a path or an abstract name", names},
    {"nobody listens", nobody_listens},
    {"ready", ready},
    {"stopping", stopping},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common notify", checks, argc, argv);
}
