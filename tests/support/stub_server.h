/*
 * stub_server.h - an HTTP server that answers every request as it was told last, and counts them.
 *
 * One thread, one request a connection, on a port of the system's choice on 127.0.0.1.
 */
#ifndef UMAVEZ_TESTS_STUB_SERVER_H
#define UMAVEZ_TESTS_STUB_SERVER_H

#include <stddef.h>

struct stub_server;

struct stub_server *stub_open(void);
void stub_close(struct stub_server *s); /* connections that hang are closed */

const char *stub_url(const struct stub_server *s); /* "http://127.0.0.1:port/x" */

/* From the next request on. status 0: take the request and never answer; status -1: close at once.
 * headers: lines that end with CRLF, or "". */
void stub_answer(
    struct stub_server *s, int status, const char *headers, const void *body, size_t len);

int stub_hits(struct stub_server *s);

/* The last request as it came, malloc'd; NULL: none yet. */
char *stub_last_request(struct stub_server *s);

#endif
