/*
 * timestamp.h - read RFC 3339 (https://www.rfc-editor.org/rfc/rfc3339#section-5.6).
 */
#ifndef UMAVEZ_CONSUMER_TIMESTAMP_H
#define UMAVEZ_CONSUMER_TIMESTAMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Milliseconds since 1970; a finer fraction is cut off.  A leap second reads as the second after
 * it. False leaves *ret_wall_ms alone. */
bool timestamp_parse(const char *text, size_t len, int64_t *ret_wall_ms);

#endif
