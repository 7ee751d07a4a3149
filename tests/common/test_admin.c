#include "common/admin.h"
#include "common/clock.h"
#include "common/metric.h"
#include "tests/support/check.h"
#include "tests/support/files.h"
#include "tests/support/http.h"
#include "tests/support/text.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

struct fixture {
	struct metrics *metrics;
	struct admin *admin;
	atomic_bool ready;
	char *url;
};

static bool is_ready(void *ctx, char *reason, size_t size)
{
	struct fixture *f = ctx;

	if (!atomic_load(&f->ready))
		snprintf(reason, size, "shard 3 waits");
	return atomic_load(&f->ready);
}

static void set_up(struct fixture *f)
{
	struct err err = ERR_INIT;

	f->metrics = metrics_new();
	metric_set(metric_plain(f->metrics, METRIC_GAUGE, "umavez_held", "Held.", NULL), 3);
	atomic_store(&f->ready, true);
	if (admin_open("127.0.0.1:0", f->metrics, is_ready, f, &f->admin, &err) < 0)
		CU_FAIL_FATAL(err.message);
	f->url = text_format("http://127.0.0.1:%d", admin_port(f->admin));
}

static void tear_down(struct fixture *f)
{
	admin_close(f->admin);
	metrics_free(f->metrics);
	free(f->url);
}

static int ask(struct fixture *f, const char *method, const char *path, const char *body,
    struct http_answer *a)
{
	char *url = text_format("%s%s", f->url, path);

	http_request(method, url, NULL, body, body ? strlen(body) : 0, 5000, a);
	free(url);
	return a->status;
}

static int status_of(struct fixture *f, const char *method, const char *path, const char *body)
{
	struct http_answer a;
	int status = ask(f, method, path, body, &a);

	http_answer_done(&a);
	return status;
}

static void routes(void)
{
	struct http_answer a;
	struct fixture f;

	set_up(&f);
	CHECK_INT(ask(&f, "GET", "/livez", NULL, &a), 200);
	CHECK_STR(a.body, "ok\n");
	http_answer_done(&a);
	CHECK_INT(status_of(&f, "GET", "/livez?verbose", NULL), 200);
	CHECK_INT(status_of(&f, "GET", "/readyz", NULL), 200);
	CHECK_INT(status_of(&f, "GET", "/", NULL), 404);
	CHECK_INT(status_of(&f, "GET", "/livez/", NULL), 404);
	CHECK_INT(status_of(&f, "GET", "//livez", NULL), 400);
	atomic_store(&f.ready, false);
	CHECK_INT(ask(&f, "GET", "/readyz", NULL, &a), 503);
	CHECK_STR(a.body, "shard 3 waits\n");
	http_answer_done(&a);
	CHECK_INT(status_of(&f, "GET", "/livez", NULL), 200);
	tear_down(&f);
}

static void metrics_text(void)
{
	struct http_answer a;
	struct fixture f;

	set_up(&f);
	CHECK_INT(ask(&f, "GET", "/metrics", NULL, &a), 200);
	CHECK_STR(a.body, "# HELP umavez_held Held.\n# TYPE umavez_held gauge\numavez_held 3\n");
	char *type = http_header(&a, "Content-Type");
	CHECK_STR(type, "text/plain; version=0.0.4; charset=utf-8");
	free(type);
	http_answer_done(&a);
	tear_down(&f);
}

/* One request by hand; what came back is malloc'd. */
static char *raw(struct fixture *f, const char *text)
{
	size_t len;

	return http_raw(f->url, text, strlen(text), 5000, &len);
}

static void head(void)
{
	struct fixture f;
	char *text;

	set_up(&f);
	text = raw(&f, "HEAD /livez HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	CHECK(strncmp(text, "HTTP/1.1 200 ", 13) == 0);
	CHECK(strstr(text, "Content-Length: 3\r\n") != NULL);
	CHECK_STR(strstr(text, "\r\n\r\n"), "\r\n\r\n");
	free(text);
	tear_down(&f);
}

static void other_methods(void)
{
	static const char *const methods[] = {"POST", "PUT", "DELETE", "OPTIONS", "PATCH"};
	struct fixture f;

	set_up(&f);
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		char *request = text_format("%s /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: "
					    "0\r\nConnection: close\r\n\r\n",
		    methods[i]);
		char *text = raw(&f, request);
		if (strncmp(text, "HTTP/1.1 405 ", 13) != 0 ||
		    !strstr(text, "Allow: GET, HEAD\r\n"))
			CU_FAIL_FATAL(text);
		free(text);
		free(request);
	}
	tear_down(&f);
}

/* The gate's refusals are tested with the producer: here, that it stands before this listener too.
 */
static void limits(void)
{
	static char big[100000];
	struct fixture f;
	char *request, *text;

	set_up(&f);
	memset(big, 'x', sizeof(big) - 1);
	CHECK_INT(status_of(&f, "POST", "/livez", big), 413);
	request = text_format("GET /livez HTTP/1.1\r\nHost: x\r\nX: %s\r\n\r\n", big);
	text = raw(&f, request);
	CHECK(strncmp(text, "HTTP/1.1 431 ", 13) == 0);
	free(text);
	free(request);
	text = raw(&f, "nonsense\r\n\r\n");
	CHECK(strncmp(text, "HTTP/1.1 400 ", 13) == 0);
	CHECK(strstr(text, "application/problem+json") != NULL);
	free(text);
	text = raw(&f, "TRACE /livez HTTP/1.1\r\nHost: x\r\n\r\n");
	CHECK(strncmp(text, "HTTP/1.1 501 ", 13) == 0);
	free(text);
	CHECK_INT(status_of(&f, "GET", "/livez", NULL), 200);
	tear_down(&f);
}

static int connect_to(struct fixture *f)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
	    .sin_port = htons((uint16_t)admin_port(f->admin)),
	    .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	CHECK_INT(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* How many of them are not closed by the peer. */
static int still_open(const int *fds, int n)
{
	char byte;
	int open = 0;

	for (int i = 0; i < n; i++)
		open += recv(fds[i], &byte, 1, MSG_DONTWAIT | MSG_PEEK) < 0 && errno == EAGAIN;
	return open;
}

/* More than there is room for: the slowest go, and the next one is answered. */
static void slow_clients_hinder_nobody(void)
{
	enum { SLOW = 200, ROOM = 64, BACKLOG = 65 };
	struct fixture f;
	int fds[SLOW];

	set_up(&f);
	for (int i = 0; i < SLOW; i++) {
		fds[i] = connect_to(&f);
		CHECK_INT(send(fds[i], "GET /li", 7, MSG_NOSIGNAL), 7);
	}
	CHECK_INT(status_of(&f, "GET", "/livez", NULL), 200);
	CHECK(still_open(fds, SLOW) <= ROOM + BACKLOG);
	int64_t began_us = clock_mono_us();
	tear_down(&f);
	CHECK(clock_mono_us() - began_us < 2000000);
	for (int i = 0; i < SLOW; i++)
		close(fds[i]);
}

static void unix_socket(void)
{
	char *path = text_format("%s/umavez-admin-%d", temp_root(), (int)getpid());
	char *endpoint = text_format("unix:%s", path);
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct metrics *m = metrics_new();
	struct err err = ERR_INIT;
	struct admin *a;
	char answer[500] = "";
	int fd;

	/* Twice, the second time over a socket that was left behind. */
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	strncpy(address.sun_path, path, sizeof(address.sun_path) - 1);
	CHECK_INT(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	close(fd);
	CHECK_INT(admin_open(endpoint, m, is_ready, NULL, &a, &err), 0);
	CHECK_INT(admin_port(a), -1);
	fd = socket(AF_UNIX, SOCK_STREAM, 0);
	CHECK_INT(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	CHECK(send(fd, "GET /livez HTTP/1.0\r\n\r\n", 23, 0) == 23);
	CHECK(recv(fd, answer, sizeof(answer) - 1, 0) > 0);
	CHECK(strstr(answer, " 200 ") != NULL);
	close(fd);
	admin_close(a);
	CHECK(access(path, F_OK) != 0);
	metrics_free(m);
	free(endpoint);
	free(path);
}

static void cannot_listen(void)
{
	struct err err = ERR_INIT;
	struct admin *a;
	struct fixture f;

	set_up(&f);
	char *taken = text_format("127.0.0.1:%d", admin_port(f.admin));
	CHECK_INT(admin_open(taken, f.metrics, is_ready, NULL, &a, &err), -1);
	CHECK_INT(err.kind, ERR_FATAL);
	char *said = text_format("--admin-listen %s: cannot listen: Address already in use", taken);
	CHECK_STR(err.message, said);
	free(said);
	CHECK_INT(admin_open("no.such.host.invalid:1", f.metrics, is_ready, NULL, &a, &err), -1);
	CHECK_INT(err.kind, ERR_FATAL);
	CHECK_INT(admin_open("nonsense", f.metrics, is_ready, NULL, &a, &err), -1);
	CHECK_INT(err.kind, ERR_USAGE);
	free(taken);
	tear_down(&f);
	admin_close(NULL);
}

static const struct check checks[] = {
    {"routes", routes},
    {"metrics", metrics_text},
    {"HEAD", head},
    {"other methods", other_methods},
    {"limits", limits},
    {"slow clients hinder nobody", slow_clients_hinder_nobody},
    {"a unix socket", unix_socket},
    {"cannot listen", cannot_listen},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common admin", checks, argc, argv);
}
