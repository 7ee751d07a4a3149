#include "common/redis.h"
#include "common/redis_url.h"
#include "tests/support/check.h"

#include <string.h>

static void check_text(const char *actual, const char *expected)
{
	CHECK((actual == NULL) == (expected == NULL));
	if (actual)
		CHECK_STR(actual, expected);
}

static void good(void)
{
	static const struct {
		const char *text, *host, *path, *user, *password;
		int port, db;
	} cases[] = {
	    {"redis://h", "h", NULL, NULL, NULL, 6379, 0},
	    {"redis://h:7000", "h", NULL, NULL, NULL, 7000, 0},
	    {"redis://h:7000/", "h", NULL, NULL, NULL, 7000, 0},
	    {"redis://h/12", "h", NULL, NULL, NULL, 6379, 12},
	    {"redis://u:p@h:1/2", "h", NULL, "u", "p", 1, 2},
	    {"redis://:p@h", "h", NULL, NULL, "p", 6379, 0},
	    {"redis://a%40b:%2f%3A%25%C3%a9@h", "h", NULL, "a@b", "/:%\xc3\xa9", 6379, 0},
	    {"redis://u:p:q@h", "h", NULL, "u", "p:q", 6379, 0},
	    {"redis://u:@h", "h", NULL, "u", "", 6379, 0},
	    {"redis://[::1]:7000/1", "::1", NULL, NULL, NULL, 7000, 1},
	    {"redis://u:p@[fe80::1]", "fe80::1", NULL, "u", "p", 6379, 0},
	    {"unix:///run/redis.sock", NULL, "/run/redis.sock", NULL, NULL, 0, 0},
	    {"unix:///run/a%20b?db=3", NULL, "/run/a b", NULL, NULL, 0, 3},
	    {"unix://u:p@/run/a@b", NULL, "/run/a@b", "u", "p", 0, 0},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = ERR_INIT;
		struct redis_url url;

		if (redis_url_parse(cases[i].text, &url, &err) < 0)
			CU_FAIL_FATAL(cases[i].text);
		check_text(url.server.host, cases[i].host);
		check_text(url.server.path, cases[i].path);
		check_text(url.login.user, cases[i].user);
		check_text(url.login.password, cases[i].password);
		CHECK_INT(url.server.port, cases[i].port);
		CHECK_INT(url.db, cases[i].db);
		redis_url_done(&url);
	}
}

static void sentinels(void)
{
	struct err err = ERR_INIT;
	struct redis_url url;

	CHECK_INT(redis_url_parse("redis-sentinel://u:a%2cb@s1,[::1]:7000,10.0.0.1:7/my.Master-1/3"
				  "?sentinel_password=%26%40=&sentinel_username=w%20",
		      &url, &err),
	    0);
	check_text(url.server.host, NULL);
	check_text(url.server.path, NULL);
	check_text(url.login.user, "u");
	check_text(url.login.password, "a,b");
	check_text(url.master, "my.Master-1");
	CHECK_INT(url.db, 3);
	CHECK_INT(url.n_sentinels, 3);
	check_text(url.sentinels[0].host, "s1");
	CHECK_INT(url.sentinels[0].port, 26379);
	check_text(url.sentinels[1].host, "::1");
	CHECK_INT(url.sentinels[1].port, 7000);
	check_text(url.sentinels[2].host, "10.0.0.1");
	CHECK_INT(url.sentinels[2].port, 7);
	check_text(url.sentinel_login.user, "w ");
	check_text(url.sentinel_login.password, "&@=");
	redis_url_done(&url);
}

static void one_sentinel(void)
{
	static const char *const cases[] = {"redis-sentinel://s/m", "redis-sentinel://s:26379/m/",
	    "redis-sentinel://s/m/0", "redis-sentinel://s/m?"};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = ERR_INIT;
		struct redis_url url;

		if (redis_url_parse(cases[i], &url, &err) < 0)
			CU_FAIL_FATAL(cases[i]);
		check_text(url.master, "m");
		CHECK_INT(url.n_sentinels, 1);
		check_text(url.sentinels[0].host, "s");
		CHECK_INT(url.sentinels[0].port, 26379);
		check_text(url.login.password, NULL);
		check_text(url.sentinel_login.password, NULL);
		CHECK_INT(url.db, 0);
		redis_url_done(&url);
	}
}

static void cluster(void)
{
	static const char *const cases[] = {
	    "redis+cluster://u:a%2cb@n1,[::1]:7000,10.0.0.1:7",
	    "redis+cluster://u:a%2cb@n1,[::1]:7000,10.0.0.1:7/",
	    "redis+cluster://u:a%2cb@n1:6379,[::1]:7000,10.0.0.1:7?",
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = ERR_INIT;
		struct redis_url url;

		if (redis_url_parse(cases[i], &url, &err) < 0)
			CU_FAIL_FATAL(cases[i]);
		check_text(url.server.host, NULL);
		check_text(url.master, NULL);
		check_text(url.login.user, "u");
		check_text(url.login.password, "a,b");
		CHECK_INT(url.n_sentinels, 0);
		CHECK_INT(url.n_nodes, 3);
		check_text(url.nodes[0].host, "n1");
		CHECK_INT(url.nodes[0].port, 6379);
		check_text(url.nodes[1].host, "::1");
		CHECK_INT(url.nodes[1].port, 7000);
		check_text(url.nodes[2].host, "10.0.0.1");
		CHECK_INT(url.nodes[2].port, 7);
		redis_url_done(&url);
	}
}

static void no_database_numbers(void)
{
	static const char *const cases[] = {
	    "redis+cluster://n/0", "redis+cluster://n:7000,m/1", "redis+cluster://n/x"};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = ERR_INIT;

		CHECK_INT(redis_url_check(cases[i], &err), -1);
		CHECK_INT(err.kind, ERR_USAGE);
		CHECK(strstr(err.message, "a cluster has no database numbers") != NULL);
	}
}

static void bad(void)
{
	static const char *const cases[] = {"redis+cluster://", "redis+cluster:///",
	    "redis+cluster://n,", "redis+cluster://,n", "redis+cluster://n:0",
	    "redis+cluster://n:hunter2", "redis+cluster://u:hunter2@", "redis+cluster://u@n",
	    "redis+cluster://n?db=1", "redis+cluster://n?hunter2", "redis+cluster://u:1/hunter2@n",
	    "redis-cluster://n", "", "h:6379", "http://h", "rediss://h", "redis://",
	    "redis://:6379", "redis://h:", "redis://h:0", "redis://h:65536", "redis://h:6x",
	    "redis://h:-1", "redis://h/x", "redis://h/1/2", "redis://h/-1", "redis://h?db=1",
	    "redis://a:b:1", "redis://[::1", "redis://[::1]x", "redis://user@h", "redis://u:%zz@h",
	    "redis://u:%4@h", "redis://u:%00@h", "redis://%:p@h", "unix://", "unix://run/x",
	    "unix://u:p/run/x", "unix:///x?db=", "unix:///x?db=x", "unix:///x?dbx=1",
	    "unix:///x?password=hunter2", "redis://u:hunter2/more@h", "redis://u:hunter2@",
	    "redis://h:hunter2", "redis-sentinel://", "redis-sentinel://s", "redis-sentinel://s/",
	    "redis-sentinel:///m", "redis-sentinel://s,/m", "redis-sentinel://,s/m",
	    "redis-sentinel://s,,t/m", "redis-sentinel://s:0/m", "redis-sentinel://s:x,t/m",
	    "redis-sentinel://s/m n", "redis-sentinel://s/%6d", "redis-sentinel://s/m/x",
	    "redis-sentinel://s/m/1/2", "redis-sentinel://u@s/m", "redis-sentinel://s/m?db=1",
	    "redis-sentinel://s/m?sentinel_password=%4",
	    "redis-sentinel://s/m?sentinel_password=a&", "redis-sentinel://s/m?sentinel_username=u",
	    "redis-sentinel://s/m?sentinel_password",
	    "redis-sentinel://s/m?sentinel_password=hunter2&sentinel_password=hunter2",
	    "redis-sentinel://s/m?sentinel_password=hunter2@", "redis-sentinel://s:hunter2/m",
	    "redis-sentinel://u:1/hunter2@s/m", "redis-sentinel://u:1/hunter2@s"};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct err err = ERR_INIT;

		if (redis_url_check(cases[i], &err) == 0)
			CU_FAIL_FATAL(cases[i]);
		CHECK_INT(err.kind, ERR_USAGE);
		CHECK(strstr(err.message, "hunter2") == NULL);
	}
}

static const struct check checks[] = {
    {"accepted", good},
    {"sentinels", sentinels},
    {"one sentinel", one_sentinel},
    {"cluster", cluster},
    {"no database number of a cluster", no_database_numbers},
    {"refused", bad},
    {NULL, NULL},
};

int main(int argc, char **argv)
{
	return check_main("common redis_url", checks, argc, argv);
}
