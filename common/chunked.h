/*
 * chunked.h - a body that comes in chunks (RFC 9112, section 7.1).
 *
 * Pure, and as strict as head.h: one spelling of a size, and CR LF where it belongs.  Extensions
 * and trailers are read and dropped: a trailer must never pass for a header (RFC 9110, section
 * 6.5.1).
 */
#ifndef UMAVEZ_CHUNKED_H
#define UMAVEZ_CHUNKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All zero to begin with. */
struct chunked {
	int state;
	bool has_digit; /* the size has begun */
	int64_t left;   /* of the chunk */
	int64_t len;    /* of the body so far, with all of the chunk that is being read */
	size_t extra;   /* what was read besides sizes and data */
	bool complete;
};

/*
 * Read on in bytes, not further than the end of the body.  Its data move to the front of bytes:
 * *ret_used bytes were read, and *ret_data of them are data.  0, or the status to refuse it with
 * and *ret_detail (static text).
 */
int chunked_read(struct chunked *c, char *bytes, size_t len, int64_t max_body, size_t *ret_used,
    size_t *ret_data, const char **ret_detail);

#endif
