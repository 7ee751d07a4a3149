/*
 * stream.h - one shard's Redis stream, the relay's side.
 *
 * An append names the last ID that it expects and is all or nothing: "moved" means that the stream
 * ends elsewhere (somebody else appended, or Redis lost entries) and nothing was added.
 */
#ifndef UMAVEZ_RELAY_STREAM_H
#define UMAVEZ_RELAY_STREAM_H

#include "common/err.h"
#include "common/redis.h"
#include "common/stream_id.h"
#include "relay/batch.h"
#include "relay/position.h"

#include <stdbool.h>
#include <stdint.h>

struct stream;

/* Strings are borrowed until stream_close(). relay: the name that entries carry. */
int stream_open(const char *url, const char *name_space, unsigned shard, const char *relay,
    struct stream **ret_stream, struct err *err) warn_unused;
void stream_close(struct stream *s); /* NULL is fine */

struct redis *stream_redis(struct stream *s);
const char *stream_key(const struct stream *s);

struct stream_state {
	enum stream_kind kind;
	char type[16];                /* what the key holds */
	struct stream_id last, first; /* first: 0-0 when it has no entry */
	struct stream_id furthest;    /* of all groups' positions */
	int64_t length;
};
int stream_look(struct stream *s, struct stream_state *ret_state, struct err *err) warn_unused;

/* One page of entries, newest first, from upto down: the reply of XREVRANGE. Free it with
 * freeReplyObject(). */
int stream_page_back(struct stream *s, struct stream_id upto, unsigned count, redisReply **ret_page,
    struct err *err) warn_unused;

/* Copy the entries after `after` up to `upto` aside, those that are not there yet. */
int stream_copy_aside(struct stream *s, struct stream_id after, struct stream_id upto,
    uint64_t *ret_copied, struct err *err) warn_unused;

struct append_result {
	bool moved;
	struct stream_id last; /* where the stream ends now */
	int64_t length;        /* unless moved */
};
/* In two halves, so that rows can be read meanwhile; the batch is not looked at after the first. */
int stream_append_send(struct stream *s, const struct batch *batch, struct stream_id expected,
    bool setback, struct err *err) warn_unused;
/* 1: the reply is there; 0: not within ms; -1: the connection is broken. */
int stream_append_wait(struct stream *s, int64_t ms);
int stream_append_receive(struct stream *s, struct append_result *ret, struct err *err) warn_unused;

#endif
