/*
 * db.h - one shard's PostgreSQL session: what every statement of the relay runs on.
 *
 * The statements are those of relay/sql, prepared once a session.  Their plans must not depend on
 * statistics, which are stale on tables that only grow: see the session's settings.  Any error
 * leaves the session to be closed.
 */
#ifndef UMAVEZ_RELAY_DB_H
#define UMAVEZ_RELAY_DB_H

#include "common/err.h"
#include "common/pg_array.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

struct db;

enum db_statement {
	DB_TICK,
	DB_BRANCH,
	DB_READ,
	DB_NEXT_TICK,
	DB_FIRST_AFTER,
	DB_KNOWN,
	DB_OWNS,
	DB_CHAIN,
	DB_REGISTER,
	DB_ACKNOWLEDGE,
	DB_LIFT_FLOOR,
	DB_NOTE_GAP,
	DB_STATEMENTS
};

/*
 * How long the server may say nothing, in ms, before the session counts as dead: something on the
 * way may still acknowledge what nobody reads any longer.  The least is beyond the lock timeout,
 * and long for every statement but those that look at all rows of a tick, which sort them before
 * they give the first one; the most is what the server allows any.
 */
#define DB_SILENCE_MIN_MS 12000
#define DB_SILENCE_MAX_MS 300000

/* Connect, refuse another schema or cluster (ERR_MISMATCH), prepare, listen for wake-ups. url is
 * borrowed until db_close().  Whatever waits for the server ends when the service is stopping, or
 * has waited silence_ms for the answer to a statement or a row of it (ERR_RETRY). */
int db_open(const char *url, unsigned shard, int64_t silence_ms, struct db **ret_db,
    struct err *err) warn_unused;
void db_close(struct db *db); /* NULL is fine */
void db_allow_silence(struct db *db, int64_t ms);
/* The last error was that the server said nothing for so long. */
bool db_was_silent(const struct db *db);

/* The number of shards of this deployment, after the same checks. */
int db_shards(const char *url, unsigned *ret_shards, struct err *err) warn_unused;

/* Parameters in the order of the statement; those that take the shard get it by themselves, first.
 */
struct db_args {
	int n;
	char text[6][24];
	const char *values[6];
	int lens[6];
	int formats[6];
};
void db_arg_int(struct db_args *args, int64_t value);
void db_arg_bool(struct db_args *args, bool value);
void db_arg_array(
    struct db_args *args, struct pg_array *array); /* borrowed until the call is done */

/* Run to the end; *ret_res (may be NULL) is the caller's. args NULL: none. */
int db_run(struct db *db, enum db_statement statement, struct db_args *args, PGresult **ret_res,
    struct err *err) warn_unused;

/* Start a statement whose rows come one by one from db_row(). */
int db_send(
    struct db *db, enum db_statement statement, struct db_args *args, struct err *err) warn_unused;
/* The next row, the caller's; NULL: no more, and the statement is done. */
int db_row(struct db *db, PGresult **ret_row, struct err *err) warn_unused;
/* End a started statement early.  Not by a cancel request, in which libpq 15 waits for the server
 * without a limit: the session is closed, which ends the statement too, and the next verb opens it
 * again.  Wake-ups may be lost, so the next db_wait() says that there was one. */
void db_drop(struct db *db);

/* Wait at most ms for a wake-up, or until stop_fd is readable. 1: woken up; 0: not. */
int db_wait(struct db *db, int stop_fd, int64_t ms, struct err *err) warn_unused;
/* Forget wake-ups that have arrived: what they told of is looked at next. */
void db_drain_wakeups(struct db *db);

#endif
