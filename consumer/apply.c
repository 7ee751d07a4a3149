#include "consumer/apply.h"

#include "common/clock.h"
#include "common/event.h"
#include "consumer/batch.h"
#include "consumer/inbox.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* In the order of effects.apply_batch(); read_at stands between the last two. */
enum {
	STREAM_IDS,
	FIRST_POSITIONS,
	SOURCES,
	MESSAGE_IDS,
	SUBJECTS,
	TRACEPARENTS,
	PUBLISHED_ATS,
	EVENTS
};
enum { FIRST_COLUMN = 6, READ_AT = FIRST_COLUMN + EVENTS, LAST_COLUMN = READ_AT + 1 };

static void add_field(struct pg_array *column, const struct event *event, enum event_field field)
{
	const struct event_text *text = &event->field[field];

	if (text->s)
		pg_array_bytes(column, text->s, text->len);
	else
		pg_array_null(column);
}

static void add_event(struct pg_array *columns, const struct event *event)
{
	char id[STREAM_ID_SIZE];
	int64_t published_at;
	size_t len;
	char *json = event_to_json(event, &len);

	pg_array_text(&columns[STREAM_IDS], stream_id_format(event->stream_id, id));
	pg_array_text(&columns[FIRST_POSITIONS], stream_id_format(batch_first_position(event), id));
	add_field(&columns[SOURCES], event, EVENT_SOURCE);
	add_field(&columns[MESSAGE_IDS], event, EVENT_ID);
	add_field(&columns[SUBJECTS], event, EVENT_SUBJECT);
	add_field(&columns[TRACEPARENTS], event, EVENT_TRACEPARENT);
	if (batch_published_at(event, &published_at))
		pg_array_time(&columns[PUBLISHED_ATS], published_at);
	else
		pg_array_null(&columns[PUBLISHED_ATS]);
	pg_array_bytes(&columns[EVENTS], json, len);
	free(json);
}

static void fill_columns(struct pg_array *columns, const struct batch *batch)
{
	for (int i = 0; i < APPLY_COLUMNS; i++)
		pg_array_init(&columns[i], i == PUBLISHED_ATS ? PG_TIMESTAMPTZ : PG_TEXT);
	for (size_t i = 0; i < batch->n; i++)
		add_event(columns, &batch->events[i]);
}

void apply_params_init(struct apply_params *ret_p, const struct inbox_options *options,
    const char *shard, struct stream_id from, const struct batch *batch)
{
	struct apply_params *p = ret_p;

	memset(p, 0, sizeof(*p));
	p->values[0] = options->consumer;
	p->values[1] = options->instance;
	p->values[2] = shard;
	p->values[3] = stream_id_format(from, p->from);
	p->values[4] = stream_id_format(batch->last, p->to);
	p->values[5] = options->handler;
	clock_rfc3339(batch->read_at, p->read_at);
	p->values[READ_AT] = p->read_at;
	fill_columns(p->columns, batch);
	for (int i = 0; i < APPLY_COLUMNS; i++) {
		int at = i == EVENTS ? LAST_COLUMN : FIRST_COLUMN + i;

		p->values[at] = pg_array_value(&p->columns[i], &p->lengths[at]);
		p->formats[at] = 1;
	}
}

void apply_params_done(struct apply_params *p)
{
	for (int i = 0; i < APPLY_COLUMNS; i++)
		pg_array_done(&p->columns[i]);
}
