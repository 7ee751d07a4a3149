#include "relay/batch.h"

#include "common/memory.h"

#include <assert.h>
#include <stdlib.h>

struct row {
	PGresult *res;
	struct stream_id id;
};

struct batch {
	struct row *rows;
	size_t n, max;
	size_t bytes;
	double oldest;
};

static const char *const columns[EVENT_ROW_FIELDS] = {
    [EVENT_ID] = "message_id",
    [EVENT_SOURCE] = "source",
    [EVENT_TYPE] = "type",
    [EVENT_SUBJECT] = "subject",
    [EVENT_TIME] = "time",
    [EVENT_TRACEPARENT] = "traceparent",
    [EVENT_DATA] = "data",
    [EVENT_FIRST_POSITION] = "first_position",
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

size_t batch_rows(const struct batch *b)
{
	return b->n;
}

void batch_add(struct batch *b, PGresult *row, struct stream_id id, size_t bytes, double created_at)
{
	assert(!batch_full(b));
	assert(b->n == 0 || stream_id_compare(batch_last(b), id) < 0);
	if (b->n == 0 || created_at < b->oldest)
		b->oldest = created_at;
	b->rows[b->n++] = (struct row){row, id};
	b->bytes += bytes;
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
	const PGresult *res = b->rows[i].res;
	int column = PQfnumber(res, columns[field]);

	assert(column >= 0);
	return (struct event_text){PQgetvalue(res, 0, column), (size_t)PQgetlength(res, 0, column)};
}
