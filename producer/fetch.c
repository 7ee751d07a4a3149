#include "producer/fetch.h"

#include "common/memory.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct task {
	struct task *next; /* in one of the fetcher's two lists */
	struct fetch_request request;
	fetch_done_fn *done;
	void *ctx;
	CURL *easy;
	struct curl_slist *headers;
	char *body; /* the answer's, NUL-terminated */
	size_t len;
	char *cache_control;
	bool too_long;
	char error[CURL_ERROR_SIZE];
};

/*
 * A task is first in `waiting`, then in `running`, then called back and freed.  Only the fetcher's
 * thread touches `running` and the multi handle (but for the wake-up, which any thread may give).
 */
struct fetcher {
	CURLM *multi;
	pthread_t thread;
	pthread_mutex_t lock; /* of the next three */
	struct task *waiting;
	size_t n_tasks;
	bool closing;
	struct task *running;
};

static bool is_loopback(const char *host)
{
	struct in_addr v4;
	struct in6_addr v6;
	char bare[INET6_ADDRSTRLEN + 1] = "";

	if (strcasecmp(host, "localhost") == 0)
		return true;
	if (inet_pton(AF_INET, host, &v4) == 1)
		return ntohl(v4.s_addr) >> 24 == 127;
	if (host[0] != '[' || strlen(host) > INET6_ADDRSTRLEN)
		return false;
	memcpy(bare, host + 1, strcspn(host + 1, "]"));
	return inet_pton(AF_INET6, bare, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static int check_url(const char *url, bool secure, bool *ret_loopback, struct err *err)
{
	CURLU *parsed = curl_url();
	char *scheme = NULL, *host = NULL;
	int rc = -1;

	if (!parsed || curl_url_set(parsed, CURLUPART_URL, url, 0) != CURLUE_OK ||
	    curl_url_get(parsed, CURLUPART_SCHEME, &scheme, 0) != CURLUE_OK) {
		err_set(err, ERR_REJECT, "not a URL");
		goto done;
	}
	if ((strcmp(scheme, "https") != 0 && strcmp(scheme, "http") != 0) ||
	    curl_url_get(parsed, CURLUPART_HOST, &host, 0) != CURLUE_OK) {
		err_set(err, ERR_REJECT, "the URL is neither http nor https");
		goto done;
	}
	if (secure && strcmp(scheme, "https") != 0 && !is_loopback(host)) {
		err_set(err, ERR_REJECT, "the URL must be https, unless its host is this machine");
		goto done;
	}
	*ret_loopback = is_loopback(host);
	rc = 0;
done:
	curl_free(scheme);
	curl_free(host);
	curl_url_cleanup(parsed);
	return rc;
}

int fetch_check_url(const char *url, bool secure, struct err *err)
{
	bool loopback;

	return check_url(url, secure, &loopback, err);
}

static size_t on_body(char *bytes, size_t size, size_t n, void *ctx)
{
	struct task *task = ctx;

	n *= size;
	if (n > task->request.max_bytes - task->len) {
		task->too_long = true;
		return CURL_WRITEFUNC_ERROR;
	}
	task->body = mem_realloc(task->body, task->len + n + 1);
	memcpy(task->body + task->len, bytes, n);
	task->len += n;
	task->body[task->len] = '\0';
	return n;
}

static size_t on_header(char *bytes, size_t size, size_t n, void *ctx)
{
	static const char name[] = "Cache-Control:";
	const size_t name_len = sizeof(name) - 1;
	struct task *task = ctx;
	size_t end = n *= size;
	size_t start = name_len;
	char *before = task->cache_control;

	if (n < name_len || strncasecmp(bytes, name, name_len) != 0)
		return n;
	while (end > start && strchr("\r\n \t", bytes[end - 1]))
		end--;
	while (start < end && strchr(" \t", bytes[start]))
		start++;
	task->cache_control = mem_printf("%s%s%.*s", before ? before : "", before ? ", " : "",
	    (int)(end - start), bytes + start);
	free(before);
	return n;
}

static void task_free(struct task *task)
{
	curl_easy_cleanup(task->easy);
	curl_slist_free_all(task->headers);
	free(task->body);
	free(task->cache_control);
	free(task);
}

static int set_options(struct task *task, bool loopback)
{
	const struct fetch_request *r = &task->request;
	CURL *easy = task->easy;
	bool failed = false;

#define SET(option, value) (failed |= curl_easy_setopt(easy, option, value) != CURLE_OK)
	SET(CURLOPT_URL, r->url);
	SET(CURLOPT_PROTOCOLS_STR, "http,https");
	SET(CURLOPT_NOSIGNAL, 1L);
	SET(CURLOPT_TIMEOUT_MS, (long)r->timeout_ms);
	SET(CURLOPT_USERAGENT, "umavez/" UMAVEZ_VERSION);
	SET(CURLOPT_ERRORBUFFER, task->error);
	SET(CURLOPT_PRIVATE, task);
	SET(CURLOPT_WRITEFUNCTION, on_body);
	SET(CURLOPT_WRITEDATA, task);
	SET(CURLOPT_HEADERFUNCTION, on_header);
	SET(CURLOPT_HEADERDATA, task);
	SET(CURLOPT_HTTPHEADER, task->headers);
	/* Plain http is good enough for this machine only as long as it stays on it. */
	if (loopback)
		SET(CURLOPT_NOPROXY, "*");
	if (r->body) {
		SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)r->len);
		SET(CURLOPT_COPYPOSTFIELDS, r->body);
	}
#undef SET
	return failed ? -1 : 0;
}

/* curl keeps copies of all that the request borrows. */
static struct task *task_new(
    const struct fetch_request *request, fetch_done_fn *done, void *ctx, struct err *err)
{
	struct task *task;
	bool loopback;

	if (check_url(request->url, request->secure, &loopback, err) < 0)
		return NULL;
	task = mem_zalloc(1, sizeof(*task));
	task->request = *request;
	task->done = done;
	task->ctx = ctx;
	task->easy = curl_easy_init();
	if (request->body) {
		char *type = mem_printf("Content-Type: %s", request->content_type);

		task->headers = curl_slist_append(NULL, type);
		free(type);
	}
	if (!task->easy || set_options(task, loopback) < 0) {
		err_set(err, ERR_RETRY, "curl: cannot prepare a request");
		task_free(task);
		return NULL;
	}
	return task;
}

int fetch_start(struct fetcher *f, const struct fetch_request *request, fetch_done_fn *done,
    void *ctx, struct err *err)
{
	struct task *task;
	bool accepted;

	task = task_new(request, done, ctx, err);
	if (!task)
		return -1;
	pthread_mutex_lock(&f->lock);
	accepted = !f->closing && f->n_tasks < FETCH_MAX_REQUESTS;
	if (accepted) {
		task->next = f->waiting;
		f->waiting = task;
		f->n_tasks++;
	}
	pthread_mutex_unlock(&f->lock);
	if (!accepted) {
		task_free(task);
		return err_set(err, ERR_RETRY, "too many requests are under way");
	}
	curl_multi_wakeup(f->multi);
	return 0;
}

static const char *error_text(const struct task *task, CURLcode result)
{
	if (task->too_long)
		return "the answer is too long";
	return task->error[0] ? task->error : curl_easy_strerror(result);
}

/* Take it out of `running`, call back, free it. */
static void finish(struct fetcher *f, struct task *task, CURLcode result)
{
	struct fetch_answer answer = {.cache_control = task->cache_control};
	struct task **link = &f->running;
	long status = 0;

	while (*link != task)
		link = &(*link)->next;
	*link = task->next;
	curl_multi_remove_handle(f->multi, task->easy);
	if (result == CURLE_OK)
		curl_easy_getinfo(task->easy, CURLINFO_RESPONSE_CODE, &status);
	answer.status = (int)status;
	if (status) {
		answer.body = task->body ? task->body : "";
		answer.len = task->len;
	} else {
		answer.error = error_text(task, result);
	}
	/* Whoever is called back may ask again at once. */
	pthread_mutex_lock(&f->lock);
	f->n_tasks--;
	pthread_mutex_unlock(&f->lock);
	task->done(task->ctx, &answer);
	task_free(task);
}

/* False when the fetcher is closing. */
static bool start_waiting(struct fetcher *f)
{
	struct task *tasks;
	bool closing;

	pthread_mutex_lock(&f->lock);
	tasks = f->waiting;
	f->waiting = NULL;
	closing = f->closing;
	pthread_mutex_unlock(&f->lock);
	while (tasks) {
		struct task *task = tasks;

		tasks = task->next;
		task->next = f->running;
		f->running = task;
		if (curl_multi_add_handle(f->multi, task->easy) != CURLM_OK)
			finish(f, task, CURLE_FAILED_INIT);
	}
	return !closing;
}

static void *run(void *ctx)
{
	struct fetcher *f = ctx;

	while (start_waiting(f)) {
		CURLMsg *message;
		int left, active;

		curl_multi_perform(f->multi, &active);
		while ((message = curl_multi_info_read(f->multi, &left))) {
			struct task *task = NULL;

			curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &task);
			finish(f, task, message->data.result);
		}
		curl_multi_poll(f->multi, NULL, 0, 60000, NULL);
	}
	while (f->running)
		finish(f, f->running, CURLE_ABORTED_BY_CALLBACK);
	return NULL;
}

int fetch_open(struct fetcher **ret_fetcher, struct err *err)
{
	struct fetcher *f = mem_zalloc(1, sizeof(*f));

	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
		free(f);
		return err_set(err, ERR_FATAL, "curl: cannot be initialised");
	}
	pthread_mutex_init(&f->lock, NULL);
	f->multi = curl_multi_init();
	if (!f->multi || pthread_create(&f->thread, NULL, run, f) != 0) {
		curl_multi_cleanup(f->multi);
		pthread_mutex_destroy(&f->lock);
		free(f);
		curl_global_cleanup();
		return err_set(err, ERR_FATAL, "no thread for outgoing requests");
	}
	*ret_fetcher = f;
	return 0;
}

void fetch_close(struct fetcher *f)
{
	if (!f)
		return;
	pthread_mutex_lock(&f->lock);
	f->closing = true;
	pthread_mutex_unlock(&f->lock);
	curl_multi_wakeup(f->multi);
	pthread_join(f->thread, NULL);
	curl_multi_cleanup(f->multi);
	pthread_mutex_destroy(&f->lock);
	free(f);
	curl_global_cleanup();
}
