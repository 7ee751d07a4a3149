#include "relay/batch.h"

#include "common/memory.h"
#include "relay/row.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct row {
	PGresult *res;
	struct stream_id id;
	char time[ROW_TIME_SIZE];
};

struct batch {
	struct row *rows;
	size_t n, max;
	size_t bytes;
	double oldest;
};

struct batch *batch_new(size_t max_rows)
{
	struct batch *b = mem_zalloc(1, sizeof(*b));

	b->max = max_rows;
	b->rows = mem_zalloc(max_rows, sizeof(*b->rows));
	return b;
}

void batch_free(struct batch *b)
{
	if (!b)
		return;
	batch_clear(b);
	free(b->rows);
	free(b);
}

void batch_clear(struct batch *b)
{
	for (size_t i = 0; i < b->n; i++)
		PQclear(b->rows[i].res);
	b->n = 0;
	b->bytes = 0;
}

bool batch_full(const struct batch *b)
{
	return b->n == b->max || b->bytes >= BATCH_BYTES;
}

size_t batch_room(const struct batch *b)
{
	return b->max - b->n;
}

size_t batch_rows(const struct batch *b)
{
	return b->n;
}

void batch_add(struct batch *b, PGresult *row, struct stream_id id)
{
	double created_at = row_created_at(row);
	struct row *last;

	assert(!batch_full(b));
	assert(b->n == 0 || stream_id_compare(batch_last(b), id) < 0);
	if (b->n == 0 || created_at < b->oldest)
		b->oldest = created_at;
	last = &b->rows[b->n++];
	last->res = row;
	last->id = id;
	row_time(row, last->time);
	b->bytes += (size_t)row_size(row);
}

struct stream_id batch_first(const struct batch *b)
{
	return batch_id(b, 0);
}

struct stream_id batch_last(const struct batch *b)
{
	return batch_id(b, b->n - 1);
}

double batch_oldest(const struct batch *b)
{
	return b->oldest;
}

struct stream_id batch_id(const struct batch *b, size_t i)
{
	assert(i < b->n);
	return b->rows[i].id;
}

struct event_text batch_field(const struct batch *b, size_t i, enum event_field field)
{
	assert(i < b->n && field < EVENT_ROW_FIELDS);
	const struct row *row = &b->rows[i];

	if (field == EVENT_TIME)
		return (struct event_text){row->time, strlen(row->time)};
	return row_field(row->res, field);
}
