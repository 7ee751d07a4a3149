#include "common/redis_redirect.h"

#include "common/redis_url.h"

#include <string.h>

enum { SLOTS = 16384, SLOT_DIGITS = 5 };

static bool take(const char **text, const char *end, const char *word)
{
	size_t len = strlen(word);

	if ((size_t)(end - *text) < len || memcmp(*text, word, len) != 0)
		return false;
	*text += len;
	return true;
}

static bool take_slot(const char **text, const char *end)
{
	int slot = 0, digits = 0;

	for (; *text < end && **text >= '0' && **text <= '9' && digits < SLOT_DIGITS; digits++)
		slot = slot * 10 + (*(*text)++ - '0');
	return digits > 0 && slot < SLOTS && take(text, end, " ");
}

/* An address of IPv6 has colons of its own. */
static bool read_address(const char *text, const char *end, struct redis_redirect *to)
{
	static const char allowed[] =
	    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:-";
	const char *colon = memrchr(text, ':', (size_t)(end - text));
	size_t len = colon ? (size_t)(colon - text) : sizeof(to->host);

	if (len >= sizeof(to->host) ||
	    !redis_port_parse(colon + 1, (size_t)(end - colon - 1), &to->port))
		return false;
	memcpy(to->host, text, len);
	to->host[len] = '\0';
	return strspn(to->host, allowed) == len;
}

bool redis_redirect_parse(const char *text, size_t len, struct redis_redirect *ret_redirect)
{
	struct redis_redirect to = {.kind = REDIRECT_MOVED};
	const char *end = text + len;

	if (take(&text, end, "ASK "))
		to.kind = REDIRECT_ASK;
	else if (!take(&text, end, "MOVED "))
		return false;
	if (!take_slot(&text, end) || !read_address(text, end, &to))
		return false;
	*ret_redirect = to;
	return true;
}
