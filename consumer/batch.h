/*
 * batch.h - the entries of one read, as events, with what has to be known about the rest of them.
 */
#ifndef UMAVEZ_CONSUMER_BATCH_H
#define UMAVEZ_CONSUMER_BATCH_H

#include "common/err.h"
#include "common/event.h"

#include <stddef.h>
#include <stdint.h>

struct batch {
	struct stream_id first, last; /* entries, whether they are messages of ours or not */
	size_t n;                     /* events, in stream order */
	struct event *events;
	size_t foreign;              /* entries that are no message of ours: passed over */
	struct stream_id foreign_at; /* the first of them, and why */
	const char *foreign_why;
	int64_t read_at;   /* wall clock, ms */
	redisReply *reply; /* what the events point into */
};

/* Takes over the reply of an XREAD of one stream, also on failure. Free with batch_free(). */
int batch_from_reply(redisReply *reply, struct batch **ret_batch, struct err *err) warn_unused;
void batch_free(struct batch *b); /* NULL is fine */

/* When the relay appended it, by its own field; false: absent or unreadable. */
bool batch_published_at(const struct event *event, int64_t *ret_wall_ms);

/* Where the message first appeared in the stream: by its own field if it was republished, else
 * here. */
struct stream_id batch_first_position(const struct event *event);

/* When the producer had read the notification, or else when the relay appended it. */
bool batch_received_at(const struct event *event, int64_t *ret_wall_ms);

#endif
