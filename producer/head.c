#include "producer/head.h"

#include <arpa/inet.h>
#include <assert.h>
#include <string.h>
#include <strings.h>

/* A part of the head, not NUL-terminated. */
struct text {
	const char *s;
	size_t len;
};

/* What has been read so far. */
struct reading {
	struct head head;
	bool minor_zero; /* HTTP/1.0 */
	bool may_have_body, must_have_body;
	int64_t max_body;
	const char *detail;
};

static bool equals(struct text t, const char *word)
{
	return t.len == strlen(word) && strncasecmp(t.s, word, t.len) == 0;
}

/* RFC 9110, section 5.6.2 */
static bool is_token(struct text t)
{
	for (size_t i = 0; i < t.len; i++) {
		char c = t.s[i];
		bool alnum =
		    (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
		if (!alnum && (c == '\0' || !strchr("!#$%&'*+-.^_`|~", c)))
			return false;
	}
	return t.len > 0;
}

/* Visible characters, blanks, and bytes above ASCII. */
static bool is_clean(struct text t)
{
	for (size_t i = 0; i < t.len; i++) {
		unsigned char c = (unsigned char)t.s[i];
		if ((c < ' ' && c != '\t') || c == 0x7f)
			return false;
	}
	return true;
}

static struct text trim(struct text t)
{
	while (t.len > 0 && (t.s[0] == ' ' || t.s[0] == '\t'))
		t = (struct text){t.s + 1, t.len - 1};
	while (t.len > 0 && (t.s[t.len - 1] == ' ' || t.s[t.len - 1] == '\t'))
		t.len--;
	return t;
}

/* Cut off what is before the separator; false: there is none. */
static bool cut(struct text *rest, char separator, struct text *ret)
{
	const char *at = memchr(rest->s, separator, rest->len);

	if (!at)
		return false;
	*ret = (struct text){rest->s, (size_t)(at - rest->s)};
	*rest = (struct text){at + 1, rest->len - ret->len - 1};
	return true;
}

static int refuse(struct reading *r, int status, const char *detail)
{
	r->detail = detail;
	return status;
}

static int read_method(struct reading *r, struct text method)
{
	static const struct {
		const char *name;
		bool may, must; /* have a body */
	} methods[] = {{"POST", true, true}, {"PUT", true, true}, {"PATCH", true, true},
	    {"GET", false, false}, {"HEAD", false, false}, {"DELETE", true, false},
	    {"OPTIONS", true, false}};

	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		if (method.len != strlen(methods[i].name) ||
		    memcmp(method.s, methods[i].name, method.len) != 0)
			continue;
		r->may_have_body = methods[i].may;
		r->must_have_body = methods[i].must;
		return 0;
	}
	return refuse(r, 501, "The method is not one that this server knows.");
}

/* How many bytes from the first on are among these. */
static size_t span(struct text t, const char *bytes)
{
	size_t n = 0;

	while (n < t.len && t.s[n] != '\0' && strchr(bytes, t.s[n]))
		n++;
	return n;
}

static bool take(struct text *rest, const char *prefix)
{
	size_t len = strlen(prefix);

	if (rest->len < len || strncasecmp(rest->s, prefix, len) != 0)
		return false;
	*rest = (struct text){rest->s + len, rest->len - len};
	return true;
}

/* RFC 3986, section 3.2.2, without escapes. */
static bool is_host(struct text t)
{
	static const char name[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
				   "-._";
	char address[INET6_ADDRSTRLEN];
	struct in6_addr in6;

	if (t.len == 0 || t.s[0] != '[')
		return t.len > 0 && span(t, name) == t.len;
	if (t.s[t.len - 1] != ']' || t.len - 2 >= sizeof(address))
		return false;
	memcpy(address, t.s + 1, t.len - 2);
	address[t.len - 2] = '\0';
	return inet_pton(AF_INET6, address, &in6) == 1;
}

/* A host, and perhaps a port. */
static bool is_authority(struct text t)
{
	const char *colon = memrchr(t.s, ':', t.len);
	const char *end = t.s + t.len;
	struct text port;

	if (!colon || end[-1] == ']')
		return is_host(t);
	port = (struct text){colon + 1, (size_t)(end - colon - 1)};
	return port.len > 0 && port.len < 6 && span(port, "0123456789") == port.len &&
	       is_host((struct text){t.s, (size_t)(colon - t.s)});
}

/* A path, or an absolute URI, in the characters of a URI. What begins with two slashes is a path to
 * one reader and a host to the next. */
static bool is_target(struct text target)
{
	struct text rest = target;
	size_t len = 0;

	for (size_t i = 0; i < target.len; i++)
		if (target.s[i] <= ' ' || target.s[i] > '~' || target.s[i] == '#')
			return false;
	if (take(&rest, "/"))
		return rest.len == 0 || rest.s[0] != '/';
	if (!take(&rest, "http://") && !take(&rest, "https://"))
		return false;
	while (len < rest.len && rest.s[len] != '/' && rest.s[len] != '?')
		len++;
	return is_authority((struct text){rest.s, len});
}

static int read_request_line(struct reading *r, struct text line)
{
	struct text method, target;

	if (!cut(&line, ' ', &method) || !cut(&line, ' ', &target) || !is_token(method) ||
	    !is_target(target))
		return refuse(r, 400, "The request line is not \"method target version\".");
	if (line.len != 8 || memcmp(line.s, "HTTP/", 5) != 0 || line.s[6] != '.')
		return refuse(r, 400, "The request line does not end in an HTTP version.");
	if (line.s[5] != '1' || (line.s[7] != '0' && line.s[7] != '1'))
		return refuse(r, 505, "This server speaks HTTP/1.1.");
	r->minor_zero = line.s[7] == '0';
	return read_method(r, method);
}

static int read_content_length(struct reading *r, struct text value)
{
	int64_t n = 0;

	if (r->head.content_length >= 0)
		return refuse(r, 400, "Content-Length is given twice.");
	if (value.len == 0)
		return refuse(r, 400, "Content-Length is empty.");
	for (size_t i = 0; i < value.len; i++) {
		if (value.s[i] < '0' || value.s[i] > '9')
			return refuse(r, 400, "Content-Length is not a number.");
		if (n <= r->max_body) /* far from overflow */
			n = n * 10 + (value.s[i] - '0');
	}
	r->head.content_length = n;
	return 0;
}

static int read_field(struct reading *r, struct text line)
{
	struct text name;

	if (!cut(&line, ':', &name) || !is_token(name) || !is_clean(line))
		return refuse(r, 400, "A header line is not \"name: value\".");
	line = trim(line);
	if (equals(name, "Content-Length"))
		return read_content_length(r, line);
	if (equals(name, "Transfer-Encoding")) {
		if (!equals(line, "chunked") || r->head.chunked)
			return refuse(r, 501, "The only Transfer-Encoding here is chunked.");
		r->head.chunked = true;
	}
	if (equals(name, "Expect") && !equals(line, "100-continue"))
		return refuse(r, 417, "The only expectation met here is 100-continue.");
	return 0;
}

/* What no single line tells. */
static int judge(struct reading *r)
{
	const struct head *head = &r->head;

	if (head->chunked && (head->content_length >= 0 || r->minor_zero))
		return refuse(r, 400, "Transfer-Encoding excludes Content-Length and HTTP/1.0.");
	if (!r->may_have_body && (head->chunked || head->content_length > 0))
		return refuse(r, 400, "This method has no body.");
	if (r->must_have_body && !head->chunked && head->content_length < 0)
		return refuse(r, 411, "Say Content-Length.");
	if (head->content_length > r->max_body)
		return refuse(r, 413, "The body is longer than this server takes (--max-body).");
	return 0;
}

int head_read(
    const char *bytes, size_t len, int64_t max_body, struct head *ret_head, const char **ret_detail)
{
	struct reading r = {.head = {.content_length = -1}, .max_body = max_body};
	struct text rest = {bytes, len}, line;
	int status = 0;

	assert(len >= 4 && memcmp(bytes + len - 4, "\r\n\r\n", 4) == 0);
	for (int n = 0; status == 0 && cut(&rest, '\n', &line); n++) {
		if (line.len == 0 || line.s[line.len - 1] != '\r')
			status = refuse(&r, 400, "A line of the head does not end with CR LF.");
		else if (--line.len == 0 && n > 0)
			break;
		else
			status = n == 0 ? read_request_line(&r, line) : read_field(&r, line);
	}
	if (status == 0)
		status = judge(&r);
	*ret_head = r.head;
	*ret_detail = r.detail;
	return status;
}
