#include "common/redis_redirect.h"
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>

static bool parse(const char *text, struct redis_redirect *to)
{
	return redis_redirect_parse(text, strlen(text), to);
}

static void good(void)
{
	static const struct {
		const char *text, *host;
		enum redis_redirect_kind kind;
		int port;
	} cases[] = {
	    {"MOVED 3999 127.0.0.1:6381", "127.0.0.1", REDIRECT_MOVED, 6381},
	    {"ASK 0 10.1.2.3:1", "10.1.2.3", REDIRECT_ASK, 1},
	    {"MOVED 16383 node-1.example:65535", "node-1.example", REDIRECT_MOVED, 65535},
	    {"MOVED 5 2001:db8::1:7000", "2001:db8::1", REDIRECT_MOVED, 7000},
	    {"ASK 00005 :7000", "", REDIRECT_ASK, 7000},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct redis_redirect to;

		if (!parse(cases[i].text, &to))
			CU_FAIL_FATAL(cases[i].text);
		CHECK_INT(to.kind, cases[i].kind);
		CHECK_STR(to.host, cases[i].host);
		CHECK_INT(to.port, cases[i].port);
	}
}

static void bad(void)
{
	static const char *const cases[] = {"", "MOVED", "MOVED ", "MOVED 1", "MOVED 1 ",
	    "MOVED 1 h", "MOVED 1 h:", "MOVED 1 h:0", "MOVED 1 h:65536", "MOVED 1 h:7x",
	    "MOVED 1 h:-7", "MOVED 1 h:7 ", "MOVED 1 h:7\r\n", "MOVED  1 h:7", "MOVED 1  h:7",
	    "MOVED x h:7", "MOVED -1 h:7", "MOVED 16384 h:7", "MOVED 000001 h:7", "MOVED 1 ?:7",
	    "MOVED 1 u@h:7", "MOVED 1 h/x:7", "MOVED 1 [::1]:7", "moved 1 h:7", " MOVED 1 h:7",
	    "MOVEDX 1 h:7", "ASKING 1 h:7",
	    "TRYAGAIN Multiple keys request during rehashing of slot",
	    "CLUSTERDOWN The cluster is down", "ERR MOVED 1 h:7"};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct redis_redirect to;

		if (parse(cases[i], &to))
			CU_FAIL_FATAL(cases[i]);
	}
}

/* A reply is counted: what it holds may be cut off anywhere, or hold a NUL. */
static void bounded(void)
{
	static const char text[] = "ASK 3999 host:6381";
	struct redis_redirect to;
	char *piece, name[300];

	for (size_t len = 0; len < sizeof(text) - 1; len++) {
		piece = strndup(text, len); /* not a byte more can be read */
		CHECK_INT(redis_redirect_parse(piece, len, &to), len >= strlen("ASK 3999 host:6"));
		free(piece);
	}
	CHECK(!redis_redirect_parse("MOVED 1 h\0x:7", strlen("MOVED 1 h") + 4, &to));
	memset(name, 'h', sizeof(name));
	memcpy(name, "ASK 1 ", 6);
	memcpy(name + 6 + 255, ":7", 3);
	CHECK(parse(name, &to));
	CHECK_INT(strlen(to.host), 255);
	memcpy(name + 6 + 255, "h:7", 4);
	CHECK(!parse(name, &to));
}

static const struct check checks[] = {
    {"accepted", good},
    {"refused", bad},
    {"no byte too many", bounded},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common redis_redirect", checks, argc, argv);
}
