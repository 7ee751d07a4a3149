/*
 * request.h - what an HTTP request says to us, besides its body.
 */
#ifndef UMAVEZ_REQUEST_H
#define UMAVEZ_REQUEST_H

#include "common/traceparent.h"
#include "producer/store.h"

#include <event2/http.h>
#include <stdbool.h>

/*
 * The headers that decide whether a notification is authentic, and its id.  They point into the
 * request.  False: one of them is there twice, *ret_name says which; two readers could take a
 * different one.
 */
bool request_headers(struct evhttp_request *req, struct webhook *hook, const char **ret_name);

/* The W3C trace context of a notification's way through umavez. */
struct request_trace {
	char traceparent[TRACEPARENT_SIZE];
	char link[TRACEPARENT_SIZE]; /* "": none. A context from outside that is not trusted */
	char trace_id[33];
};

/* trusted: a valid traceparent becomes the parent. Two headers, or a malformed one, are none. */
void request_trace(struct evhttp_request *req, bool trusted, struct request_trace *ret);

#endif
