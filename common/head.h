/*
 * head.h - may the head of this HTTP/1 request pass? (RFC 9112)
 *
 * Pure: bytes in, verdict out.  Strict where two readers could disagree about where a message ends:
 * lines end with CR LF and nothing else does, nothing is folded, and there is one way to say how
 * long the body is.  A line is judged as soon as it is there, so that who speaks another protocol
 * is told so at once.
 */
#ifndef UMAVEZ_HEAD_H
#define UMAVEZ_HEAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HEAD_MAX = 16384 }; /* bytes, the empty line included */

/* All zero to begin with. */
struct head {
	size_t start; /* an empty line before the request is none of it (RFC 9112, section 2.2) */
	size_t len;   /* of the lines read so far; of all of it once it is complete */
	unsigned n_lines; /* so far, the empty one not among them */
	bool complete;
	bool chunked;
	bool has_length, has_host;
	bool expects_continue; /* the client waits for 100 before it sends the body */
	bool http_1_0;
	bool may_have_body, must_have_body; /* says the method */
	int64_t content_length;             /* bytes; 0 unless has_length */
	size_t path_at, path_len;           /* of the target, its query included */
};

/*
 * bytes: the request from its first byte, as far as it has come; what earlier calls have read is
 * not read again.  0: acceptable so far, and all of it if h->complete.  Otherwise the status to
 * refuse it with, and *ret_detail (static text).
 */
int head_read(
    struct head *h, const char *bytes, size_t len, int64_t max_body, const char **ret_detail);

/*
 * The same request in the one form that evhttp is given: a target of path and query (RFC 9112,
 * section 3.2.1), and nothing that is settled by the time it comes there (Content-Length,
 * Transfer-Encoding, Trailer, Expect, Proxy-Connection).  Without the empty line.  ret_text has
 * room for h->len; returns how much was used.
 */
size_t head_write(const struct head *h, const char *bytes, char *ret_text);

#endif
