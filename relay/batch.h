/*
 * batch.h - the rows that go into one append.
 *
 * A row stays in the PGresult that it came in (single-row mode), so that nothing is copied.
 */
#ifndef UMAVEZ_RELAY_BATCH_H
#define UMAVEZ_RELAY_BATCH_H

#include "common/event.h"
#include "common/stream_id.h"

#include <libpq-fe.h>
#include <stdbool.h>
#include <stddef.h>

/* An append's payload; one more event may go beyond it. */
#define BATCH_BYTES (1 << 20)

struct batch;

struct batch *batch_new(size_t max_rows);
void batch_free(struct batch *b); /* NULL is fine */

void batch_clear(struct batch *b);
bool batch_full(const struct batch *b);
size_t batch_room(const struct batch *b); /* for so many rows more */
size_t batch_rows(const struct batch *b);

/* row (relay/row.h) is the batch's now; id must be above batch_last(). */
void batch_add(struct batch *b, PGresult *row, struct stream_id id);

/* Of a batch that has rows. */
struct stream_id batch_first(const struct batch *b);
struct stream_id batch_last(const struct batch *b);
double batch_oldest(
    const struct batch *b); /* when its oldest row was written; seconds since 1970 */

struct stream_id batch_id(const struct batch *b, size_t i);
/* Absent fields are empty. */
struct event_text batch_field(const struct batch *b, size_t i, enum event_field field);

#endif
