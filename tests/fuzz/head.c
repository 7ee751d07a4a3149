/* The head of a request: what we let pass, libevent must read as we did. */
#include "producer/head.h"
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

/* One length, and the same one. */
static void check_length(const struct evkeyvalq *headers, const struct head *head)
{
	const char *length = evhttp_find_header(headers, "Content-Length");
	const char *coding = evhttp_find_header(headers, "Transfer-Encoding");

	FUZZ_CHECK(count(headers, "Content-Length") == (head->content_length >= 0));
	FUZZ_CHECK(count(headers, "Transfer-Encoding") == head->chunked);
	FUZZ_CHECK(!length || strtoll(length, NULL, 10) == head->content_length);
	FUZZ_CHECK(!coding || strcasecmp(coding, "chunked") == 0);
	FUZZ_CHECK(!(length && coding));
}

/* An absolute target makes libevent ask the server that the request came to, and there is none
 * here: of such a head only the target is given to libevent. */
static bool is_absolute(const char *bytes)
{
	return strchr(bytes, ' ')[1] != '/';
}

static void check_absolute(const char *bytes)
{
	const char *target = strchr(bytes, ' ') + 1;
	char *text = mem_strndup(target, strcspn(target, " "));
	struct evhttp_uri *uri = evhttp_uri_parse_with_flags(text, EVHTTP_URI_NONCONFORMANT);

	FUZZ_CHECK(uri && evhttp_uri_get_host(uri));
	evhttp_uri_free(uri);
	free(text);
}

static void check_libevent(const char *bytes, size_t len, const struct head *head)
{
	struct evhttp_request *req = evhttp_request_new(NULL, NULL);
	struct evbuffer *buffer = evbuffer_new();

	FUZZ_CHECK(req && buffer && evbuffer_add(buffer, bytes, len) == 0);
	req->kind = EVHTTP_REQUEST;
	FUZZ_CHECK(evhttp_parse_firstline_(req, buffer) == 1);
	FUZZ_CHECK(!evhttp_uri_get_host(evhttp_request_get_evhttp_uri(req)));
	FUZZ_CHECK(evhttp_parse_headers_(req, buffer) == 1);
	check_length(evhttp_request_get_input_headers(req), head);
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
	FUZZ_CHECK(head->content_length >= -1 && head->content_length <= MAX_BODY);
	FUZZ_CHECK(!head->chunked || head->content_length == -1);
}

/* Up to the first empty line, as the gate cuts it; one is put behind. */
static char *cut_head(const uint8_t *data, size_t size, size_t *ret_len)
{
	char *bytes = mem_alloc(size + 4), *end;

	if (size > 0)
		memcpy(bytes, data, size);
	memcpy(bytes + size, "\r\n\r\n", 4);
	end = memmem(bytes, size + 4, "\r\n\r\n", 4);
	*ret_len = (size_t)(end - bytes) + 4;
	return mem_realloc(bytes, *ret_len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	size_t len;
	char *bytes = cut_head(data, size, &len);
	const char *detail = NULL;
	struct head head;
	int status = head_read(bytes, len, MAX_BODY, &head, &detail);

	if (status == 0) {
		check_accepted(bytes, len, &head);
		if (is_absolute(bytes))
			check_absolute(bytes);
		else
			check_libevent(bytes, len, &head);
	} else {
		FUZZ_CHECK(status >= 400 && status < 600 && detail);
	}
	free(bytes);
	return 0;
}
