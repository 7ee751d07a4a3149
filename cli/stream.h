/*
 * stream.h - a shard's Redis stream, as somebody sees it who only reads.
 */
#ifndef UMAVEZ_CLI_STREAM_H
#define UMAVEZ_CLI_STREAM_H

#include "common/err.h"
#include "common/redis.h"
#include "common/stream_id.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stream_view {
	int64_t length;
	struct stream_id first, last; /* entries; 0-0: none */
};
int stream_look(
    struct redis *r, const char *key, struct stream_view *ret_view, struct err *err) warn_unused;

/* What an entry says of itself; of a foreign one only the ID is known. */
struct stream_entry {
	struct stream_id id;
	bool is_event;
	char *source, *message_id;
	char *relay, *published_at; /* NULL: not told */
};
void stream_entry_done(struct stream_entry *e);

/* The entry with this ID. *ret_found false: there is none, and *ret_entry is left alone. */
int stream_find(struct redis *r, const char *key, struct stream_id id, bool *ret_found,
    struct stream_entry *ret_entry, struct err *err) warn_unused;

/* The newest entries, newest first, at most count; *ret_n of them. Each to be done, and the array
 * freed. */
int stream_newest(struct redis *r, const char *key, unsigned count,
    struct stream_entry **ret_entries, size_t *ret_n, struct err *err) warn_unused;

/* The ID of the first entry after one; 0-0: none. */
int stream_next(struct redis *r, const char *key, struct stream_id after, struct stream_id *ret_id,
    struct err *err) warn_unused;

#endif
