/*
 * http.h - a blocking HTTP client for tests (libcurl), and raw bytes for what a client must not do.
 */
#ifndef UMAVEZ_TESTS_HTTP_H
#define UMAVEZ_TESTS_HTTP_H

#include <stddef.h>
#include <stdint.h>

struct http_answer {
	int status; /* 0: no answer; *error says why */
	char *body; /* NUL-terminated */
	size_t len;
	char *headers; /* as received, CRLF lines */
	char error[256];
};
void http_answer_done(struct http_answer *a);

/* Value of a header of the answer, trimmed, without regard to case; malloc'd or NULL. */
char *http_header(const struct http_answer *a, const char *name);

/* headers: NULL-terminated "Name: value". body NULL: GET. */
void http_request(const char *method, const char *url, const char *const *headers, const void *body,
    size_t len, int64_t timeout_ms, struct http_answer *ret);

/* The same posts, n of them at the same moment from n threads; statuses[i] is filled. */
void http_storm(const char *url, const char *const *headers, const void *body, size_t len, int n,
    int *statuses);

/* A connection to "http://host:port[/...]", or -1. */
int http_connect(const char *base_url);

/* Connect, write these bytes, read until the peer closes or timeout_ms. malloc'd answer. */
char *http_raw(
    const char *base_url, const void *bytes, size_t len, int64_t timeout_ms, size_t *ret_len);

#endif
