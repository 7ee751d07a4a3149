#include "tests/support/http.h"

#include "tests/support/die.h"
#include "tests/support/pause.h"

#include <curl/curl.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

struct bytes {
	char *data;
	size_t len;
};

static void bytes_add(struct bytes *b, const void *data, size_t len)
{
	b->data = realloc(b->data, b->len + len + 1);
	if (b->data == NULL)
		die("out of memory");
	memcpy(b->data + b->len, data, len);
	b->len += len;
	b->data[b->len] = '\0';
}

static size_t keep(char *data, size_t size, size_t n, void *ctx)
{
	bytes_add(ctx, data, size * n);
	return size * n;
}

void http_answer_done(struct http_answer *a)
{
	free(a->body);
	free(a->headers);
	*a = (struct http_answer){0};
}

char *http_header(const struct http_answer *a, const char *name)
{
	size_t len = strlen(name);
	const char *line = a->headers;

	for (; line != NULL && *line != '\0'; line += strcspn(line, "\n"), line += *line == '\n') {
		if (strncasecmp(line, name, len) != 0 || line[len] != ':')
			continue;
		line += len + 1;
		line += strspn(line, " \t");
		len = strcspn(line, "\r\n");
		while (len > 0 && (line[len - 1] == ' ' || line[len - 1] == '\t'))
			len--;
		return strndup(line, len);
	}
	return NULL;
}

static void initialise(void)
{
	curl_global_init(CURL_GLOBAL_DEFAULT);
}

static CURL *new_handle(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	CURL *curl;

	pthread_once(&once, initialise);
	curl = curl_easy_init();
	if (curl == NULL)
		die("curl: out of memory");
	return curl;
}

static struct curl_slist *header_list(const char *const *headers)
{
	struct curl_slist *list = NULL;

	/* Without it curl waits a second for "100 Continue" before a body above 1 MiB. */
	list = curl_slist_append(list, "Expect:");
	for (; headers != NULL && *headers != NULL; headers++)
		list = curl_slist_append(list, *headers);
	return list;
}

static void set_request(CURL *curl, const char *method, const char *url, struct curl_slist *headers,
    const void *body, size_t len)
{
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
	if (body != NULL) {
		curl_easy_setopt(curl, CURLOPT_POST, 1L);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)len);
		curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body);
	}
	if (strcmp(method, "HEAD") == 0)
		curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
	else if (strcmp(method, body != NULL ? "POST" : "GET") != 0)
		curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
}

void http_request(const char *method, const char *url, const char *const *headers, const void *body,
    size_t len, int64_t timeout_ms, struct http_answer *ret)
{
	struct bytes got_body = {NULL, 0}, got_headers = {NULL, 0};
	struct curl_slist *list = header_list(headers);
	CURL *curl = new_handle();
	long status = 0;

	*ret = (struct http_answer){0};
	bytes_add(&got_body, "", 0);
	bytes_add(&got_headers, "", 0);
	set_request(curl, method, url, list, body, len);
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)timeout_ms);
	curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, ret->error);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, keep);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, &got_body);
	curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, keep);
	curl_easy_setopt(curl, CURLOPT_HEADERDATA, &got_headers);
	if (curl_easy_perform(curl) == CURLE_OK)
		curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
	ret->status = (int)status;
	ret->body = got_body.data;
	ret->len = got_body.len;
	ret->headers = got_headers.data;
	curl_easy_cleanup(curl);
	curl_slist_free_all(list);
}

struct storm {
	const char *url;
	const char *const *headers;
	const void *body;
	size_t len;
	pthread_barrier_t start;
};

struct storm_thread {
	struct storm *storm;
	int status;
};

static void *storm_post(void *ctx)
{
	struct storm_thread *t = ctx;
	const struct storm *s = t->storm;
	struct http_answer answer;

	pthread_barrier_wait(&t->storm->start);
	http_request("POST", s->url, s->headers, s->body, s->len, 30000, &answer);
	t->status = answer.status;
	http_answer_done(&answer);
	return NULL;
}

void http_storm(
    const char *url, const char *const *headers, const void *body, size_t len, int n, int *statuses)
{
	struct storm storm = {.url = url, .headers = headers, .body = body, .len = len};
	struct storm_thread *threads = calloc((size_t)n, sizeof(*threads));
	pthread_t *ids = calloc((size_t)n, sizeof(*ids));

	if (threads == NULL || ids == NULL)
		die("out of memory");
	pthread_barrier_init(&storm.start, NULL, (unsigned)n);
	for (int i = 0; i < n; i++) {
		threads[i].storm = &storm;
		if (pthread_create(&ids[i], NULL, storm_post, &threads[i]) != 0)
			die("cannot start thread %d of a storm", i);
	}
	for (int i = 0; i < n; i++) {
		pthread_join(ids[i], NULL);
		statuses[i] = threads[i].status;
	}
	pthread_barrier_destroy(&storm.start);
	free(threads);
	free(ids);
}

int http_connect(const char *base_url)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found = NULL;
	char host[128], port[16];
	int fd;

	if (sscanf(base_url, "http://%127[^:/]:%15[0-9]", host, port) != 2)
		die("not a base URL: %s", base_url);
	if (getaddrinfo(host, port, &hints, &found) != 0)
		die("no address: %s", base_url);
	fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) < 0) {
		close(fd);
		fd = -1;
	}
	freeaddrinfo(found);
	return fd;
}

/* One step of an exchange: send what is left, take what came. False: it is over. */
static bool exchange(int fd, const char **bytes, size_t *left, struct bytes *got, int wait_ms)
{
	struct pollfd p = {fd, (short)(POLLIN | (*left > 0 ? POLLOUT : 0)), 0};
	char buf[4096];
	ssize_t n;

	if (poll(&p, 1, wait_ms) <= 0)
		return false;
	if (p.revents & POLLIN) {
		n = recv(fd, buf, sizeof(buf), 0);
		if (n <= 0)
			return false;
		bytes_add(got, buf, (size_t)n);
	}
	if (p.revents & POLLOUT) {
		n = send(fd, *bytes, *left, MSG_NOSIGNAL | MSG_DONTWAIT);
		/* A peer that refuses the rest may still have an answer for us. */
		if (n < 0 && errno != EAGAIN)
			*left = 0;
		if (n > 0) {
			*bytes += n;
			*left -= (size_t)n;
		}
	}
	return (p.revents & (POLLERR | POLLNVAL)) == 0;
}

char *http_raw(
    const char *base_url, const void *bytes, size_t len, int64_t timeout_ms, size_t *ret_len)
{
	int64_t deadline = now_ms() + timeout_ms;
	const char *next = bytes;
	struct bytes got = {NULL, 0};
	int fd = http_connect(base_url);
	bool more = fd >= 0;

	bytes_add(&got, "", 0);
	while (more) {
		int64_t left_ms = deadline - now_ms();

		more = left_ms > 0 && exchange(fd, &next, &len, &got, (int)left_ms);
	}
	if (fd >= 0)
		close(fd);
	if (ret_len != NULL)
		*ret_len = got.len;
	return got.data;
}
