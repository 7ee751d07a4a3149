/*
 * base64.h - strict base64 (RFC 4648): one text for each value, no whitespace, no spare bits.
 *
 * What is signed must have one spelling only, so unlike most decoders this one refuses padding
 * where the form has none, missing padding where it has some, and bits that the value does not use.
 */
#ifndef UMAVEZ_BASE64_H
#define UMAVEZ_BASE64_H

#include <stddef.h>

enum base64_form {
	BASE64_STANDARD, /* section 4: "+/", padded */
	BASE64_URL,      /* section 5: "-_", without padding, as RFC 7515 wants it */
};

/* The decoded bytes, malloc'd, with a NUL behind them that *ret_len does not count; NULL if text is
 * not of this form. */
unsigned char *base64_decode(const char *text, size_t len, enum base64_form form, size_t *ret_len);

#endif
