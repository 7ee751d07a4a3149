/*
 * json.h - one strict reading of foreign JSON, the same for every store.
 *
 * jansson refuses duplicate members, integers beyond 64 bits, lone surrogates, invalid UTF-8 and
 * nesting deeper than 2048, so what it accepts means the same to us and to PostgreSQL.  What it
 * refuses may still be authentic: json_peek_string() then finds the id to keep it under.
 *
 * The getters borrow from their object.  Each takes a path: member names and array positions joined
 * by dots ("items.data.0.current_period_end"), or a single name.
 */
#ifndef UMAVEZ_JSON_H
#define UMAVEZ_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The object that the bytes are, to be json_decref()ed; or NULL, and *ret_why (static text) says
 * what is wrong with them.  Anything but an object is wrong. */
json_t *json_read(const void *bytes, size_t len, const char **ret_why);

/* Whatever is there; NULL: nothing, or the way to it is no object or array. */
json_t *json_at(const json_t *root, const char *path);

json_t *json_get_object(const json_t *root, const char *path); /* NULL unless an object */

/* NULL unless a non-empty string without NUL. Valid UTF-8, NUL-terminated. */
const char *json_get_string(const json_t *root, const char *path);

/* A copy of json_get_string(), or NULL. */
char *json_dup_string(const json_t *root, const char *path);

/* Exactly the literal true: not "true", not 1. */
bool json_get_true(const json_t *root, const char *path);

/* False unless an integer; a real such as 1e3 is none. */
bool json_get_int(const json_t *root, const char *path, int64_t *ret_value);

/* Milliseconds since 1970, as an integer or as a string of 1 to 18 decimal digits. False, and
 * nothing set, unless it is one of the two; negative is neither. */
bool json_get_epoch_ms(const json_t *root, const char *path, int64_t *ret_ms);

/*
 * The string at path in an object that json_read() refused, found by a scan that neither recurses
 * nor decodes.  malloc'd.  NULL unless each name on the path occurs exactly once in its object, no
 * sibling name is written with escapes (it might be the same name), and the string is 1 to 255
 * printable ASCII characters without escapes.  Array positions cannot be in the path.
 */
char *json_peek_string(const void *bytes, size_t len, const char *path);

#endif
