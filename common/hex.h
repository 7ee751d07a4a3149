/*
 * hex.h - bytes as lower-case hexadecimal digits.
 */
#ifndef UMAVEZ_HEX_H
#define UMAVEZ_HEX_H

#include <stddef.h>

/* 2 * len digits and a NUL into ret_hex, which the caller has made large enough. Returns it. */
char *hex_format(const void *bytes, size_t len, char *ret_hex);

/* SHA-256, and its NUL. */
#define HEX_SHA256_SIZE 65
char *hex_sha256(const void *bytes, size_t len, char ret_hex[HEX_SHA256_SIZE]);

#endif
