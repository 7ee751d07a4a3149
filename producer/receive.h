/*
 * receive.h - the SQL verb: notifications in, accepted or duplicate out
 * (schema/002_intake_receive.sql).
 */
#ifndef UMAVEZ_RECEIVE_H
#define UMAVEZ_RECEIVE_H

#include "common/pg_array.h"
#include "producer/notification.h"
#include "producer/session.h"

enum { RECEIVE_ARRAYS = 23 };

/* The statement and its parameters, an array each. */
struct receive {
	struct pg_array arrays[RECEIVE_ARRAYS];
	const char *values[RECEIVE_ARRAYS];
	int lengths[RECEIVE_ARRAYS], formats[RECEIVE_ARRAYS];
	struct session_statement statement;
};

/* What goes into one row besides the notification. */
struct receive_extra {
	const char *traceparent;
	const char *trace_link; /* NULL: none */
	const void *body;
	size_t len;
};

void receive_init(struct receive *r);
void receive_done(struct receive *r);
void receive_reset(struct receive *r); /* no rows, memory kept */
void receive_add(
    struct receive *r, const struct notification *n, const struct receive_extra *extra);

/* Valid until the next change of r. */
const struct session_statement *receive_statement(struct receive *r);

/* Row i of the result: accepted, or a duplicate. */
bool receive_accepted(const PGresult *res, int i);

#endif
