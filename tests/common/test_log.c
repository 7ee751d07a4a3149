#include "common/err.h"
#include "common/log.h"
#include "common/utf8.h"
#include "tests/support/check.h"
#include "tests/support/text.h"

#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int saved_stderr = -1, capture = -1;

static void begin(enum log_level level, enum log_format format)
{
	log_init("test", level, format);
	capture = memfd_create("stderr", 0);
	saved_stderr = dup(STDERR_FILENO);
	CHECK(capture >= 0 && saved_stderr >= 0);
	CHECK_INT(fcntl(capture, F_SETFL, O_APPEND), 0);
	dup2(capture, STDERR_FILENO);
}

/* What was logged since; malloc'd. */
static char *end(void)
{
	off_t len = lseek(capture, 0, SEEK_END);
	char *text = calloc(1, (size_t)len + 1);

	dup2(saved_stderr, STDERR_FILENO);
	close(saved_stderr);
	CHECK_INT(pread(capture, text, (size_t)len, 0), len);
	close(capture);
	return text;
}

static void logfmt(void)
{
	struct err err = {.kind = ERR_RETRY, .message = "tick 57: gone"};

	begin(LOG_INFO, LOG_LOGFMT);
	log_info("shard taken", lf_int("shard", -3), lf_str("holder", "a:1:ff"),
	    lf_str("none", NULL), lf_str("empty", ""), lf_num("lag", 0.25), lf_num("bad", NAN),
	    lf_err(&err));
	char *text = end();
	CHECK(strncmp(text, "ts=20", 5) == 0);
	CHECK_STR(text + strlen("ts=2026-01-01T00:00:00.123Z"),
	    " level=info service=test msg=\"shard taken\" shard=-3 holder=a:1:ff none= empty=\"\""
	    " lag=0.25 bad=nan error=\"tick 57: gone\"\n");
	free(text);
}

static void levels(void)
{
	begin(LOG_WARN, LOG_LOGFMT);
	log_debug("no");
	log_info("no");
	log_warn("yes");
	log_error("yes");
	char *text = end();
	CHECK(strstr(text, "level=warn") && strstr(text, "level=error"));
	CHECK(!strstr(text, "msg=no"));
	CHECK(!log_enabled(LOG_INFO) && log_enabled(LOG_ERROR));
	free(text);
}

static void escapes(void)
{
	static const struct {
		const char *value, *written;
	} cases[] = {
	    {"a b", "\"a b\""},
	    {"a=b", "\"a=b\""},
	    {"say \"hi\"", "\"say \\\"hi\\\"\""},
	    {"back\\slash", "\"back\\\\slash\""},
	    {"line\nmsg=forged\r\t", "\"line\\nmsg=forged\\r\\t\""},
	    {"\x1b[31m\x7f", "\"\\u001b[31m\\u007f\""},
	    {"caf\xc3\xa9", "\"caf\xc3\xa9\""},
	    {"\xff", "\"\\ufffd\""},
	    {"\xc2\x9b", "\"\\u009b\""},     /* CSI as one C1 control */
	    {"\xe2\x80\xae", "\"\\u202e\""}, /* right-to-left override */
	    {"\xe2\x80\xa8", "\"\\u2028\""}, /* line separator */
	    {"\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\""},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		begin(LOG_INFO, LOG_LOGFMT);
		log_info("m", lf_str("v", cases[i].value));
		char *text = end(), *line = text_format(" v=%s\n", cases[i].written);
		CHECK(strlen(text) > strlen(line));
		CHECK_STR(text + strlen(text) - strlen(line), line);
		free(line);
		free(text);
	}
}

static void json(void)
{
	begin(LOG_INFO, LOG_JSON);
	log_info("m", lf_str("v", "q\" \xff \n"), lf_int("n", 5), lf_num("r", 0.5),
	    lf_num("inf", INFINITY), lf_str("none", NULL));
	char *text = end();
	json_t *line = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	CHECK(line != NULL);
	CHECK_STR(json_string_value(json_object_get(line, "msg")), "m");
	CHECK_STR(json_string_value(json_object_get(line, "v")), "q\" \xef\xbf\xbd \n");
	CHECK_INT(json_integer_value(json_object_get(line, "n")), 5);
	CHECK(json_real_value(json_object_get(line, "r")) == 0.5);
	CHECK_STR(json_string_value(json_object_get(line, "inf")), "inf");
	CHECK_STR(json_string_value(json_object_get(line, "none")), "");
	CHECK_INT(strchr(text, '\n') - text, (int64_t)strlen(text) - 1);
	json_decref(line);
	free(text);
}

static void long_values(void)
{
	static char huge[20000];

	memset(huge, '\x01', sizeof(huge) - 1);
	begin(LOG_INFO, LOG_JSON);
	log_info("m", lf_str("a", huge), lf_str("b", huge), lf_int("after", 1));
	char *text = end();
	json_t *line = json_loads(text, 0, NULL);
	CHECK(line != NULL);
	CHECK(strlen(text) <= 4096);
	CHECK(json_is_true(json_object_get(line, "truncated")));
	json_decref(line);
	free(text);

	memset(huge, 'x', sizeof(huge) - 1);
	begin(LOG_INFO, LOG_LOGFMT);
	log_info("m", lf_str("a", huge), lf_int("after", 1));
	text = end();
	CHECK(strstr(text, "xxx...\" after=1\n") != NULL);
	free(text);
}

static void *log_many(void *arg)
{
	for (int i = 0; i < 200; i++)
		log_info("thread line", lf_str("who", arg), lf_int("i", i));
	return NULL;
}

static void whole_lines(void)
{
	pthread_t threads[4];
	const char *const names[] = {"a", "b", "c", "d"};
	char *rest, *text;
	int n = 0;

	begin(LOG_INFO, LOG_LOGFMT);
	for (int i = 0; i < 4; i++)
		CHECK_INT(pthread_create(&threads[i], NULL, log_many, (void *)names[i]), 0);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	text = end();
	for (char *line = strtok_r(text, "\n", &rest); line;
	     line = strtok_r(NULL, "\n", &rest), n++) {
		CHECK(strncmp(line, "ts=", 3) == 0);
		CHECK(strstr(line + 3, "ts=") == NULL);
	}
	CHECK_INT(n, 800);
	free(text);
}

static void utf8(void)
{
	static const struct {
		const char *text;
		size_t len;
		bool valid;
	} cases[] = {{"", 0, true}, {"a\0b", 3, true}, {"\xc2\x80", 2, true}, {"\xdf\xbf", 2, true},
	    {"\xe0\xa0\x80", 3, true}, {"\xef\xbf\xbf", 3, true}, {"\xf0\x90\x80\x80", 4, true},
	    {"\xf4\x8f\xbf\xbf", 4, true}, {"\xed\x9f\xbf\xee\x80\x80", 6, true},
	    {"\x80", 1, false}, {"\xc1\xbf", 2, false}, {"\xe0\x9f\xbf", 3, false},
	    {"\xf0\x8f\xbf\xbf", 4, false}, {"\xed\xbf\xbf", 3, false},
	    {"\xf4\x90\x80\x80", 4, false}, {"\xf5\x80\x80\x80", 4, false}, {"\xc3", 1, false},
	    {"\xe2\x82", 2, false}, {"\xc3(", 2, false}, {"a\xff", 2, false}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		if (utf8_valid(cases[i].text, cases[i].len) != cases[i].valid)
			CU_FAIL_FATAL(cases[i].text);
	}
}

static const struct check checks[] = {
    {"logfmt", logfmt},
    {"levels", levels},
    {"escapes", escapes},
    {"JSON", json},
    {"long values", long_values},
    {"whole lines from many threads", whole_lines},
    {"UTF-8", utf8},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common log", checks, argc, argv);
}
