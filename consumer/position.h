/*
 * position.h - where a shard goes on reading: a pure function of what Redis and the database say.
 *
 * The cursor is in the database, in the transaction of the effects; the bookmark (the group's
 * last-delivered-id) is a copy of it in Redis, written after the commit.  What follows an entry of
 * the relay's in a stream follows it in the outbox too, so a consumer reads on as long as the
 * stream has the entry at its cursor; trimming keeps it.  When it has not (Redis lost it, or was
 * filled anew), or when the bookmark is ahead of the cursor (the database lost commits), only the
 * relay knows how to go on: it knows where every row has stood, and which positions a repair made
 * void. So it is asked, and answers in the hash <namespace>:replay:{shard}:
 *
 *   ask:<consumer>     <cursor>          the consumer has come to here
 *   answer:<consumer>  <cursor> none     what follows stands there: read on
 *                      <cursor> <tick>   it comes again, in order, as entries of that tick
 *                      <cursor> <ID>     there is nothing: read on from that ID
 *                      <cursor> start    it does not know the cursor (the intake lost history):
 *                                        read the stream from its beginning, the inbox absorbs
 *
 * Question or answer is the record that one is wanted: the question is set together with the
 * bookmark, the relay puts the answer in its place, and the answer goes when it has been followed.
 * Until then nothing is applied, since order would be lost.  The relay answers when the stream has
 * come to the cursor, if it is going to, and the bookmark is kept at the cursor until then, so that
 * what is on its way there can be trimmed; and it takes an answer back before it appends to another
 * stream than the one that the answer was about.
 *
 * The facts must come in this order, since other owners of the shard may be at work, and the relay:
 * bookmark and replay, then cursor, then stream, then replay again.
 *
 * An answered tick is followed when a row of it is the first entry after <tick>-0; any other entry
 * there means to ask again, which never harms.  (Somebody else's entry that passes for a message,
 * under the tick's own name and below its rows, would go unnoticed.)
 *
 * A cursor of 0-0 is a new consumer's, which begins where the stream does.  A database that has
 * lost everything has one too, beside a bookmark: it moves to 0-1 before it asks.
 *
 * A stream without entries proves nothing: it is about to be filled again, from where the relay
 * believes every consumer to be.  The cursor is kept until there is an entry to compare it with.
 */
#ifndef UMAVEZ_CONSUMER_POSITION_H
#define UMAVEZ_CONSUMER_POSITION_H

#include "common/stream_id.h"

#include <stdbool.h>

enum replay_answer {
	REPLAY_NONE,  /* what follows the cursor is all there */
	REPLAY_AGAIN, /* everything after it comes again, after `at`, <tick>-0 */
	REPLAY_AT,    /* there is nothing: go on from `at`, an entry */
	REPLAY_START, /* the relay does not know the cursor */
};

struct replay {
	bool asked;
	struct stream_id ask;
	bool answered; /* the newest answer, perhaps to an older question */
	struct stream_id answer_to;
	enum replay_answer answer;
	struct stream_id at;
};

/* Of an answer that leads elsewhere: the entry at `at`, or the first one after <tick>-0. */
enum replay_seen {
	REPLAY_NOTHING, /* there is none yet */
	REPLAY_ROW,     /* the entry, or a message of that tick */
	REPLAY_OTHER,
};

struct standing {
	bool has_group;
	struct stream_id bookmark; /* with has_group */
	struct replay replay;
	enum replay_seen replay_seen;
	struct stream_id cursor;
	bool stands; /* the stream has the entry at the cursor; or, where the cursor has just jumped
			to a tick, a row of that comes next */
	struct stream_id stream_first; /* its oldest entry; 0-0: none */
};

enum position_action {
	POSITION_READ,       /* read on from `at`, the cursor */
	POSITION_IDLE,       /* nothing to read: look again when there is an entry */
	POSITION_MAKE_GROUP, /* create the group at the beginning, and look again */
	POSITION_ASK,   /* set the cursor, if it is not there, and the bookmark to `at`, and ask */
	POSITION_AWAIT, /* asked; no answer yet, or one that the stream does not bear out yet */
	POSITION_JUMP,  /* the answer: move the cursor to `at` */
	POSITION_RESTART, /* the answer: set bookmark, then cursor, back to 0-0 */
	POSITION_FORGET,  /* the question is answered, or of the past: remove it */
};

struct position {
	enum position_action action;
	struct stream_id at;
};

struct position position_next(const struct standing *s);

bool replay_same(const struct replay *a, const struct replay *b);

/* The two texts of the hash. False: not in the form above, and to be treated as absent. */
bool replay_set_ask(struct replay *r, const char *text);
bool replay_set_answer(struct replay *r, const char *text);

#endif
