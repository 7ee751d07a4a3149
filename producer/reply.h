/*
 * reply.h - the answers that a store gets.
 */
#ifndef UMAVEZ_REPLY_H
#define UMAVEZ_REPLY_H

#include <event2/http.h>

/* 200 {"outcome":"..."} */
void reply_outcome(struct evhttp_request *req, const char *outcome);

/* A problem document; with 405 goes Allow: POST, with 503 Retry-After. */
void reply_problem(struct evhttp_request *req, int status, const char *detail);

/* Say with the answer that the connection will be closed. */
void reply_close(struct evhttp_request *req);

#endif
