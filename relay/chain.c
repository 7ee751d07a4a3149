#include "relay/chain.h"

#include "common/event.h"
#include "common/memory.h"
#include "common/pg.h"
#include "common/redis.h"
#include "common/utf8.h"
#include "relay/row.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

/* Most ticks have no more.  A statement that gives them is held by the server as a whole. */
#define FEW_ROWS 100

static struct stream_id position_at(const PGresult *res, const char *tick, const char *id)
{
	return (struct stream_id){pg_uint(res, 0, tick), pg_uint(res, 0, id)};
}

/* 0-0 for tick 0. */
static struct stream_id end_of_tick(const PGresult *res, const char *column)
{
	uint64_t tick = pg_uint(res, 0, column);

	return tick == 0 ? STREAM_ID_ZERO : (struct stream_id){tick, INT64_MAX};
}

int chain_look(struct db *db, struct chain *ret_chain, struct err *err)
{
	PGresult *res = NULL;
	int rc = -1;

	if (db_run(db, DB_CHAIN, NULL, &res, err) < 0)
		goto done;
	if (PQntuples(res) == 0) {
		err_set(err, ERR_MISMATCH, "the shard has no chain of ticks: run umavez migrate");
		goto done;
	}
	*ret_chain = (struct chain){
	    .last_tick = pg_int(res, 0, "last_tick"),
	    .has_acknowledged = pg_text(res, 0, "acknowledged_tick") != NULL,
	    .acknowledged = position_at(res, "acknowledged_tick", "acknowledged_id"),
	    .now_ms = pg_int(res, 0, "now_ms"),
	};
	ret_chain->oldest = end_of_tick(res, "oldest_tick");
	ret_chain->released = end_of_tick(res, "released_tick");
	rc = 0;
done:
	PQclear(res);
	return rc;
}

/* A column of a row in binary format. */
static const char *column(const PGresult *row, const char *name)
{
	int i = PQfnumber(row, name);

	return PQgetisnull(row, 0, i) ? NULL : PQgetvalue(row, 0, i);
}

static bool is_true(const PGresult *row, const char *name)
{
	return *column(row, name) != 0;
}

/* What each row of tick.sql and branch.sql says of the tick. */
static int read_cut(const PGresult *row, enum cut *ret_cut, int64_t *ret_tick, struct err *err)
{
	const char *tick = column(row, "tick");
	uint64_t net;

	if (!is_true(row, "nests"))
		return err_set(err, ERR_MISMATCH,
		    "PostgreSQL's transactions do not follow from the last tick's snapshot: this "
		    "is another cluster, or a restored one");
	if (is_true(row, "moved")) {
		*ret_cut = CUT_RACED;
	} else if (!is_true(row, "due")) {
		*ret_cut = CUT_NOTHING;
	} else if (!tick) {
		*ret_cut = CUT_RACED;
	} else {
		*ret_cut = is_true(row, "has_rows") ? CUT_TICK : CUT_EMPTY;
		memcpy(&net, tick, sizeof(net));
		*ret_tick = (int64_t)be64toh(net);
	}
	return 0;
}

/* One row of the answer; *row is taken over if it is added to rows. */
static int take_cut(
    PGresult **row, struct batch *rows, enum cut *ret_cut, int64_t *ret_tick, struct err *err)
{
	if (read_cut(*row, ret_cut, ret_tick, err) < 0)
		return -1;
	if (*ret_cut != CUT_TICK || !rows || !row_there(*row))
		return 0;
	batch_add(rows, *row, (struct stream_id){(uint64_t)*ret_tick, (uint64_t)row_id(*row)});
	*row = NULL; /* the batch's now */
	return 0;
}

/* The tick is durable, and its rows may be used, only when the last row has been followed by the
 * end of the statement. */
static int cut(struct db *db, enum db_statement statement, struct db_args *args, struct batch *rows,
    enum cut *ret_cut, int64_t *ret_tick, struct err *err)
{
	bool any = false;

	if (db_send(db, statement, args, err) < 0)
		return -1;
	for (;;) {
		PGresult *row;
		int rc;

		if (db_row(db, &row, err) < 0)
			return -1;
		if (!row)
			break;
		any = true;
		rc = take_cut(&row, rows, ret_cut, ret_tick, err);
		PQclear(row);
		if (rc < 0)
			return -1;
	}
	if (!any)
		return err_set(
		    err, ERR_MISMATCH, "the shard has no chain of ticks: run umavez migrate");
	return 0;
}

int chain_cut(struct db *db, int64_t last_tick, int64_t least, int64_t max_bytes,
    struct batch *rows, enum cut *ret_cut, int64_t *ret_tick, struct err *err)
{
	struct db_args args = {.n = 0};
	size_t room = batch_room(rows);

	db_arg_int(&args, last_tick);
	db_arg_int(&args, least);
	db_arg_int(&args, room < FEW_ROWS ? (int64_t)room : FEW_ROWS);
	db_arg_int(&args, max_bytes < BATCH_BYTES ? max_bytes : BATCH_BYTES);
	return cut(db, DB_TICK, &args, rows, ret_cut, ret_tick, err);
}

int chain_branch(struct db *db, int64_t last_tick, int64_t least, struct stream_id from,
    bool replay, enum cut *ret_cut, int64_t *ret_tick, struct err *err)
{
	struct db_args args = {.n = 0};

	db_arg_int(&args, last_tick);
	db_arg_int(&args, least);
	db_arg_int(&args, stream_id_bigint(from.ms));
	db_arg_int(&args, stream_id_bigint(from.seq));
	db_arg_bool(&args, replay);
	return cut(db, DB_BRANCH, &args, NULL, ret_cut, ret_tick, err);
}

int chain_next(struct db *db, int64_t tick, int64_t *ret_tick, struct err *err)
{
	struct db_args args = {.n = 0};
	PGresult *res = NULL;

	db_arg_int(&args, tick);
	if (db_run(db, DB_NEXT_TICK, &args, &res, err) < 0)
		return -1;
	*ret_tick = PQntuples(res) > 0 ? pg_int(res, 0, "tick") : 0;
	PQclear(res);
	return 0;
}

int chain_first_after(
    struct db *db, struct stream_id after, struct stream_id *ret_position, struct err *err)
{
	struct db_args args = {.n = 0};
	PGresult *res = NULL;

	db_arg_int(&args, stream_id_bigint(after.ms));
	db_arg_int(&args, stream_id_bigint(after.seq));
	if (db_run(db, DB_FIRST_AFTER, &args, &res, err) < 0)
		return -1;
	*ret_position = PQntuples(res) > 0 ? position_at(res, "tick", "id") : STREAM_ID_ZERO;
	PQclear(res);
	return 0;
}

int chain_know(struct db *db, struct stream_id position, struct stream_id first,
    struct chain_place *ret_place, struct err *err)
{
	struct db_args args = {.n = 0};
	PGresult *res = NULL;

	db_arg_int(&args, stream_id_bigint(position.ms));
	db_arg_int(&args, stream_id_bigint(position.seq));
	db_arg_int(&args, stream_id_bigint(first.ms));
	db_arg_int(&args, stream_id_bigint(first.seq));
	if (db_run(db, DB_KNOWN, &args, &res, err) < 0)
		return -1;
	*ret_place = (struct chain_place){.known = pg_bool(res, 0, "known"),
	    .is_void = pg_bool(res, 0, "void"),
	    .lacks = pg_bool(res, 0, "lacks")};
	PQclear(res);
	return 0;
}

int chain_note_gap(struct db *db, struct stream_id after, struct stream_id oldest, struct err *err)
{
	struct db_args args = {.n = 0};

	db_arg_int(&args, stream_id_bigint(after.ms));
	db_arg_int(&args, stream_id_bigint(after.seq));
	db_arg_int(&args, stream_id_bigint(oldest.ms));
	return db_run(db, DB_NOTE_GAP, &args, NULL, err);
}

/* The columns of owns.sql, and for each row which entry it is. */
struct candidates {
	struct pg_array ticks, ids, sources, message_ids;
	int *entry;
};

static bool storable(const redisReply *text)
{
	return text && text->type == REDIS_REPLY_STRING && utf8_valid(text->str, text->len) &&
	       !memchr(text->str, '\0', text->len);
}

/* What cannot be in the database is not asked for: it is not ours. */
static bool add_candidate(struct candidates *c, const redisReply *entry)
{
	const redisReply *source, *message_id;
	struct stream_id id;

	if (!event_entry_id(entry, &id))
		return false;
	source = redis_field(entry->element[1], event_field_names[EVENT_SOURCE]);
	message_id = redis_field(entry->element[1], event_field_names[EVENT_ID]);
	if (id.ms > INT64_MAX || id.seq > INT64_MAX || !storable(source) || !storable(message_id))
		return false;
	pg_array_int(&c->ticks, (int64_t)id.ms);
	pg_array_int(&c->ids, (int64_t)id.seq);
	pg_array_bytes(&c->sources, source->str, source->len);
	pg_array_bytes(&c->message_ids, message_id->str, message_id->len);
	return true;
}

static int index_of(const struct candidates *c, const PGresult *res, const char *column)
{
	return pg_text(res, 0, column) ? c->entry[pg_int(res, 0, column)] : -1;
}

static int ask_own(
    struct db *db, struct candidates *c, int *ret_own, int *ret_stray, struct err *err)
{
	struct db_args args = {.n = 0};
	PGresult *res = NULL;

	db_arg_array(&args, &c->ticks);
	db_arg_array(&args, &c->ids);
	db_arg_array(&args, &c->sources);
	db_arg_array(&args, &c->message_ids);
	if (db_run(db, DB_OWNS, &args, &res, err) < 0)
		return -1;
	*ret_own = index_of(c, res, "own");
	*ret_stray = index_of(c, res, "stray");
	PQclear(res);
	return 0;
}

int chain_find_own(
    struct db *db, const redisReply *entries, int *ret_own, int *ret_stray, struct err *err)
{
	struct candidates c;
	int64_t n = 0;
	int rc = -1;

	pg_array_init(&c.ticks, PG_INT8);
	pg_array_init(&c.ids, PG_INT8);
	pg_array_init(&c.sources, PG_TEXT);
	pg_array_init(&c.message_ids, PG_TEXT);
	c.entry = mem_zalloc(entries->elements + 1, sizeof(*c.entry));
	for (size_t i = 0; i < entries->elements; i++) {
		if (add_candidate(&c, entries->element[i]))
			c.entry[++n] = (int)i;
	}
	*ret_own = *ret_stray = -1;
	if (n > 0 && ask_own(db, &c, ret_own, ret_stray, err) < 0)
		goto done;
	rc = 0;
done:
	pg_array_done(&c.ticks);
	pg_array_done(&c.ids);
	pg_array_done(&c.sources);
	pg_array_done(&c.message_ids);
	free(c.entry);
	return rc;
}
