/* The head of a request: what we let pass, libevent must read as we did. */
#include "common/head.h"
#include "common/memory.h"
#include "tests/fuzz/fuzz.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_BODY (INT64_C(256) << 10)

/* libevent's own, of its http-internal.h: the head as its server reads it. 1: all of it is there.
 */
int evhttp_parse_firstline_(struct evhttp_request *req, struct evbuffer *buffer);
int evhttp_parse_headers_(struct evhttp_request *req, struct evbuffer *buffer);

static int count(const struct evkeyvalq *headers, const char *name)
{
	const struct evkeyval *header;
	int n = 0;

	for (header = headers->tqh_first; header; header = header->next.tqe_next)
		n += strcasecmp(header->key, name) == 0;
	return n;
}

/* What libevent is given, with the length that the gate writes. */
static struct evbuffer *written(const char *bytes, const struct head *head)
{
	struct evbuffer *buffer = evbuffer_new();
	char *text = mem_alloc(head->len);
	size_t len = head_write(head, bytes, text);

	FUZZ_CHECK(buffer && len <= head->len && evbuffer_add(buffer, text, len) == 0);
	evbuffer_add_printf(buffer, "Content-Length: %d\r\n\r\n", (int)head->content_length);
	free(text);
	return buffer;
}

static void check_libevent(const char *bytes, const struct head *head)
{
	struct evhttp_request *req = evhttp_request_new(NULL, NULL);
	struct evbuffer *buffer = written(bytes, head);
	const struct evkeyvalq *headers;

	FUZZ_CHECK(req);
	req->kind = EVHTTP_REQUEST;
	FUZZ_CHECK(evhttp_parse_firstline_(req, buffer) == 1);
	FUZZ_CHECK(!evhttp_uri_get_host(evhttp_request_get_evhttp_uri(req)));
	FUZZ_CHECK(evhttp_request_get_uri(req)[0] == '/');
	FUZZ_CHECK(evhttp_parse_headers_(req, buffer) == 1);
	headers = evhttp_request_get_input_headers(req);
	FUZZ_CHECK(count(headers, "Content-Length") == 1);
	FUZZ_CHECK(count(headers, "Transfer-Encoding") == 0 && count(headers, "Expect") == 0);
	FUZZ_CHECK(count(headers, "Host") == head->has_host);
	FUZZ_CHECK(evbuffer_get_length(buffer) == 0);
	evbuffer_free(buffer);
	evhttp_request_free(req);
}

static void check_accepted(const char *bytes, size_t len, const struct head *head)
{
	size_t ends = 0;

	FUZZ_CHECK(!memchr(bytes, '\0', len));
	for (size_t i = 0; i < len; i++) {
		if (bytes[i] == '\n')
			FUZZ_CHECK(i > 0 && bytes[i - 1] == '\r');
		if (bytes[i] == '\r')
			FUZZ_CHECK(bytes[i + 1] == '\n');
		ends += bytes[i] == '\n';
	}
	FUZZ_CHECK(ends >= 2);
	FUZZ_CHECK(head->content_length >= 0 && head->content_length <= MAX_BODY);
	FUZZ_CHECK(!head->chunked || !head->has_length);
}

/* In two pieces, the first of any length: the same verdict. */
static void check_pieces(const uint8_t *data, size_t size, size_t cut, int status, size_t len)
{
	struct head head = {0};
	const char *detail;
	int again = head_read(&head, (const char *)data, cut, MAX_BODY, &detail);

	if (again == 0)
		again = head_read(&head, (const char *)data, size, MAX_BODY, &detail);
	FUZZ_CHECK(again == status && (status != 0 || head.len == len));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const char *bytes = (const char *)data, *detail = NULL;
	struct head head = {0};
	int status;

	size = size < HEAD_MAX ? size : HEAD_MAX;
	status = head_read(&head, bytes, size, MAX_BODY, &detail);
	if (head.complete) {
		check_accepted(bytes, head.len, &head);
		check_libevent(bytes, &head);
	} else {
		FUZZ_CHECK(status == 0 || (status >= 400 && status < 600 && detail));
	}
	check_pieces(data, size, size / 2, status, head.len);
	return 0;
}
