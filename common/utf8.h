/*
 * utf8.h - strict UTF-8: no overlong forms, no surrogates, nothing above U+10FFFF (RFC 3629).
 */
#ifndef UMAVEZ_UTF8_H
#define UMAVEZ_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Length of the character at s (len > 0 bytes are there) and its code point; 0 if it is not valid.
 */
size_t utf8_decode(const char *s, size_t len, uint32_t *ret_code);

bool utf8_valid(const char *s, size_t len);

/*
 * What a terminal or a log must not get raw: controls (C0, DEL, C1), line and paragraph separators,
 * and the marks that reorder text on the screen.
 */
bool utf8_printable(uint32_t code);

#endif
