/*
 * row.h - one row of sql/read.sql, or of sql/tick.sql, in PostgreSQL's binary format, which takes
 * neither server nor relay the time that text does: integers in network order, times in
 * microseconds since 2000.
 * https://www.postgresql.org/docs/15/protocol-overview.html#PROTOCOL-FORMAT-CODES
 */
#ifndef UMAVEZ_RELAY_ROW_H
#define UMAVEZ_RELAY_ROW_H

#include "common/event.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

/* Of tick.sql: whether there is an outbox row in it at all. */
bool row_there(const PGresult *row);

int64_t row_id(const PGresult *row);
int64_t row_size(const PGresult *row);      /* in bytes, all fields together */
bool row_whole(const PGresult *row);        /* false: too large, and cut short */
double row_created_at(const PGresult *row); /* seconds since 1970 */

/* As it is in the row, which keeps it; absent fields are empty.  Not for EVENT_TIME. */
struct event_text row_field(const PGresult *row, enum event_field field);

/* "2026-01-01T00:00:00.123456Z", or "infinity" or "-infinity". */
#define ROW_TIME_SIZE 48
void row_time(const PGresult *row, char ret_time[ROW_TIME_SIZE]);

#endif
