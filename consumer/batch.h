/*
 * batch.h - the entries of one read, as events, with what has to be known about the rest of them.
 */
#ifndef UMAVEZ_CONSUMER_BATCH_H
#define UMAVEZ_CONSUMER_BATCH_H

#include "common/err.h"
#include "common/event.h"

#include <stddef.h>
#include <stdint.h>

/*
 *   first                     last            end
 *     message foreign message message foreign foreign
 *
 * The cursor goes to `last`: what is below a message was there before it was published.  What
 * stands behind the last one the relay may not have seen, and a message may still come in its
 * place.
 */
struct batch {
	struct stream_id first; /* entry, whether it is a message of ours or not */
	struct stream_id last;  /* message; 0-0: there is none */
	struct stream_id end;   /* entry, as first */
	size_t n;               /* messages, in stream order */
	struct event *events;
	size_t foreign; /* entries up to `last` that are no message of ours: passed over with it */
	size_t behind;  /* those after it */
	struct stream_id foreign_at; /* the newest of both, and why */
	const char *foreign_why;
	int64_t read_at;   /* wall clock, ms */
	redisReply *reply; /* what the events point into */
};

/* Up to its most-th message (at least 1). Takes over the reply of an XREAD of one stream, also on
 * failure. Free with batch_free(). */
int batch_from_reply(
    redisReply *reply, int64_t most, struct batch **ret_batch, struct err *err) warn_unused;
void batch_free(struct batch *b); /* NULL is fine */

/* Pass what stands behind the last message too. */
void batch_pass_all(struct batch *b);

/* How many entries after `id` are no messages. */
size_t batch_foreign_after(const struct batch *b, struct stream_id id);

/* When the relay appended it, by its own field; false: absent or unreadable. */
bool batch_published_at(const struct event *event, int64_t *ret_wall_ms);

/* Where the message first appeared in the stream: by its own field if it was republished, else
 * here. */
struct stream_id batch_first_position(const struct event *event);

/* When the producer had read the notification, or else when the relay appended it. */
bool batch_received_at(const struct event *event, int64_t *ret_wall_ms);

#endif
