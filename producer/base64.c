#include "producer/base64.h"

#include "common/memory.h"

#include <stdint.h>
#include <stdlib.h>

static int digit(char c, enum base64_form form)
{
	if (c >= 'A' && c <= 'Z')
		return c - 'A';
	if (c >= 'a' && c <= 'z')
		return c - 'a' + 26;
	if (c >= '0' && c <= '9')
		return c - '0' + 52;
	if (c == (form == BASE64_URL ? '-' : '+'))
		return 62;
	if (c == (form == BASE64_URL ? '_' : '/'))
		return 63;
	return -1;
}

/* Length without the padding; SIZE_MAX if the padding is not as the form wants it. */
static size_t unpadded(const char *text, size_t len, enum base64_form form)
{
	size_t pads = 0;

	if (form == BASE64_URL)
		return len;
	if (len % 4 != 0)
		return SIZE_MAX;
	while (pads < 2 && pads < len && text[len - 1 - pads] == '=')
		pads++;
	return len - pads;
}

unsigned char *base64_decode(const char *text, size_t len, enum base64_form form, size_t *ret_len)
{
	size_t digits = unpadded(text, len, form), n = 0;
	unsigned char *out;
	uint32_t bits = 0;
	unsigned held = 0;

	/* A lone digit behind full groups holds 6 bits: no byte. */
	if (digits == SIZE_MAX || digits % 4 == 1)
		return NULL;
	out = mem_alloc(digits / 4 * 3 + 3);
	for (size_t i = 0; i < digits; i++) {
		int d = digit(text[i], form);

		if (d < 0)
			goto malformed;
		bits = bits << 6 | (uint32_t)d;
		held += 6;
		if (held >= 8) {
			held -= 8;
			out[n++] = (unsigned char)(bits >> held);
			bits &= (1U << held) - 1;
		}
	}
	if (bits != 0)
		goto malformed;
	out[n] = '\0';
	*ret_len = n;
	return out;
malformed:
	free(out);
	return NULL;
}
