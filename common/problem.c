#include "common/problem.h"

#include "common/memory.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

const char *problem_title(int status)
{
	static const struct {
		int status;
		const char *title;
	} titles[] = {{400, "Bad Request"}, {401, "Unauthorized"}, {404, "Not Found"},
	    {405, "Method Not Allowed"}, {408, "Request Timeout"}, {411, "Length Required"},
	    {413, "Content Too Large"}, {414, "URI Too Long"}, {417, "Expectation Failed"},
	    {431, "Request Header Fields Too Large"}, {501, "Not Implemented"},
	    {503, "Service Unavailable"}, {505, "HTTP Version Not Supported"}};

	for (size_t i = 0; i < sizeof(titles) / sizeof(titles[0]); i++) {
		if (titles[i].status == status)
			return titles[i].title;
	}
	return "Error";
}

char *problem_document(int status, const char *detail, size_t *ret_len)
{
	json_t *json = json_pack("{s:s, s:s, s:i, s:s}", "type", "about:blank", "title",
	    problem_title(status), "status", status, "detail", detail);
	char *text = json_dumps(json, JSON_COMPACT);

	if (!text)
		abort();
	json_decref(json);
	*ret_len = strlen(text);
	return text;
}

char *problem_response(int status, const char *detail, size_t *ret_len)
{
	size_t len;
	char *document = problem_document(status, detail, &len);
	char *response = mem_printf("HTTP/1.1 %d %s\r\n"
				    "Content-Type: " PROBLEM_TYPE "\r\n"
				    "Content-Length: %zu\r\n"
				    "Connection: close\r\n"
				    "\r\n"
				    "%s",
	    status, problem_title(status), len, document);

	free(document);
	*ret_len = strlen(response);
	return response;
}
