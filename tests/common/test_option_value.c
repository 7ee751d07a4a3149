/*
 * What an option's text may be: of its type and within its range, or refused in words that say so.
 */
#include "tests/common/config.h"
#include "tests/support/check.h"

#include <stdlib.h>
#include <string.h>

static void bad_values(void)
{
	config_refused(ARGS("--threads=0"), "--threads: out of range (1 to 64)");
	config_refused(ARGS("--threads=65"), "--threads: out of range (1 to 64)");
	config_refused(ARGS("--pause=1h"), "--pause: out of range (10ms to 90s)");
	config_refused(ARGS("--block-size=0"), "--block-size: out of range (1KiB to 64MiB)");
	config_refused(ARGS("--listen=nowhere"),
	    "--listen: \"nowhere\" is not an address (host:port, "
	    "[v6]:port, port or unix:/path)");
	config_refused(ARGS("--threads=4x"), "--threads: \"4x\" is not a whole number");
	config_refused(ARGS("--threads=-1"), "--threads: \"-1\" is not a whole number");
	config_refused(ARGS("--threads=+1"), "--threads: \"+1\" is not a whole number");
	config_refused(ARGS("--threads= 1"), "--threads: \" 1\" is not a whole number");
	config_refused(ARGS("--threads="), "--threads: \"\" is not a whole number");
	config_refused(ARGS("--threads=99999999999999999999"),
	    "--threads: \"99999999999999999999\" is not a whole number");
	config_refused(ARGS("--wait=5"), "--wait: \"5\" is not a duration (500ms 5s 10min 12h 7d)");
	config_refused(
	    ARGS("--wait=5m"), "--wait: \"5m\" is not a duration (500ms 5s 10min 12h 7d)");
	config_refused(ARGS("--wait=200000000000d"),
	    "--wait: \"200000000000d\" is not a duration (500ms 5s 10min 12h 7d)");
	config_refused(
	    ARGS("--max-body=1KB"), "--max-body: \"1KB\" is not a size (512B 256KiB 1MiB 1GiB)");
	config_refused(ARGS("--part=1.01"), "--part: \"1.01\" is not a fraction (0 to 1)");
	config_refused(ARGS("--part=-0"), "--part: \"-0\" is not a fraction (0 to 1)");
	config_refused(ARGS("--part=0.5.5"), "--part: \"0.5.5\" is not a fraction (0 to 1)");
	config_refused(ARGS("--part=nan"), "--part: \"nan\" is not a fraction (0 to 1)");
	config_refused(ARGS("--part="), "--part: \"\" is not a fraction (0 to 1)");
	config_refused(ARGS("--trust=maybe"), "--trust: \"maybe\" is not on or off");
	config_refused(
	    ARGS("--log-level=in"), "--log-level: \"in\" is not one of error|warn|info|debug");
	config_refused(
	    ARGS("--log-level="), "--log-level: \"\" is not one of error|warn|info|debug");
	setenv("UMAVEZ_THREADS", "many", 1);
	config_refused(NO_ARGS, "UMAVEZ_THREADS: \"many\" is not a whole number");
	unsetenv("UMAVEZ_THREADS");
}

static void zero_needs_no_unit(void)
{
	struct config c;

	config_read(ARGS("--wait=0", "--max-body=0B"), &c);
	CHECK_INT(c.wait, 0);
	CHECK_INT(c.body, 0);
	option_done(config_table, &c);
}

static void checked_texts(void)
{
	static const struct option checked[] = {
	    {"name", OPT_NAME, offsetof(struct config, name), "nobody", "", 0, 0, 0, NULL, NULL},
	    {"url", OPT_PG_URL, offsetof(struct config, url), NULL, "", 0, 0, 0, NULL, NULL},
	    {"root", OPT_REDIS_URL, offsetof(struct config, root_file), NULL, "", 0, 0, 0, NULL,
		NULL},
	    {0},
	};
	static const struct {
		const char *word, *message;
	} rows[] = {
	    {"--name=A-z_0.9", NULL},
	    {"--name=", "--name: \"\" is not a name"},
	    {"--name=a{b", "--name: \"a{b\" is not a name (1 to 64 letters"},
	    {"--name=1234567890123456789012345678901234567890123456789012345678901234", NULL},
	    {"--name=12345678901234567890123456789012345678901234567890123456789012345",
		"5\" is not a name"},
	    {"--url=postgresql://u:hunter2@h/d", NULL},
	    {"--url=host=h password=hunter2", NULL},
	    {"--url=u:hunter2@h/d", "--url: not"},
	    {"--root=redis://:hunter2@h", NULL},
	    {"--root=http://:hunter2@h", "--root: bad scheme"},
	    {"--root=redis+cluster://u:hunter2@n1,n2:7000", NULL},
	    {"--root=redis+cluster://u:hunter2@n1,n2:7000/1",
		"--root: a cluster has no database numbers"},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *argv[] = {(char *)"p", (char *)rows[i].word, NULL};
		enum option_action action;
		struct err err = ERR_INIT;
		struct config c = {0};

		CHECK_INT(option_parse(checked, &c, 2, argv, NULL, &action, &err),
		    rows[i].message ? -1 : 0);
		CHECK(!rows[i].message ||
		      (err.kind == ERR_USAGE && strstr(err.message, rows[i].message)));
		CHECK(strstr(err.message, "hunter2") == NULL);
		option_done(checked, &c);
	}
}

static void endpoints(void)
{
	static const struct {
		const char *text, *host;
		int port;
	} good[] = {
	    {"127.0.0.1:9101", "127.0.0.1", 9101},
	    {"[::1]:80", "::1", 80},
	    {"8080", NULL, 8080},
	    {":8080", NULL, 8080},
	    {"host:0", "host", 0},
	    {"unix:/run/x", "/run/x", -1},
	};
	static const char *const bad[] = {"", ":", "host:", "host", "::1:80", "[::1]", "[::1:80",
	    "h:65536", "h:-1", "h:8x", "h:999999", "unix:", "unix:run/x", "a:b:1"};
	struct err err = ERR_INIT;
	char *host;
	int port;

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		CHECK_INT(option_endpoint(good[i].text, &host, &port, &err), 0);
		CHECK((host == NULL) == (good[i].host == NULL));
		if (host)
			CHECK_STR(host, good[i].host);
		CHECK_INT(port, good[i].port);
		free(host);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (option_endpoint(bad[i], &host, &port, &err) == 0)
			CU_FAIL_FATAL(bad[i]);
		CHECK_INT(err.kind, ERR_USAGE);
	}
}

static const struct check checks[] = {
    {"bad values", bad_values},
    {"zero needs no unit", zero_needs_no_unit},
    {"texts that are checked", checked_texts},
    {"endpoints", endpoints},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common option value", checks, argc, argv);
}
