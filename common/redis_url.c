#include "common/redis_url.h"

#include "common/memory.h"
#include "common/redis.h"

#include <stdlib.h>
#include <string.h>
#include <sys/un.h>

enum { DEFAULT_PORT = 6379, MAX_DB = 1000000 };

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

static int refuse(struct err *err, const char *what)
{
	return err_set(err, ERR_USAGE,
	    "Redis URL: %s (redis://[user:password@]host:port/db or unix:///path?db=n)", what);
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

static int parse_user(struct span s, struct redis_url *url, struct err *err)
{
	const char *colon = memchr(s.at, ':', s.len);
	struct span user = span(s.at, colon ? colon : span_end(s));

	if (user.len > 0 && !(url->user = decode(user)))
		return refuse(err, "bad percent-encoding in the user name");
	if (!colon)
		return user.len > 0 ? refuse(err, "a user name without a password") : 0;
	if (!(url->password = decode(span(colon + 1, span_end(s)))))
		return refuse(err, "bad percent-encoding in the password");
	return 0;
}

/* host, host:port, [v6] or [v6]:port */
static int parse_address(struct span s, struct redis_url *url, struct err *err)
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
	url->port = DEFAULT_PORT;
	if (host_end < end && (!number(span(host_end + 1, end), 65535, &url->port) || !url->port))
		return refuse(err, "bad port");
	if (host.len == 0)
		return refuse(err, "no host");
	url->host = mem_strndup(host.at, host.len);
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
	const char *slash = memchr(rest.at, '/', rest.len);
	struct span authority = span(rest.at, slash ? slash : span_end(rest));
	const char *at = memrchr(authority.at, '@', authority.len);

	if (query.len > 0)
		return refuse(err, "unknown parameter");
	if (at && parse_user(span(authority.at, at), url, err) < 0)
		return -1;
	if (parse_address(span(at ? at + 1 : authority.at, span_end(authority)), url, err) < 0)
		return -1;
	return slash ? parse_db(span(slash + 1, span_end(rest)), url, err) : 0;
}

static int parse_unix(struct span rest, struct span query, struct redis_url *url, struct err *err)
{
	const char *slash = memchr(rest.at, '/', rest.len);

	if (!slash)
		return refuse(err, "no path");
	if (slash > rest.at) {
		if (slash[-1] != '@')
			return refuse(err, "bad path");
		if (parse_user(span(rest.at, slash - 1), url, err) < 0)
			return -1;
	}
	url->path = decode(span(slash, span_end(rest)));
	if (!url->path || strlen(url->path) >= sizeof(((struct sockaddr_un *)0)->sun_path))
		return refuse(err, "bad path");
	if (query.len == 0)
		return 0;
	if (query.len < 4 || memcmp(query.at, "db=", 3) != 0)
		return refuse(err, "unknown parameter");
	return parse_db(span(query.at + 3, span_end(query)), url, err);
}

int redis_url_parse(const char *text, struct redis_url *ret_url, struct err *err)
{
	bool tcp = strncmp(text, "redis://", 8) == 0;
	bool local = strncmp(text, "unix://", 7) == 0;

	*ret_url = (struct redis_url){.db = 0};
	if (strncmp(text, "rediss://", 9) == 0)
		return refuse(err, "TLS is not supported");
	if (!tcp && !local)
		return refuse(err, "bad scheme");

	const char *begin = text + (tcp ? 8 : 7);
	const char *mark = strchrnul(begin, '?'), *end = begin + strlen(begin);
	struct span rest = span(begin, mark);
	struct span query = span(*mark ? mark + 1 : mark, end);

	return tcp ? parse_tcp(rest, query, ret_url, err) : parse_unix(rest, query, ret_url, err);
}

void redis_url_done(struct redis_url *url)
{
	free(url->host);
	free(url->path);
	free(url->user);
	if (url->password)
		explicit_bzero(url->password, strlen(url->password));
	free(url->password);
}

int redis_url_check(const char *url, struct err *err)
{
	struct redis_url parts;
	int rc = redis_url_parse(url, &parts, err);

	redis_url_done(&parts);
	return rc;
}
