#include "relay/outbox.h"

#include "common/memory.h"
#include "relay/chain.h"
#include "relay/row.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/*
 *   between ticks ──next tick──▶ at a tick ──send──▶ reading ──last row──▶ between ticks
 *                                    ▲                  │
 *                                    └──────rest────────┘
 */
enum place { BETWEEN_TICKS, AT_TICK, READING };

struct outbox {
	struct db *db;
	int64_t max_event;
	enum place place;
	struct stream_id position; /* of the last row given */
	uint64_t last_tick;        /* where the chain is known to end */
	char obstacle[700];
};

struct outbox *outbox_new(struct db *db, int64_t max_event)
{
	struct outbox *o = mem_zalloc(1, sizeof(*o));

	o->db = db;
	o->max_event = max_event;
	o->last_tick = UINT64_MAX;
	return o;
}

void outbox_free(struct outbox *o)
{
	free(o);
}

void outbox_seek(struct outbox *o, struct stream_id position)
{
	assert(o->place != READING);
	o->position = position;
	o->place = AT_TICK; /* of which rows may be left */
}

void outbox_upto(struct outbox *o, int64_t last_tick)
{
	o->last_tick = (uint64_t)last_tick;
}

bool outbox_extend(struct outbox *o, int64_t tick, bool has_rows, struct stream_id last)
{
	bool at_end = o->place == BETWEEN_TICKS && o->position.ms >= o->last_tick;

	outbox_upto(o, tick);
	if (!at_end)
		return false;
	o->position = (struct stream_id){(uint64_t)tick, last.seq};
	if (has_rows && last.seq == 0)
		o->place = AT_TICK;
	return true;
}

void outbox_rest(struct outbox *o)
{
	if (o->place != READING)
		return;
	db_drop(o->db);
	o->place = AT_TICK;
}

/* *ret_stop: there is none yet. */
static int next_tick(struct outbox *o, bool *ret_stop, struct err *err)
{
	int64_t tick = 0;

	if (o->position.ms < o->last_tick &&
	    chain_next(o->db, (int64_t)o->position.ms, &tick, err) < 0)
		return -1;
	if (tick == 0) {
		*ret_stop = true;
		return 0;
	}
	o->position = (struct stream_id){(uint64_t)tick, 0};
	o->place = AT_TICK;
	return 0;
}

static int start_reading(struct outbox *o, struct err *err)
{
	struct db_args args = {.n = 0};

	db_arg_int(&args, (int64_t)o->position.ms);
	db_arg_int(&args, stream_id_bigint(o->position.seq));
	db_arg_int(&args, o->max_event);
	if (db_send(o->db, DB_READ, &args, err) < 0)
		return -1;
	o->place = READING;
	return 0;
}

static void note_obstacle(struct outbox *o, const PGresult *row)
{
	snprintf(o->obstacle, sizeof(o->obstacle),
	    "outbox row %" PRId64 " (source %s, message %s) has %" PRId64
	    " bytes, more than --max-event %" PRId64
	    ": nothing behind it is published until that is raised",
	    row_id(row), row_field(row, EVENT_SOURCE).s, row_field(row, EVENT_ID).s, row_size(row),
	    o->max_event);
}

/* False: it is too large, and stays where it is. Takes over row. */
static bool take_row(struct outbox *o, PGresult *row, struct batch *batch)
{
	if (!row_whole(row)) {
		note_obstacle(o, row);
		PQclear(row);
		return false;
	}
	o->position.seq = (uint64_t)row_id(row);
	batch_add(batch, row, o->position);
	return true;
}

/* Rows of the open query, until the tick ends; *ret_stop: the batch is full or a row too large. */
static int read_rows(struct outbox *o, struct batch *batch, bool *ret_stop, struct err *err)
{
	while (!batch_full(batch)) {
		PGresult *row;

		if (db_row(o->db, &row, err) < 0)
			return -1;
		if (!row) {
			o->place = BETWEEN_TICKS;
			return 0;
		}
		if (!take_row(o, row, batch)) {
			*ret_stop = true;
			outbox_rest(o);
			return 0;
		}
	}
	*ret_stop = true;
	return 0;
}

const char *outbox_obstacle(const struct outbox *o)
{
	return o->obstacle[0] ? o->obstacle : NULL;
}

int outbox_fill(struct outbox *o, struct batch *batch, struct err *err)
{
	bool stop = false;

	o->obstacle[0] = '\0';
	while (!stop) {
		int rc = 0;

		switch (o->place) {
		case BETWEEN_TICKS:
			rc = next_tick(o, &stop, err);
			break;
		case AT_TICK:
			rc = start_reading(o, err);
			break;
		case READING:
			rc = read_rows(o, batch, &stop, err);
			break;
		}
		if (rc < 0)
			return -1;
	}
	return 0;
}
