/*
 * effects_db.h - the effects schema, and the witness's, in a database of its own that can be copied
 * away and put back.
 */
#ifndef UMAVEZ_TESTS_CRASH_EFFECTS_DB_H
#define UMAVEZ_TESTS_CRASH_EFFECTS_DB_H

#include "common/stream_id.h"
#include "tests/support/world.h"

#include <stdbool.h>
#include <stdint.h>

struct effects_db;

struct effects_db *effects_db_open(struct world *w);
/* On the PostgreSQL server of another world, which must be migrated and outlive it. */
struct effects_db *effects_db_open_on(struct world *w, struct world *server);
void effects_db_close(struct effects_db *d);

const char *effects_db_url(const struct effects_db *d); /* for consumers: their role */

/* Sessions are ended for it: consumers lose theirs, as in an outage. */
void effects_db_backup(struct effects_db *d, const char *name);
void effects_db_restore(struct effects_db *d, const char *name);

/* One statement as its owner. */
void effects_db_run(const struct effects_db *d, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Up to where a shard is applied. */
struct stream_id effects_db_cursor(const struct effects_db *d, unsigned shard);

/* Until there is an inbox row for every outbox row. */
bool effects_db_await_applied(struct effects_db *d, int64_t timeout_ms);

/* Copy all rows into the tables of the world's main database, for the invariants to look at. */
void effects_db_gather(struct effects_db *d);

#endif
