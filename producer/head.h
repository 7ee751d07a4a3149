/*
 * head.h - may the head of this HTTP/1 request pass? (RFC 9112)
 *
 * Pure: bytes in, verdict out.  Strict where two readers could disagree about where a message ends:
 * lines end with CR LF and nothing else does, nothing is folded, and there is one way to say how
 * long the body is.
 */
#ifndef UMAVEZ_HEAD_H
#define UMAVEZ_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct head {
	bool chunked;
	int64_t content_length; /* -1: not given */
};

/*
 * bytes: a request line, header lines and the empty line, all of it.  0: acceptable, *ret_head is
 * set. Otherwise the status to refuse it with, and *ret_detail (static text).
 */
int head_read(const char *bytes, size_t len, int64_t max_body, struct head *ret_head,
    const char **ret_detail);

#endif
