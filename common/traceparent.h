/*
 * traceparent.h - W3C Trace Context, level 1:
 * https://www.w3.org/TR/trace-context/#traceparent-header
 */
#ifndef UMAVEZ_TRACEPARENT_H
#define UMAVEZ_TRACEPARENT_H

#include <stdbool.h>
#include <stddef.h>

#define TRACEPARENT_SIZE 56 /* version 00: 55 characters and a NUL */

struct traceparent {
	char trace_id[33];
	char parent_id[17];
	unsigned char flags;
};

/* Lower-case hex only; version ff and all-zero ids are invalid; version 00 is exactly 55
 * characters; of a higher version the first four fields count. False leaves *ret alone. */
bool traceparent_parse(const char *text, size_t len, struct traceparent *ret);

void traceparent_new(struct traceparent *ret); /* random, sampled */
void traceparent_child(
    const struct traceparent *parent, struct traceparent *ret); /* new parent_id */
void traceparent_format(const struct traceparent *tp, char buf[TRACEPARENT_SIZE]); /* version 00 */

#endif
