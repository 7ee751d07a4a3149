/*
 * raw.h - requests byte by byte, as no honest client sends them, and all that is answered.
 */
#ifndef UMAVEZ_TESTS_RAW_H
#define UMAVEZ_TESTS_RAW_H

#include <stdbool.h>
#include <stddef.h>

/*
 * In the bytes of a case stands
 *	$P a POST's request line and Host, $S its signature line, $E the notification,
 *	$L and $X its length, decimal and hexadecimal, $0 a NUL byte, $F 20 KiB of filling
 */
struct raw {
	const char *bytes;
	int status;
};

#define CHUNKED "$P$STransfer-Encoding: chunked\r\n\r\n"
#define PLAIN(lines) "$P$S" lines "\r\n$E"
#define WHOLE "Content-Length: $L\r\n"

/* Bytes that grow, and a NUL behind them. free() where they are at. */
struct bytes {
	char *at;
	size_t len;
};
void bytes_add(struct bytes *b, const char *text, size_t len);

/* The bytes of a case, about the notification of this id. */
struct bytes raw_expand(const char *text, const char *id);

/* Send them in pieces of this size, and, if `end`, close that side. All that comes until the peer
 * closes in order, malloc'd: a reset fails the check. */
char *raw_exchange(const char *url, const struct bytes *b, size_t piece, bool end);

#endif
