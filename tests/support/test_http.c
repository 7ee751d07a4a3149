#include "tests/support/check.h"
#include "tests/support/http.h"
#include "tests/support/pause.h"
#include "tests/support/stub_server.h"

#include <stdlib.h>
#include <string.h>

static struct stub_server *open_stub(void)
{
	struct stub_server *s = stub_open();

	stub_answer(s, 201, "X-Thing-Else: no\r\nx-THING: \t a b \r\n", "ok", 2);
	return s;
}

static void check_request(struct stub_server *s, const char *begins, const char *has)
{
	char *request = stub_last_request(s);

	CHECK(request != NULL && strncmp(request, begins, strlen(begins)) == 0);
	if (strstr(request, has) == NULL)
		CHECK_STR(request, has);
	free(request);
}

static void a_post_is_sent_and_its_answer_read(void)
{
	const char *const headers[] = {"X-Mine: yes", "Content-Type: application/json", NULL};
	struct stub_server *s = open_stub();
	struct http_answer a;
	char *value;

	http_request("POST", stub_url(s), headers, "{}", 2, 5000, &a);
	CHECK_INT(a.status, 201);
	CHECK_STR(a.body, "ok");
	CHECK_INT((int64_t)a.len, 2);
	value = http_header(&a, "X-Thing");
	CHECK_STR(value, "a b");
	CHECK(http_header(&a, "X-Thin") == NULL);
	check_request(s, "POST /x HTTP/1.1\r\n", "X-Mine: yes\r\n");
	check_request(s, "POST ", "Content-Length: 2\r\n");
	check_request(s, "POST ", "\r\n\r\n{}");
	free(value);
	http_answer_done(&a);
	stub_close(s);
}

static void other_methods_are_sent_as_told(void)
{
	static const char *const methods[] = {"GET", "DELETE", "PUT"};
	struct stub_server *s = open_stub();
	struct http_answer a;

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		http_request(methods[i], stub_url(s), NULL, NULL, 0, 5000, &a);
		CHECK_INT(a.status, 201);
		check_request(s, methods[i], " /x HTTP/1.1\r\n");
		http_answer_done(&a);
	}
	stub_close(s);
}

static void no_answer_is_0_and_says_why(void)
{
	struct stub_server *s = open_stub();
	struct http_answer a;

	stub_answer(s, -1, "", "", 0);
	http_request("GET", stub_url(s), NULL, NULL, 0, 5000, &a);
	CHECK_INT(a.status, 0);
	CHECK(a.error[0] != '\0');
	CHECK_STR(a.body, "");
	http_answer_done(&a);
	stub_close(s);
}

static void a_storm_posts_n_times(void)
{
	struct stub_server *s = open_stub();
	int statuses[20] = {0};

	http_storm(stub_url(s), NULL, "{}", 2, 20, statuses);
	CHECK_INT(stub_hits(s), 20);
	for (int i = 0; i < 20; i++)
		CHECK_INT(statuses[i], 201);
	stub_close(s);
}

static void raw_bytes_go_out_as_they_are(void)
{
	static const char bytes[] = "not http\n\x01\r\n\r\n";
	struct stub_server *s = open_stub();
	size_t len;
	char *got = http_raw(stub_url(s), bytes, sizeof(bytes) - 1, 5000, &len);

	check_request(s, bytes, bytes);
	CHECK(strncmp(got, "HTTP/1.1 201 ", 13) == 0 && strstr(got, "\r\n\r\nok") != NULL);
	CHECK_INT((int64_t)len, (int64_t)strlen(got));
	free(got);
	stub_close(s);
}

static void a_silent_peer_costs_the_timeout(void)
{
	struct stub_server *s = open_stub();
	int64_t before = now_ms();
	size_t len;
	char *got;

	stub_answer(s, 0, "", "", 0);
	got = http_raw(stub_url(s), "GET / HTTP/1.1\r\n\r\n", 18, 100, &len);
	CHECK(now_ms() - before >= 100);
	CHECK_INT((int64_t)len, 0);
	free(got);
	stub_close(s);
}

static const struct check checks[] = {
    {"a post is sent and its answer read", a_post_is_sent_and_its_answer_read},
    {"other methods are sent as told", other_methods_are_sent_as_told},
    {"no answer is 0 and says why", no_answer_is_0_and_says_why},
    {"a storm posts n times", a_storm_posts_n_times},
    {"raw bytes go out as they are", raw_bytes_go_out_as_they_are},
    {"a silent peer costs the timeout", a_silent_peer_costs_the_timeout},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("http", checks, argc, argv);
}
