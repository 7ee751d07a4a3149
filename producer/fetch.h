/*
 * fetch.h - HTTP requests for threads that must never wait.
 *
 * One thread of its own runs every request (libcurl, several at a time) and calls back from there.
 * Redirects are answers like any other: they are not followed.
 */
#ifndef UMAVEZ_FETCH_H
#define UMAVEZ_FETCH_H

#include "common/err.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Requests waiting or under way; one more is refused. */
#define FETCH_MAX_REQUESTS 64

struct fetch_request {
	const char *url;  /* http or https */
	bool secure;      /* refuse http, but for a loopback address */
	const void *body; /* NULL: GET. Otherwise POST */
	size_t len;
	const char *content_type; /* of body */
	size_t max_bytes;         /* a longer answer is an error */
	int64_t timeout_ms;       /* for the whole of it */
};

struct fetch_answer {
	int status;       /* 0: no complete answer, error says why */
	const void *body; /* NUL-terminated; borrowed for the call, like all of this */
	size_t len;
	const char *cache_control; /* every such header, joined by ", "; NULL: none */
	const char *error;         /* NULL when status is set */
};

/* Runs on the fetcher's thread, exactly once for each request that was accepted. It must not wait,
 * and may start another request. */
typedef void fetch_done_fn(void *ctx, const struct fetch_answer *answer);

struct fetcher;

/* Before other threads use libcurl or OpenSSL. ERR_FATAL: no thread, no memory. */
int fetch_open(struct fetcher **ret_fetcher, struct err *err) warn_unused;

/* Abandon what is waiting or under way, calling back for it with an error; then stop the thread.
 * Not from a callback. */
void fetch_close(struct fetcher *f); /* NULL is fine */

/* Copies the request. ERR_REJECT: the URL is not one, or not secure as demanded. ERR_RETRY: too
 * many requests, or closing. Never waits for the network. */
int fetch_start(struct fetcher *f, const struct fetch_request *request, fetch_done_fn *done,
    void *ctx, struct err *err) warn_unused;

/* What fetch_start() would say of the URL, for a check of the configuration. */
int fetch_check_url(const char *url, bool secure, struct err *err) warn_unused;

#endif
