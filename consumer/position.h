/*
 * position.h - where a shard goes on reading: a pure function of what Redis and the database say.
 *
 * The cursor is in the database, in the transaction of the effects; the bookmark (the group's
 * last-delivered-id) is a copy of it in Redis, written after the commit.  So a bookmark ahead of
 * the cursor proves that the database lost commits, and a stream that ends before the cursor proves
 * that Redis (or the intake) lost entries.  Both proofs need the facts in this order, since other
 * owners of the shard may be at work: bookmark and replay, then cursor, then stream.
 *
 * The bookmark is no witness any more once it was set back: the database may go back, and forth,
 * again.  But the stream keeps the entry at the bookmark when it is trimmed, so one that begins
 * behind the cursor may lack entries.  (A cursor of 0-0 is a new consumer's: it begins where the
 * stream does.)
 *
 * After lost commits the entries behind the cursor may have been trimmed already.  The relay is
 * asked and answers in the hash <namespace>:replay:{shard}:
 *
 *   ask:<consumer>     <cursor>         what follows this is missing here
 *   answer:<consumer>  <cursor> none    all of it is still in the stream
 *                      <cursor> <tick>  all of it comes again, in order, as entries of that tick
 *
 * Question or answer is the record that a replay is wanted: the question is set together with the
 * bookmark, the relay puts the answer in its place, and the answer goes when it has been followed.
 * Until then nothing is applied, since order would be lost.
 *
 * The relay may give up a tick that it has named: somebody else's entry comes before its rows, and
 * what the relay publishes then is only what the stream lacked.  So an answer is followed when a
 * row of its tick is the first entry after <tick>-0, and any other entry there means to ask again,
 * which never harms.  (Somebody else's entry that passes for a message, under the tick's own name
 * and below its rows, would go unnoticed.)
 *
 * A stream that ends before the cursor is read from its beginning, since all that it holds was
 * applied.  Not so in a replay: between where it began and where it ends, what the stream held
 * before is applied as far as the replay had come, and the rest would be applied too early.  So the
 * cursor goes back to where it was before the replay.  Nor does the stream's end tell enough in a
 * replay: somebody else's entry may stand beyond the cursor, and what the relay publishes above it
 * is again only what the stream lacked.  The entry at the cursor tells, which is kept when the
 * stream is trimmed; a cursor that has just jumped, as before, by what comes next.
 *
 * A stream without entries proves nothing: it is about to be filled again, from where the relay
 * believes every consumer to be.  The cursor is kept until there is an entry to compare it with.
 */
#ifndef UMAVEZ_CONSUMER_POSITION_H
#define UMAVEZ_CONSUMER_POSITION_H

#include "common/stream_id.h"

#include <stdbool.h>

struct replay {
	bool asked;
	struct stream_id ask;
	bool answered; /* the newest answer, perhaps to an older question */
	struct stream_id answer_to;
	bool again; /* everything after answer_to comes again under tick; else nothing is missing */
	uint64_t tick;
};

/* The first entry after <tick>-0, of an answer that names a tick. */
enum replay_seen {
	REPLAY_NOTHING, /* there is none yet */
	REPLAY_ROW,     /* a message, and of that tick */
	REPLAY_OTHER,
};

struct standing {
	bool has_group;
	struct stream_id bookmark; /* with has_group */
	struct replay replay;
	enum replay_seen replay_seen;
	struct stream_id cursor;
	bool replaying; /* the cursor may be in a replay that began when it was at replay_from */
	struct stream_id replay_from;
	bool replay_stands; /* with replaying: the stream has what it had at the cursor */
	struct stream_id stream_first; /* its oldest entry; 0-0: none */
	struct stream_id stream_end;   /* 0-0: empty or missing */
};

enum position_action {
	POSITION_READ,       /* read on from `at`, the cursor */
	POSITION_IDLE,       /* nothing to read: look again when there is an entry */
	POSITION_MAKE_GROUP, /* create the group at the beginning, and look again */
	POSITION_RESTART,    /* the stream lost its end: set bookmark, then cursor, back to 0-0 */
	POSITION_RETURN, /* it lost a replay: ask again from `at`, and set the cursor back to it */
	POSITION_ASK,    /* commits were lost: set the bookmark back to `at` and ask for a replay */
	POSITION_AWAIT,  /* asked; no answer yet */
	POSITION_JUMP,   /* the answer: move the cursor to `at` */
	POSITION_FORGET, /* the question is answered, or of the past: remove it */
};

struct position {
	enum position_action action;
	struct stream_id at;
};

struct position position_next(const struct standing *s);

/* The two texts of the hash. False: not in the form above, and to be treated as absent. */
bool replay_set_ask(struct replay *r, const char *text);
bool replay_set_answer(struct replay *r, const char *text);

#endif
