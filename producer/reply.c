#include "producer/reply.h"

#include "common/problem.h"

#include <event2/buffer.h>
#include <stdlib.h>

/* Seconds. The stores come back much later by themselves; this is for proxies and people. */
#define RETRY_AFTER "5"

void reply_outcome(struct evhttp_request *req, const char *outcome)
{
	evhttp_add_header(
	    evhttp_request_get_output_headers(req), "Content-Type", "application/json");
	evbuffer_add_printf(evhttp_request_get_output_buffer(req), "{\"outcome\":\"%s\"}", outcome);
	evhttp_send_reply(req, 200, "OK", NULL);
}

void reply_problem(struct evhttp_request *req, int status, const char *detail)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(req);
	size_t len;
	char *document = problem_document(status, detail, &len);

	evhttp_add_header(headers, "Content-Type", PROBLEM_TYPE);
	if (status == 405)
		evhttp_add_header(headers, "Allow", "POST");
	if (status == 503)
		evhttp_add_header(headers, "Retry-After", RETRY_AFTER);
	if (evhttp_request_get_command(req) != EVHTTP_REQ_HEAD)
		evbuffer_add(evhttp_request_get_output_buffer(req), document, len);
	free(document);
	evhttp_send_reply(req, status, problem_title(status), NULL);
}

void reply_close(struct evhttp_request *req)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(req);

	evhttp_remove_header(headers, "Connection");
	evhttp_add_header(headers, "Connection", "close");
}
