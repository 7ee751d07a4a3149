/*
 * backlog.h - how much lies between two points of a message's way, counted by index in the outbox.
 *
 * Counts end at BACKLOG_MAX, so that a look at a system in trouble costs a bounded time.
 */
#ifndef UMAVEZ_CLI_BACKLOG_H
#define UMAVEZ_CLI_BACKLOG_H

#include "cli/stream.h"
#include "common/err.h"
#include "common/stream_id.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#define BACKLOG_MAX INT64_C(1000000)
#define BACKLOG_UNKNOWN (-1)

/* Rows that are committed and that the shard's last tick does not see. */
int backlog_unticked(
    PGconn *intake, unsigned shard, int64_t *ret_rows, struct err *err) warn_unused;

/* The same, and when the oldest of them was written, in ms since 1970; 0 when there is none. */
int backlog_oldest_unticked(PGconn *intake, unsigned shard, int64_t *ret_rows,
    int64_t *ret_oldest_ms, struct err *err) warn_unused;

/* Rows of ticks that stand after this position (0-0: all that are kept). */
int backlog_after(PGconn *intake, unsigned shard, struct stream_id position, int64_t *ret_rows,
    struct err *err) warn_unused;

/* The same, and when the oldest of them was written, in ms since 1970; 0 when there is none. */
int backlog_oldest_after(PGconn *intake, unsigned shard, struct stream_id position,
    int64_t *ret_rows, int64_t *ret_oldest_ms, struct err *err) warn_unused;

/* Whether an entry stands for a row of this outbox, or is foreign. */
int backlog_owns(PGconn *intake, unsigned shard, const struct stream_entry *entry, bool *ret_own,
    struct err *err) warn_unused;

/* Where a relay goes on when the stream is empty: the lowest acknowledged position, or 0-0. */
int backlog_acknowledged(
    PGconn *intake, unsigned shard, struct stream_id *ret_position, struct err *err) warn_unused;

#endif
