#include "common/redis_url.h"

#include "common/memory.h"
#include "common/redis.h"

#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

enum { SERVER_PORT = 6379, SENTINEL_PORT = 26379, MAX_DB = 1000000 };

/* A part of the text: not NUL-terminated. */
struct span {
	const char *at;
	size_t len;
};

static struct span span(const char *at, const char *end)
{
	return (struct span){at, (size_t)(end - at)};
}

static const char *span_end(struct span s)
{
	return s.at + s.len;
}

static bool span_is(struct span s, const char *text)
{
	return s.len == strlen(text) && memcmp(s.at, text, s.len) == 0;
}

/* What stands before the mark, which goes with it.  Without a mark: all, and false. */
static bool cut(struct span *rest, char mark, struct span *ret_part)
{
	const char *end = span_end(*rest), *found = memchr(rest->at, mark, rest->len);

	*ret_part = span(rest->at, found ? found : end);
	*rest = span(found ? found + 1 : end, end);
	return found != NULL;
}

static int refuse(struct err *err, const char *what)
{
	return err_set(err, ERR_USAGE, "%s (" REDIS_URL_FORMS ")", what);
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* NULL: a malformed escape, or an escaped NUL. */
static char *decode(struct span s)
{
	char *text = mem_alloc(s.len + 1), *to = text;

	for (size_t i = 0; i < s.len; i++) {
		char c = s.at[i];
		if (c == '%') {
			int high = i + 1 < s.len ? hex(s.at[i + 1]) : -1;
			int low = i + 2 < s.len ? hex(s.at[i + 2]) : -1;
			c = high < 0 || low < 0 ? '\0' : (char)(high << 4 | low);
			if (c == '\0') {
				free(text);
				return NULL;
			}
			i += 2;
		}
		*to++ = c;
	}
	*to = '\0';
	return text;
}

static bool number(struct span s, int max, int *ret)
{
	int n = 0;

	if (s.len == 0 || s.len > 7)
		return false;
	for (size_t i = 0; i < s.len; i++) {
		if (s.at[i] < '0' || s.at[i] > '9')
			return false;
		n = n * 10 + (s.at[i] - '0');
	}
	*ret = n;
	return n <= max;
}

bool redis_port_parse(const char *text, size_t len, int *ret_port)
{
	return number((struct span){text, len}, 65535, ret_port) && *ret_port > 0;
}

/* user:password */
static int parse_login(struct span s, struct redis_login *login, struct err *err)
{
	struct span user;
	bool colon = cut(&s, ':', &user);

	if (user.len > 0 && !(login->user = decode(user)))
		return refuse(err, "bad percent-encoding in the user name");
	if (!colon)
		return user.len > 0 ? refuse(err, "a user name without a password") : 0;
	if (!(login->password = decode(s)))
		return refuse(err, "bad percent-encoding in the password");
	return 0;
}

/* Takes the login off the authority's front, if there is one. */
static int take_login(struct span *authority, struct redis_login *login, struct err *err)
{
	const char *at = memrchr(authority->at, '@', authority->len);
	struct span text;

	if (!at)
		return 0;
	text = span(authority->at, at);
	*authority = span(at + 1, span_end(*authority));
	return parse_login(text, login, err);
}

/* host, host:port, [v6] or [v6]:port */
static int parse_address(
    struct span s, int default_port, struct redis_address *address, struct err *err)
{
	const char *end = span_end(s), *host_end = memrchr(s.at, ':', s.len);
	struct span host;

	if (s.len > 0 && s.at[0] == '[') {
		const char *bracket = memchr(s.at, ']', s.len);
		if (!bracket || (bracket + 1 != end && bracket[1] != ':'))
			return refuse(err, "bad host");
		host = span(s.at + 1, bracket);
		host_end = bracket + 1;
	} else {
		host_end = host_end ? host_end : end;
		host = span(s.at, host_end);
		if (memchr(host.at, ':', host.len))
			return refuse(err, "bad host");
	}
	address->port = default_port;
	if (host_end < end &&
	    !redis_port_parse(host_end + 1, (size_t)(end - host_end - 1), &address->port))
		return refuse(err, "bad port");
	if (host.len == 0)
		return refuse(err, "no host");
	address->host = mem_strndup(host.at, host.len);
	return 0;
}

static int parse_db(struct span s, struct redis_url *url, struct err *err)
{
	if (s.len == 0 || number(s, MAX_DB, &url->db))
		return 0;
	return refuse(err, "bad database number");
}

static int parse_tcp(struct span rest, struct span query, struct redis_url *url, struct err *err)
{
	struct span authority;

	cut(&rest, '/', &authority);
	if (query.len > 0)
		return refuse(err, "unknown parameter");
	if (take_login(&authority, &url->login, err) < 0 ||
	    parse_address(authority, SERVER_PORT, &url->server, err) < 0)
		return -1;
	return parse_db(rest, url, err);
}

static int parse_unix(struct span rest, struct span query, struct redis_url *url, struct err *err)
{
	const char *slash = memchr(rest.at, '/', rest.len);

	if (!slash)
		return refuse(err, "no path");
	if (slash > rest.at) {
		if (slash[-1] != '@')
			return refuse(err, "bad path");
		if (parse_login(span(rest.at, slash - 1), &url->login, err) < 0)
			return -1;
	}
	url->server.path = decode(span(slash, span_end(rest)));
	if (!url->server.path ||
	    strlen(url->server.path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return refuse(err, "bad path");
	if (query.len == 0)
		return 0;
	if (query.len < 4 || memcmp(query.at, "db=", 3) != 0)
		return refuse(err, "unknown parameter");
	return parse_db(span(query.at + 3, span_end(query)), url, err);
}

/* One or more; *all and *n are good also after a failure. */
static int parse_addresses(
    struct span list, int default_port, struct redis_address **all, size_t *n, struct err *err)
{
	struct span one;
	bool more;

	do {
		more = cut(&list, ',', &one);
		*all = mem_realloc(*all, (*n + 1) * sizeof(**all));
		(*all)[*n] = (struct redis_address){.host = NULL};
		if (parse_address(one, default_port, &(*all)[(*n)++], err) < 0)
			return -1;
	} while (more);
	return 0;
}

/* The characters are those that sentinel.conf allows; so an error may quote the name, which is
 * never a part of a password that should have been percent-encoded. */
static int parse_master(struct span s, struct redis_url *url, struct err *err)
{
	static const char allowed[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	url->master = mem_strndup(s.at, s.len);
	if (s.len == 0 || strspn(url->master, allowed) != s.len)
		return refuse(err, "bad master name");
	return 0;
}

/* A bare '@' would end the userinfo for whoever masks the URL. */
static int set_parameter(struct span value, char **member, struct err *err)
{
	if (*member)
		return refuse(err, "a parameter is given twice");
	if (memchr(value.at, '@', value.len) || !(*member = decode(value)))
		return refuse(err, "bad percent-encoding in a parameter");
	return 0;
}

static int parse_sentinel_login(struct span query, struct redis_login *login, struct err *err)
{
	struct span one, name;
	bool more;

	do {
		more = cut(&query, '&', &one);
		if (!cut(&one, '=', &name))
			return refuse(err, "a parameter without a value");
		if (!span_is(name, "sentinel_username") && !span_is(name, "sentinel_password"))
			return refuse(err, "unknown parameter");
		if (set_parameter(one,
			span_is(name, "sentinel_username") ? &login->user : &login->password,
			err) < 0)
			return -1;
	} while (more);
	if (login->user && !login->password)
		return refuse(err, "sentinel_username without sentinel_password");
	return 0;
}

static int parse_sentinel(
    struct span rest, struct span query, struct redis_url *url, struct err *err)
{
	struct span authority, master;

	cut(&rest, '/', &authority);
	cut(&rest, '/', &master);
	if (take_login(&authority, &url->login, err) < 0 ||
	    parse_addresses(authority, SENTINEL_PORT, &url->sentinels, &url->n_sentinels, err) <
		0 ||
	    parse_master(master, url, err) < 0 || parse_db(rest, url, err) < 0)
		return -1;
	return query.len > 0 ? parse_sentinel_login(query, &url->sentinel_login, err) : 0;
}

static int parse_cluster(
    struct span rest, struct span query, struct redis_url *url, struct err *err)
{
	struct span authority;

	cut(&rest, '/', &authority);
	if (take_login(&authority, &url->login, err) < 0 ||
	    parse_addresses(authority, SERVER_PORT, &url->nodes, &url->n_nodes, err) < 0)
		return -1;
	if (rest.len > 0)
		return refuse(err, "a cluster has no database numbers");
	return query.len > 0 ? refuse(err, "unknown parameter") : 0;
}

static const struct scheme {
	const char *prefix;
	int (*parse)(struct span rest, struct span query, struct redis_url *url, struct err *err);
} schemes[] = {
    {"redis://", parse_tcp},
    {"unix://", parse_unix},
    {"redis-sentinel://", parse_sentinel},
    {"redis+cluster://", parse_cluster},
};

int redis_url_parse(const char *text, struct redis_url *ret_url, struct err *err)
{
	*ret_url = (struct redis_url){.db = 0};
	if (strncmp(text, "rediss://", 9) == 0)
		return refuse(err, "TLS is not supported");
	for (size_t i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		size_t len = strlen(schemes[i].prefix);
		if (strncmp(text, schemes[i].prefix, len) != 0)
			continue;
		struct span query = {text + len, strlen(text + len)}, rest;
		cut(&query, '?', &rest);
		return schemes[i].parse(rest, query, ret_url, err);
	}
	return refuse(err, "bad scheme");
}

void redis_address_done(struct redis_address *address)
{
	free(address->host);
	free(address->path);
}

static void login_done(struct redis_login *login)
{
	free(login->user);
	if (login->password)
		explicit_bzero(login->password, strlen(login->password));
	free(login->password);
}

static void addresses_done(struct redis_address *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		redis_address_done(&all[i]);
	free(all);
}

void redis_url_done(struct redis_url *url)
{
	redis_address_done(&url->server);
	login_done(&url->login);
	free(url->master);
	addresses_done(url->sentinels, url->n_sentinels);
	login_done(&url->sentinel_login);
	addresses_done(url->nodes, url->n_nodes);
}

int redis_url_check(const char *url, struct err *err)
{
	struct redis_url parts;
	int rc = redis_url_parse(url, &parts, err);

	redis_url_done(&parts);
	return rc;
}
