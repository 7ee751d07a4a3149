/*
 * event.h - a message on its way: CloudEvents attributes, and the stream entry that carries them.
 *
 * source and id together identify an event (CloudEvents 1.0, "id"); an id alone identifies nothing.
 */
#ifndef UMAVEZ_EVENT_H
#define UMAVEZ_EVENT_H

#include "common/err.h"
#include "common/stream_id.h"

#include <hiredis/hiredis.h>
#include <stdbool.h>
#include <stddef.h>

/* The fields of a stream entry, in the order in which the relay writes them. Those of one row
 * first, then those that a whole append shares. */
enum event_field {
	EVENT_ID,
	EVENT_SOURCE,
	EVENT_TYPE,
	EVENT_SUBJECT,
	EVENT_TIME,
	EVENT_TRACEPARENT,
	EVENT_DATA,
	EVENT_FIRST_POSITION, /* of a republished row: where its message first appeared */
	EVENT_ROW_FIELDS,
	EVENT_SHARD = EVENT_ROW_FIELDS,
	EVENT_RELAY,
	EVENT_PUBLISHED_AT,
	EVENT_FIELDS
};
extern const char *const event_field_names[EVENT_FIELDS];

struct event_text {
	const char *s; /* NULL: absent; else NUL-terminated */
	size_t len;
};

/* Of source and of id, in bytes: inboxes have them in an index.  intake.emit() and the producer
 * refuse longer ones. */
#define EVENT_KEY_MAX 512

/* A view into a reply: valid while the reply lives. */
struct event {
	struct stream_id stream_id;
	struct event_text field[EVENT_FIELDS];
};

/* The ID of one element of an XREAD or XRANGE reply; false: it is no entry. */
bool event_entry_id(const redisReply *entry, struct stream_id *ret_id);

/*
 * Read one element of an XREAD or XRANGE reply.  False: the entry is not a message of ours (id,
 * source, type, subject, time or data missing or empty, a key that is too long, NUL bytes, invalid
 * UTF-8, data not one JSON value): nothing that a retry could heal. *ret_reason says why (static
 * text).
 */
bool event_from_entry(const redisReply *entry, struct event *ret_event, const char **ret_reason);

/* The event as one JSON object, as handlers get it: specversion id source type subject time
 * traceparent data, and streamid. malloc'd; *ret_len without the NUL. */
char *event_to_json(const struct event *event, size_t *ret_len);

/* "umavez:purchases:{3}" for namespace "umavez", what "purchases", shard 3. */
void event_key(char *buf, size_t size, const char *name_space, const char *what, unsigned shard);

#endif
