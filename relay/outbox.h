/*
 * outbox.h - the rows to publish, in the order of their positions: tick after tick, by id within
 * one.
 *
 * Rows are streamed, so memory does not grow with the backlog.  A query that is left open holds
 * back vacuum in the whole cluster: whoever is about to wait for something else calls
 * outbox_rest(), and the next outbox_fill() reads on from where it was.
 */
#ifndef UMAVEZ_RELAY_OUTBOX_H
#define UMAVEZ_RELAY_OUTBOX_H

#include "common/err.h"
#include "common/stream_id.h"
#include "relay/batch.h"
#include "relay/db.h"

struct outbox;

/* db is borrowed. max_event: the largest event that may be published, in bytes. */
struct outbox *outbox_new(struct db *db, int64_t max_event);
void outbox_free(struct outbox *o); /* NULL is fine; an open query goes with its session */

/* Go on after this position. No query may be open. */
void outbox_seek(struct outbox *o, struct stream_id position);

/*
 * Where the chain ends, as far as the caller knows; beyond it no tick is asked for.  At first it is
 * not known: ticks are asked for until there is none.
 */
void outbox_upto(struct outbox *o, int64_t last_tick);

/*
 * This tick was cut directly behind that end, and is the end now.  last: its last row, if the
 * caller has all of them already.  False: rows in front of it were not yet given, so it is read in
 * its turn.
 */
bool outbox_extend(struct outbox *o, int64_t tick, bool has_rows, struct stream_id last);

/*
 * Fill the empty batch with the next rows.  One that stays empty: the chain of ticks ends here, or
 * the next row is larger than max_event, and nothing may be published past it.
 */
int outbox_fill(struct outbox *o, struct batch *batch, struct err *err) warn_unused;

/* Why the last fill gave nothing, for people; NULL: the chain of ticks ended. */
const char *outbox_obstacle(const struct outbox *o);

/* Leave no query open; costs the session if one is. */
void outbox_rest(struct outbox *o);

#endif
