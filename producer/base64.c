#include "producer/base64.h"

#include "common/memory.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What no digit has. */
#define NO_DIGIT 0xc0

/* The value of every character. Made for each text, which is nearly always longer than it. */
static void make_digits(enum base64_form form, unsigned char ret_digits[256])
{
	static const unsigned char common[] =
	    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

	memset(ret_digits, NO_DIGIT, 256);
	for (size_t i = 0; i < sizeof(common) - 1; i++)
		ret_digits[common[i]] = (unsigned char)i;
	ret_digits[form == BASE64_URL ? '-' : '+'] = 62;
	ret_digits[form == BASE64_URL ? '_' : '/'] = 63;
}

/* Four digits are three bytes. */
static bool decode_group(const unsigned char *digits, const unsigned char *text, unsigned char *out)
{
	unsigned a = digits[text[0]], b = digits[text[1]], c = digits[text[2]], d = digits[text[3]];

	out[0] = (unsigned char)(a << 2 | b >> 4);
	out[1] = (unsigned char)(b << 4 | c >> 2);
	out[2] = (unsigned char)(c << 6 | d);
	return ((a | b | c | d) & NO_DIGIT) == 0;
}

/* Two or three digits at the end are one or two bytes, and bits that must not be set. */
static bool decode_end(
    const unsigned char *digits, const unsigned char *text, size_t len, unsigned char *out)
{
	unsigned a = digits[text[0]], b = digits[text[1]], c = len == 3 ? digits[text[2]] : 0;

	out[0] = (unsigned char)(a << 2 | b >> 4);
	out[1] = (unsigned char)(b << 4 | c >> 2);
	if ((a | b | c) & NO_DIGIT)
		return false;
	return len == 3 ? (c & 0x03) == 0 : (b & 0x0f) == 0;
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
	size_t left = unpadded(text, len, form), n = 0;
	const unsigned char *at = (const unsigned char *)text;
	unsigned char digits[256], *out;
	bool fine = true;

	/* A lone digit behind full groups holds 6 bits: no byte. */
	if (left == SIZE_MAX || left % 4 == 1)
		return NULL;
	make_digits(form, digits);
	out = mem_alloc(left / 4 * 3 + 3);
	for (; left >= 4 && fine; left -= 4, at += 4, n += 3)
		fine = decode_group(digits, at, out + n);
	if (fine && left > 0) {
		fine = decode_end(digits, at, left, out + n);
		n += left - 1;
	}
	if (!fine) {
		free(out);
		return NULL;
	}
	out[n] = '\0';
	*ret_len = n;
	return out;
}
