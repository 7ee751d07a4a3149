/* Addresses, each input read as all of them: Redis URL, where a node of a cluster sends us, where
 * to listen, what to fetch. */
#include "common/option.h"
#include "common/redis.h"
#include "common/redis_redirect.h"
#include "common/redis_url.h"
#include "producer/fetch.h"
#include "tests/fuzz/fuzz.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

static void check_address(const struct redis_address *a)
{
	FUZZ_CHECK(!a->host != !a->path);
	FUZZ_CHECK(!a->host || (*a->host && a->port >= 1 && a->port <= 65535));
	FUZZ_CHECK(!a->path || *a->path == '/');
}

static void check_hosts(const struct redis_address *all, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		check_address(&all[i]);
		FUZZ_CHECK(all[i].host);
	}
}

static void check_redis_parts(const struct redis_url *url)
{
	bool is_one = !url->master && url->n_nodes == 0;

	FUZZ_CHECK(!url->master == !url->n_sentinels);
	FUZZ_CHECK(!url->master || (*url->master && url->n_nodes == 0));
	FUZZ_CHECK(is_one || (!url->server.host && !url->server.path));
	if (is_one)
		check_address(&url->server);
	check_hosts(url->sentinels, url->n_sentinels);
	check_hosts(url->nodes, url->n_nodes);
	FUZZ_CHECK(url->n_nodes == 0 || url->db == 0);
	FUZZ_CHECK(url->db >= 0 && (url->login.password || !url->login.user));
	FUZZ_CHECK(url->sentinel_login.password || !url->sentinel_login.user);
	FUZZ_CHECK(url->master || !url->sentinel_login.password);
}

/* Nothing of a URL may stand in a message: it may hold a password. */
static void check_redis_url(const char *text)
{
	struct err err = ERR_INIT;
	struct redis_url url;
	int rc = redis_url_parse(text, &url, &err);

	FUZZ_CHECK(redis_url_check(text, &err) == rc);
	if (rc < 0)
		FUZZ_CHECK(err.kind == ERR_USAGE);
	else
		check_redis_parts(&url);
	redis_url_done(&url);
}

static void check_redirect(const char *text)
{
	struct redis_redirect to = {.port = -1};

	if (redis_redirect_parse(text, strlen(text), &to)) {
		FUZZ_CHECK(to.port >= 1 && to.port <= 65535);
		FUZZ_CHECK(to.kind == (*text == 'A' ? REDIRECT_ASK : REDIRECT_MOVED));
		FUZZ_CHECK(strlen(to.host) < strlen(text) && !strpbrk(to.host, " \r\n@/"));
	} else {
		FUZZ_CHECK(to.port == -1);
	}
}

static void check_endpoint(const char *text)
{
	struct err err = ERR_INIT;
	char *host = NULL;
	int port = -2;

	if (option_endpoint(text, &host, &port, &err) == 0)
		FUZZ_CHECK(port == -1 ? host && *host == '/' : port >= 0 && port <= 65535);
	else
		FUZZ_CHECK(err.kind == ERR_USAGE && !host && port == -2);
	free(host);
}

static bool looks_like_a_parameter(const char *text)
{
	return text && strcasestr(text, "password");
}

/* Of a masked text nobody reads a password: it may hide more than that, as it does behind a user or
 * in a password with "password=" in it. */
static void check_redis_mask(const char *text, const char *masked)
{
	struct err err = ERR_INIT;
	struct redis_url url;

	if (redis_url_parse(text, &url, &err) == 0) {
		const struct redis_login *server = &url.login, *sentinel = &url.sentinel_login;
		bool hides_more = looks_like_a_parameter(server->user) ||
				  looks_like_a_parameter(server->password);

		if (server->password && *server->password)
			FUZZ_CHECK(hides_more || strstr(masked, ":***@"));
		if (sentinel->password && *sentinel->password)
			FUZZ_CHECK(hides_more || strcasestr(masked, "password=***"));
	}
	redis_url_done(&url);
}

/* What libpq finds in it. */
enum passwords { REFUSED, PASSWORD_NONE, PASSWORD_MASKED, PASSWORD_PLAIN };

static enum passwords libpq_passwords(const char *text)
{
	PQconninfoOption *options = PQconninfoParse(text, NULL);
	enum passwords found = options ? PASSWORD_NONE : REFUSED;

	for (const PQconninfoOption *o = options; o && o->keyword; o++) {
		if (!o->val || !*o->val || !strstr(o->keyword, "password"))
			continue;
		if (strcmp(o->val, "***") != 0)
			found = PASSWORD_PLAIN;
		else if (found == PASSWORD_NONE)
			found = PASSWORD_MASKED;
	}
	PQconninfoFree(options);
	return found;
}

/* Whether libpq finds the word in a value, behind which more is hidden. */
static bool has_word_in_value(const char *text)
{
	PQconninfoOption *options = PQconninfoParse(text, NULL);
	bool has = false;

	for (const PQconninfoOption *o = options; o && o->keyword; o++)
		has = has || looks_like_a_parameter(o->val);
	PQconninfoFree(options);
	return has;
}

/* No password is left, nor a part of one, which would be a word of its own that libpq refuses. */
static void check_libpq_mask(const char *text, const char *masked)
{
	enum passwords after = libpq_passwords(masked);

	FUZZ_CHECK(after != PASSWORD_PLAIN);
	/* In quotes, and in front of a later '@', more is hidden than the password. */
	if (!strpbrk(text, "'@") && !has_word_in_value(text))
		FUZZ_CHECK(libpq_passwords(text) != PASSWORD_PLAIN || after != REFUSED);
}

static void check_mask(const char *text)
{
	char *masked = option_mask_url(text), *again = option_mask_url(masked);

	FUZZ_CHECK(strcmp(masked, again) == 0);
	check_redis_mask(text, masked);
	check_libpq_mask(text, masked);
	free(again);
	free(masked);
}

static void check_fetch(const char *text)
{
	struct err err = ERR_INIT;
	bool any = fetch_check_url(text, false, &err) == 0;
	bool secure = fetch_check_url(text, true, &err) == 0;

	FUZZ_CHECK(any || !secure);
	FUZZ_CHECK(any || err.kind == ERR_REJECT);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = fuzz_text((struct fuzz_piece){(const char *)data, size});

	check_redis_url(text);
	check_redirect(text);
	check_endpoint(text);
	check_mask(text);
	check_fetch(text);
	free(text);
	return 0;
}
