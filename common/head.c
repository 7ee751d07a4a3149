#include "common/head.h"

#include <arpa/inet.h>
#include <assert.h>
#include <string.h>
#include <strings.h>

/* As many as any sender needs, several times over. */
enum { MAX_LINES = 128 };

/* A part of the head, not NUL-terminated. */
struct text {
	const char *s;
	size_t len;
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

static int refuse(const char **ret_detail, int status, const char *detail)
{
	*ret_detail = detail;
	return status;
}

static int read_method(struct head *h, struct text method, const char **ret_detail)
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
		h->may_have_body = methods[i].may;
		h->must_have_body = methods[i].must;
		return 0;
	}
	return refuse(ret_detail, 501, "The method is not one that this server knows.");
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

/*
 * A path, or an absolute URI (RFC 9112, section 3.2.2), in the characters of a URI and without a
 * fragment. What begins with two slashes is a path to one reader and a host to the next. False: it
 * is none; else *target is what follows the authority.
 */
static bool read_target(struct text *target)
{
	struct text rest = *target;
	size_t len = 0;

	for (size_t i = 0; i < rest.len; i++) {
		if (rest.s[i] <= ' ' || rest.s[i] > '~' || rest.s[i] == '#')
			return false;
	}
	if (take(&rest, "http://") || take(&rest, "https://")) {
		while (len < rest.len && rest.s[len] != '/' && rest.s[len] != '?')
			len++;
		if (!is_authority((struct text){rest.s, len}))
			return false;
		*target = rest = (struct text){rest.s + len, rest.len - len};
		if (rest.len == 0 || rest.s[0] == '?')
			return true;
	}
	return take(&rest, "/") && (rest.len == 0 || rest.s[0] != '/');
}

static int read_request_line(struct head *h, struct text line, const char **ret_detail)
{
	struct text method, target, rest = line;

	if (!cut(&rest, ' ', &method) || !is_token(method) || !cut(&rest, ' ', &target))
		return refuse(
		    ret_detail, 400, "The request line is not \"method target version\".");
	if (rest.len != 8 || memcmp(rest.s, "HTTP/", 5) != 0 || rest.s[6] != '.')
		return refuse(ret_detail, 400, "The request line does not end in an HTTP version.");
	if (rest.s[5] != '1' || (rest.s[7] != '0' && rest.s[7] != '1'))
		return refuse(ret_detail, 505, "This server speaks HTTP/1.1.");
	h->http_1_0 = rest.s[7] == '0';
	int status = read_method(h, method, ret_detail);
	if (status != 0)
		return status;
	if (!read_target(&target))
		return refuse(ret_detail, 400, "The target is not a path, nor an absolute URI.");
	h->path_at = h->start + (size_t)(target.s - line.s);
	h->path_len = target.len;
	return 0;
}

static int read_content_length(
    struct head *h, struct text value, int64_t max_body, const char **ret_detail)
{
	int64_t n = 0;

	if (h->has_length)
		return refuse(ret_detail, 400, "Content-Length is given twice.");
	if (value.len == 0)
		return refuse(ret_detail, 400, "Content-Length is empty.");
	for (size_t i = 0; i < value.len; i++) {
		if (value.s[i] < '0' || value.s[i] > '9')
			return refuse(ret_detail, 400, "Content-Length is not a number.");
		if (n <= max_body) /* far from overflow */
			n = n * 10 + (value.s[i] - '0');
	}
	h->has_length = true;
	h->content_length = n;
	return 0;
}

/* RFC 9112, section 3.2; what it names is nothing to us. */
static int read_host(struct head *h, struct text value, const char **ret_detail)
{
	if (h->has_host)
		return refuse(ret_detail, 400, "Host is given twice.");
	if (value.len > 0 && !is_authority(value))
		return refuse(ret_detail, 400, "Host is not \"name\" or \"name:port\".");
	h->has_host = true;
	return 0;
}

static int read_field(struct head *h, struct text line, int64_t max_body, const char **ret_detail)
{
	struct text name;

	if (!cut(&line, ':', &name) || !is_token(name))
		return refuse(ret_detail, 400, "A header line is not \"name: value\".");
	line = trim(line);
	if (equals(name, "Content-Length"))
		return read_content_length(h, line, max_body, ret_detail);
	if (equals(name, "Host"))
		return read_host(h, line, ret_detail);
	if (equals(name, "Transfer-Encoding")) {
		if (!equals(line, "chunked") || h->chunked)
			return refuse(
			    ret_detail, 501, "The only Transfer-Encoding here is chunked.");
		h->chunked = true;
	}
	if (equals(name, "Expect") && !h->http_1_0) { /* RFC 9110, section 10.1.1 */
		if (!equals(line, "100-continue"))
			return refuse(
			    ret_detail, 417, "The only expectation met here is 100-continue.");
		h->expects_continue = true;
	}
	return 0;
}

/* What no single line tells. */
static int judge(struct head *h, int64_t max_body, const char **ret_detail)
{
	if (h->chunked && (h->has_length || h->http_1_0)) /* RFC 9112, section 6.1 */
		return refuse(
		    ret_detail, 400, "Transfer-Encoding excludes Content-Length and HTTP/1.0.");
	if (!h->has_host && !h->http_1_0)
		return refuse(ret_detail, 400, "Host is missing.");
	if (!h->may_have_body && (h->chunked || h->content_length > 0))
		return refuse(ret_detail, 400, "This method has no body.");
	if (h->must_have_body && !h->chunked && !h->has_length)
		return refuse(ret_detail, 411, "Say Content-Length.");
	if (h->content_length > max_body)
		return refuse(
		    ret_detail, 413, "The body is longer than this server takes (--max-body).");
	h->complete = true;
	return 0;
}

/* A line without its LF. */
static int read_line(struct head *h, struct text line, int64_t max_body, const char **ret_detail)
{
	if (line.len == 0 || line.s[--line.len] != '\r')
		return refuse(ret_detail, 400, "A line of the head does not end with CR LF.");
	if (!is_clean(line))
		return refuse(ret_detail, 400, "The head has a byte that is not text.");
	if (line.len == 0 && h->len == 0) {
		h->start = 2;
		return 0;
	}
	if (h->n_lines == 0)
		return read_request_line(h, line, ret_detail);
	if (line.len == 0)
		return judge(h, max_body, ret_detail);
	return h->n_lines < MAX_LINES
		   ? read_field(h, line, max_body, ret_detail)
		   : refuse(ret_detail, 431, "The head has more than 127 header lines.");
}

int head_read(
    struct head *h, const char *bytes, size_t len, int64_t max_body, const char **ret_detail)
{
	struct text rest = {bytes + h->len, len - h->len}, line;

	while (!h->complete && cut(&rest, '\n', &line)) {
		int status = read_line(h, line, max_body, ret_detail);
		if (status != 0)
			return status;
		h->len += line.len + 1;
		h->n_lines += h->len > h->start && !h->complete;
	}
	if (h->complete)
		return 0;
	if (rest.len > 0 && rest.s[rest.len - 1] == '\r')
		rest.len--;
	if (!is_clean(rest))
		return refuse(ret_detail, 400, "The head has a byte that is not text.");
	if (len < HEAD_MAX)
		return 0;
	return h->n_lines == 0
		   ? refuse(ret_detail, 414, "The target is longer than 16 KiB.")
		   : refuse(ret_detail, 431, "The head of the request is longer than 16 KiB.");
}

static bool is_settled(struct text name)
{
	return equals(name, "Transfer-Encoding") || equals(name, "Content-Length") ||
	       equals(name, "Trailer") || equals(name, "Expect") ||
	       equals(name, "Proxy-Connection");
}

static void append(char *text, size_t *used, const char *s, size_t len)
{
	memcpy(text + *used, s, len);
	*used += len;
}

size_t head_write(const struct head *h, const char *bytes, char *ret_text)
{
	struct text rest = {bytes + h->start, h->len - h->start - 2}, line, name;
	size_t used = 0;

	assert(h->complete);
	if (!cut(&rest, '\n', &line) || !cut(&line, ' ', &name))
		return 0; /* never: it was read */
	append(ret_text, &used, name.s, name.len + 1);
	if (h->path_len == 0 || bytes[h->path_at] != '/')
		append(ret_text, &used, "/", 1);
	append(ret_text, &used, bytes + h->path_at, h->path_len);
	append(ret_text, &used, h->http_1_0 ? " HTTP/1.0\r\n" : " HTTP/1.1\r\n", 11);
	while (cut(&rest, '\n', &line)) {
		struct text value = line;
		if (!cut(&value, ':', &name) || !is_settled(name))
			append(ret_text, &used, line.s, line.len + 1);
	}
	return used;
}
