#include "common/utf8.h"

#include <stdint.h>
#include <string.h>

static size_t sequence_length(unsigned char lead, uint32_t *ret_bits, uint32_t *ret_least)
{
	if (lead < 0x80) {
		*ret_bits = lead;
		*ret_least = 0;
		return 1;
	}
	if (lead >= 0xc2 && lead <= 0xdf) {
		*ret_bits = lead & 0x1f;
		*ret_least = 0x80;
		return 2;
	}
	if (lead >= 0xe0 && lead <= 0xef) {
		*ret_bits = lead & 0x0f;
		*ret_least = 0x800;
		return 3;
	}
	if (lead >= 0xf0 && lead <= 0xf4) {
		*ret_bits = lead & 0x07;
		*ret_least = 0x10000;
		return 4;
	}
	return 0;
}

size_t utf8_decode(const char *s, size_t len, uint32_t *ret_code)
{
	uint32_t code, least;
	size_t n = sequence_length((unsigned char)s[0], &code, &least);

	if (n == 0 || n > len)
		return 0;
	for (size_t i = 1; i < n; i++) {
		unsigned char c = (unsigned char)s[i];
		if ((c & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (c & 0x3f);
	}
	if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff))
		return 0;
	*ret_code = code;
	return n;
}

/* How much of the text is ASCII, counted in whole words: nearly all of it is, as a rule. */
static size_t ascii_words(const char *s, size_t len)
{
	size_t n = 0;
	uint64_t word;

	for (; n + sizeof(word) <= len; n += sizeof(word)) {
		memcpy(&word, s + n, sizeof(word));
		if (word & UINT64_C(0x8080808080808080))
			break;
	}
	return n;
}

bool utf8_valid(const char *s, size_t len)
{
	uint32_t code;

	for (size_t n; len > 0; s += n, len -= n) {
		n = ascii_words(s, len);
		if (n == 0)
			n = utf8_decode(s, len, &code);
		if (n == 0)
			return false;
	}
	return true;
}

bool utf8_printable(uint32_t code)
{
	if (code < 0x20 || (code >= 0x7f && code < 0xa0))
		return false;
	if (code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e))
		return false;
	return !(code >= 0x2066 && code <= 0x2069) && code != 0xfeff;
}
