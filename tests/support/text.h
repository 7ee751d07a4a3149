/*
 * text.h - strings that are made, and looked into.
 */
#ifndef UMAVEZ_TESTS_TEXT_H
#define UMAVEZ_TESTS_TEXT_H

#include <stdint.h>

/* snprintf() into a new string, to be freed.  Never NULL. */
char *text_format(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

int64_t text_count(const char *text, const char *part); /* how often part stands in text */

#endif
