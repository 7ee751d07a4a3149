#include "common/admin.h"

#include "common/gate.h"
#include "common/memory.h"
#include "common/metric.h"
#include "common/notify.h"
#include "common/option.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <netdb.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* For a few who ask now and then: Prometheus, an orchestrator, an operator. */
enum { MAX_CONNECTIONS = 64, MAX_BODY = 1024, REQUEST_MS = 5000 };
enum { RESUME_MS = 500, ANNOUNCE_MS = 50 };
enum { BACKLOG = 64, REASON_SIZE = 256 };

struct admin {
	struct metrics *metrics;
	admin_ready_fn *ready;
	void *ctx;
	struct event_base *base;
	struct evhttp *http;
	struct gate *gate;
	struct event *stop, *resume, *announce;
	char told[REASON_SIZE]; /* to the service manager: why not ready */
	int stop_fd;
	int port;
	char *path; /* of a unix socket */
	pthread_t thread;
	bool running;
};

static void answer(
    struct evhttp_request *req, int status, const char *type, const char *text, size_t len)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(req);
	struct evbuffer *body = evhttp_request_get_output_buffer(req);
	char length[24];

	evhttp_add_header(headers, "Content-Type", type);
	snprintf(length, sizeof(length), "%zu", len);
	evhttp_add_header(headers, "Content-Length", length);
	if (evhttp_request_get_command(req) != EVHTTP_REQ_HEAD)
		evbuffer_add(body, text, len);
	evhttp_send_reply(req, status, NULL, NULL);
}

static void answer_line(struct evhttp_request *req, int status, const char *line)
{
	char text[REASON_SIZE + 1];
	int n = snprintf(text, sizeof(text), "%s\n", line);

	answer(req, status, "text/plain; charset=utf-8", text, (size_t)n);
}

static void serve_metrics(struct admin *a, struct evhttp_request *req)
{
	size_t len;
	char *text = metrics_render(a->metrics, &len);

	answer(req, HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", text, len);
	free(text);
}

static void serve_ready(struct admin *a, struct evhttp_request *req)
{
	char reason[REASON_SIZE] = "";

	if (a->ready(a->ctx, reason, sizeof(reason)))
		answer_line(req, HTTP_OK, *reason ? reason : "ok");
	else
		answer_line(req, HTTP_SERVUNAVAIL, *reason ? reason : "not ready");
}

static void serve(struct evhttp_request *req, void *arg)
{
	struct admin *a = arg;
	enum evhttp_cmd_type method = evhttp_request_get_command(req);
	const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(req));

	gate_take(a->gate, req);
	if (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_HEAD) {
		evhttp_add_header(evhttp_request_get_output_headers(req), "Allow", "GET, HEAD");
		answer_line(req, HTTP_BADMETHOD, "method not allowed");
	} else if (path && strcmp(path, "/livez") == 0) {
		answer_line(req, HTTP_OK, "ok");
	} else if (path && strcmp(path, "/readyz") == 0) {
		serve_ready(a, req);
	} else if (path && strcmp(path, "/metrics") == 0) {
		serve_metrics(a, req);
	} else {
		answer_line(req, HTTP_NOTFOUND, "not found");
	}
}

static int listen_unix(struct admin *a, const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	struct stat st;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	/* Left over by a process that was killed. */
	if (lstat(path, &st) == 0 && S_ISSOCK(st.st_mode))
		unlink(path);
	memcpy(address.sun_path, path, strlen(path));
	if (bind(fd, (struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, BACKLOG) < 0) {
		close(fd);
		return -1;
	}
	a->path = mem_strdup(path);
	a->port = -1;
	return fd;
}

static int bound_port(int fd)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} address = {.v6 = {0}};
	socklen_t len = sizeof(address);

	if (getsockname(fd, &address.any, &len) < 0)
		return 0;
	return ntohs(
	    address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

static int listen_address(const struct addrinfo *ai)
{
	int one = 1;
	int fd = socket(ai->ai_family, ai->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -1;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, ai->ai_addr, ai->ai_addrlen) < 0 || listen(fd, BACKLOG) < 0) {
		close(fd);
		return -1;
	}
	return fd;
}

static int listen_tcp(struct admin *a, const char *host, int port)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *list = NULL;
	char service[12];
	int fd = -1;

	snprintf(service, sizeof(service), "%d", port);
	if (getaddrinfo(host, service, &hints, &list) != 0) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	for (const struct addrinfo *ai = list; ai && fd < 0; ai = ai->ai_next)
		fd = listen_address(ai);
	freeaddrinfo(list);
	if (fd >= 0)
		a->port = bound_port(fd);
	return fd;
}

static void on_stop(evutil_socket_t fd, short what, void *arg)
{
	(void)fd;
	(void)what;
	event_base_loopbreak(arg);
}

static void on_refused(void *ctx, const char *reason, const char *detail)
{
	(void)ctx;
	(void)reason;
	(void)detail;
}

static void on_full(void *ctx, unsigned connections)
{
	(void)ctx;
	(void)connections;
}

static void on_resume(evutil_socket_t fd, short what, void *arg)
{
	struct admin *a = arg;

	(void)fd;
	(void)what;
	gate_resume(a->gate);
}

/* Until it was ready once: from then on /readyz and the metrics tell. */
static void on_announce(evutil_socket_t fd, short what, void *arg)
{
	struct admin *a = arg;
	char reason[REASON_SIZE] = "", text[REASON_SIZE + 20];

	(void)fd;
	(void)what;
	if (a->ready(a->ctx, reason, sizeof(reason))) {
		notify_tell("READY=1\nSTATUS=ready");
		event_del(a->announce);
	} else if (strcmp(reason, a->told) != 0) {
		snprintf(text, sizeof(text), "STATUS=%s", reason);
		notify_tell(text);
		memcpy(a->told, reason, sizeof(reason));
	}
}

static int set_up_announce(struct admin *a, struct err *err)
{
	const struct timeval every = {0, ANNOUNCE_MS * 1000};

	if (!notify_wanted())
		return 0;
	a->announce = event_new(a->base, -1, EV_PERSIST, on_announce, a);
	if (!a->announce || event_add(a->announce, &every) < 0)
		return err_set(err, ERR_FATAL, "event loop: out of memory");
	return 0;
}

/* No descriptor left: it would be called again at once, for ever. */
static void on_accept_error(struct evconnlistener *listener, void *http)
{
	(void)http;
	evconnlistener_disable(listener);
}

static int set_up_gate(struct admin *a, int fd, struct err *err)
{
	const struct timeval every = {0, RESUME_MS * 1000};
	struct evhttp_bound_socket *socket = evhttp_accept_socket_with_handle(a->http, fd);
	struct gate_options options = {
	    .base = a->base,
	    .http = a->http,
	    .refused = on_refused,
	    .full = on_full,
	    .max_body = MAX_BODY,
	    .request_ms = REQUEST_MS,
	    .max_connections = MAX_CONNECTIONS,
	};

	if (!socket)
		return err_set(err, ERR_FATAL, "event loop: cannot accept");
	options.listener = evhttp_bound_socket_get_listener(socket);
	evconnlistener_set_error_cb(options.listener, on_accept_error);
	a->gate = gate_new(&options);
	a->resume = event_new(a->base, -1, EV_PERSIST, on_resume, a);
	if (!a->resume || event_add(a->resume, &every) < 0)
		return err_set(err, ERR_FATAL, "event loop: out of memory");
	return 0;
}

static int set_up(struct admin *a, int fd, struct err *err)
{
	a->base = event_base_new();
	a->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!a->base || a->stop_fd < 0)
		return err_set(err, ERR_FATAL, "event loop: %s", strerror(errno));
	a->http = evhttp_new(a->base);
	a->stop = event_new(a->base, a->stop_fd, EV_READ, on_stop, a->base);
	if (!a->http || !a->stop || event_add(a->stop, NULL) < 0)
		return err_set(err, ERR_FATAL, "event loop: out of memory");
	/* All, so that what we refuse is answered by us, with 405. */
	evhttp_set_allowed_methods(a->http, 0xffff);
	evhttp_set_gencb(a->http, serve, a);
	if (set_up_announce(a, err) < 0)
		return -1;
	return set_up_gate(a, fd, err);
}

static void *run(void *arg)
{
	struct admin *a = arg;

	event_base_dispatch(a->base);
	return NULL;
}

static int start(struct admin *a, struct err *err)
{
	int rc = pthread_create(&a->thread, NULL, run, a);

	if (rc != 0)
		return err_set(err, ERR_FATAL, "thread: %s", strerror(rc));
	a->running = true;
	return 0;
}

int admin_open(const char *endpoint, struct metrics *metrics, admin_ready_fn *ready, void *ctx,
    struct admin **ret_admin, struct err *err)
{
	struct admin *a = mem_zalloc(1, sizeof(*a));
	char *host = NULL;
	int port, fd = -1, rc = -1;

	*a = (struct admin){.metrics = metrics, .ready = ready, .ctx = ctx, .stop_fd = -1};
	if (option_endpoint(endpoint, &host, &port, err) < 0)
		goto done;
	fd = port < 0 ? listen_unix(a, host) : listen_tcp(a, host, port);
	if (fd < 0) {
		err_set(err, ERR_FATAL, "cannot listen: %s", strerror(errno));
		goto done;
	}
	if (set_up(a, fd, err) < 0)
		goto done;
	fd = -1; /* evhttp's now */
	if (start(a, err) < 0)
		goto done;
	*ret_admin = a;
	a = NULL; /* the caller's now */
	rc = 0;
done:
	if (rc < 0)
		err_wrap(err, "--admin-listen %s", endpoint);
	if (fd >= 0)
		close(fd);
	free(host);
	admin_close(a);
	return rc;
}

int admin_port(const struct admin *a)
{
	return a->port;
}

static void stop(struct admin *a)
{
	uint64_t one = 1;
	ssize_t n = write(a->stop_fd, &one, sizeof(one));

	(void)n;
	pthread_join(a->thread, NULL);
}

void admin_close(struct admin *a)
{
	if (!a)
		return;
	if (a->running)
		stop(a);
	if (a->stop)
		event_free(a->stop);
	if (a->resume)
		event_free(a->resume);
	if (a->announce)
		event_free(a->announce);
	if (a->http)
		evhttp_free(a->http);
	gate_free(a->gate);
	if (a->base)
		event_base_free(a->base);
	if (a->stop_fd >= 0)
		close(a->stop_fd);
	if (a->path)
		unlink(a->path);
	free(a->path);
	free(a);
}
