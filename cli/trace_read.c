#include "cli/backlog.h"
#include "cli/sources.h"
#include "cli/trace.h"
#include "cli_text.h"
#include "common/event.h"
#include "common/memory.h"
#include "common/pg.h"

#include <stdlib.h>
#include <string.h>

static void consumer_done(struct trace_consumer *c)
{
	char *const texts[] = {c->name, c->holder, c->instance, c->xid, c->discarded, c->parked,
	    c->error, c->remark, c->ahead, c->ahead_state, c->ahead_error};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free(texts[i]);
}

void trace_done(struct trace *t)
{
	for (size_t i = 0; i < t->n_positions; i++)
		free(t->positions[i].relay);
	for (size_t i = 0; i < t->n_consumers; i++)
		consumer_done(&t->consumers[i]);
	char *const texts[] = {t->source, t->message_id, t->trace_id, t->kind, t->native_type,
	    t->remark, t->type, t->xid, t->first_position, t->relay, t->stream_problem};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free(texts[i]);
	free(t->positions);
	free(t->consumers);
	json_decref(t->purchase);
	*t = (struct trace){0};
}

static char *text(const PGresult *res, int row, const char *column)
{
	return mem_strdup(pg_text(res, row, column));
}

static int64_t time_ms(const PGresult *res, int row, const char *column)
{
	return pg_text(res, row, column) ? pg_int(res, row, column) : TRACE_UNKNOWN;
}

static struct stream_id id_of(const char *written)
{
	struct stream_id id = STREAM_ID_ZERO;

	if (written)
		stream_id_parse(written, &id);
	return id;
}

static void take_message(struct trace *t, const PGresult *res)
{
	const char *purchase = pg_text(res, 0, "purchase");

	t->is_notification = pg_bool(res, 0, "is_notification");
	t->is_emitted = pg_bool(res, 0, "is_emitted");
	t->has_row = pg_bool(res, 0, "has_row");
	t->kind = text(res, 0, "kind");
	t->is_quarantined = t->kind && strcmp(t->kind, "unrecognized") == 0;
	t->native_type = text(res, 0, "native_type");
	t->remark = text(res, 0, "remark");
	t->type = text(res, 0, "type");
	t->xid = text(res, 0, "xid");
	t->trace_id = text(res, 0, "trace_id");
	t->purchase = purchase ? json_loads(purchase, 0, NULL) : NULL;
	t->received_ms = time_ms(res, 0, "received_ms");
	t->committed_ms = time_ms(res, 0, "committed_ms");
	t->last_tick_ms = time_ms(res, 0, "last_tick_ms");
	t->now_ms = time_ms(res, 0, "now_ms");
	t->relay = text(res, 0, "relay");
	t->first_position = text(res, 0, "first_position");
	t->outbox_id = pg_int(res, 0, "outbox_id");
	if (t->has_row)
		t->shard = (unsigned)pg_uint(res, 0, "shard");
}

static int read_ticks(PGconn *intake, const char *outbox_id, struct trace *t, struct err *err)
{
	PGresult *res = NULL;

	if (pg_run(intake, cli_sql_trace_ticks_sql, 1, &outbox_id, &res, err) < 0)
		return -1;
	t->n_positions = (size_t)PQntuples(res);
	t->positions = mem_zalloc(t->n_positions, sizeof(*t->positions));
	for (size_t i = 0; i < t->n_positions; i++)
		t->positions[i] = (struct trace_position){
		    .id = {pg_uint(res, (int)i, "tick"), strtoull(outbox_id, NULL, 10)},
		    .ticked_ms = time_ms(res, (int)i, "at_ms"),
		    .published_ms = TRACE_UNKNOWN,
		};
	PQclear(res);
	return 0;
}

static int read_message(
    PGconn *intake, const struct trace_name *name, struct trace *t, struct err *err)
{
	char id[PG_NUMBER_SIZE];
	const char *params[] = {name->source, name->message_id,
	    name->outbox_id ? pg_number(id, name->outbox_id) : NULL};
	PGresult *res = NULL;
	int rc = -1;

	if (pg_run(intake, cli_sql_trace_message_sql, 3, params, &res, err) < 0)
		goto done;
	take_message(t, res);
	if (t->has_row) {
		rc = read_ticks(intake, pg_text(res, 0, "outbox_id"), t, err);
		goto done;
	}
	if (name->position.ms > 0) {
		t->shard = name->shard;
		t->n_positions = 1;
		t->positions = mem_zalloc(1, sizeof(*t->positions));
		t->positions[0] = (struct trace_position){.id = name->position,
		    .ticked_ms = TRACE_UNKNOWN,
		    .published_ms = TRACE_UNKNOWN};
	}
	rc = 0;
done:
	PQclear(res);
	return rc;
}

static struct trace_consumer take_consumer(const PGresult *res, int row)
{
	return (struct trace_consumer){
	    .name = text(res, row, "consumer"),
	    .holder = text(res, row, "holder"),
	    .has_cursor = pg_text(res, row, "cursor") != NULL,
	    .cursor = id_of(pg_text(res, row, "cursor")),
	    .lag_entries = BACKLOG_UNKNOWN,
	    .fate = FATE_WAITING,
	    .applied = pg_bool(res, row, "applied"),
	    .stream_id = id_of(pg_text(res, row, "stream_id")),
	    .published_ms = time_ms(res, row, "published_ms"),
	    .delivered_ms = time_ms(res, row, "delivered_ms"),
	    .applied_ms = time_ms(res, row, "applied_ms"),
	    .instance = text(res, row, "instance"),
	    .xid = text(res, row, "xid"),
	    .discarded = text(res, row, "discarded"),
	    .parked = text(res, row, "parked"),
	    .error = text(res, row, "error"),
	    .remark = text(res, row, "remark"),
	    .starts = pg_int(res, row, "starts"),
	    .parked_ms = time_ms(res, row, "parked_ms"),
	    .next_ms = time_ms(res, row, "next_ms"),
	    .ahead = text(res, row, "ahead"),
	    .ahead_state = text(res, row, "ahead_state"),
	    .ahead_error = text(res, row, "ahead_error"),
	};
}

static int read_consumers(PGconn *effects, const char *consumer, struct trace *t, struct err *err)
{
	char shard[PG_NUMBER_SIZE];
	bool has_shard = t->has_row || t->n_positions > 0;
	const char *params[] = {
	    t->source, t->message_id, has_shard ? pg_number(shard, t->shard) : NULL, consumer};
	PGresult *res = NULL;

	if (pg_run(effects, cli_sql_trace_consumers_sql, 4, params, &res, err) < 0)
		return -1;
	t->n_consumers = (size_t)PQntuples(res);
	t->consumers = mem_zalloc(t->n_consumers, sizeof(*t->consumers));
	for (size_t i = 0; i < t->n_consumers; i++)
		t->consumers[i] = take_consumer(res, (int)i);
	PQclear(res);
	return 0;
}

static int read_fates(struct sources *sources, struct trace *t, struct err *err)
{
	for (size_t i = 0; t->has_row && i < t->n_consumers; i++) {
		struct trace_consumer *c = &t->consumers[i];

		if (!c->applied && !c->parked &&
		    reconcile_fate(sources, t->outbox_id, c->name, &c->fate, err) < 0)
			return -1;
	}
	return 0;
}

/* The relay wrote it into the entry as RFC 3339; anything else is a time that nobody told. */
static int64_t parse_time(PGconn *conn, const char *written)
{
	struct err ignored = ERR_INIT;
	int64_t ms = TRACE_UNKNOWN;
	PGresult *res = NULL;

	if (written &&
	    pg_run(conn, "SELECT (extract(epoch FROM $1::timestamptz) * 1000)::bigint AS ms", 1,
		&written, &res, &ignored) == 0)
		ms = pg_int(res, 0, "ms");
	PQclear(res);
	return ms;
}

/* Whether the stream has it at this position, and who put it there. */
static int read_position(struct sources *sources, const char *key, const struct trace *t,
    struct trace_position *p, struct err *err)
{
	struct stream_entry entry = {0};
	bool found;

	if (stream_find(sources->redis, key, p->id, &found, &entry, err) < 0)
		return -1;
	if (found && entry.is_event && strcmp(entry.source, t->source) == 0 &&
	    strcmp(entry.message_id, t->message_id) == 0) {
		p->published = true;
		p->published_ms = parse_time(sources->intake, entry.published_at);
		p->relay = entry.relay;
		entry.relay = NULL; /* the position's now */
	}
	stream_entry_done(&entry);
	return 0;
}

static int read_stream(struct sources *sources, struct trace *t, struct err *err)
{
	char key[SOURCES_KEY_SIZE];

	if (sources_stream(sources, t->shard, key, err) < 0 ||
	    stream_look(sources->redis, key, &t->stream, err) < 0)
		return err_wrap(err, "%s", key);
	for (size_t i = 0; i < t->n_positions; i++) {
		if (read_position(sources, key, t, &t->positions[i], err) < 0)
			return err_wrap(err, "%s", key);
	}
	t->stream_known = true;
	return 0;
}

/* Entries between each cursor and the stream's end. */
static int read_lags(PGconn *intake, struct trace *t, struct err *err)
{
	int64_t after_cursor, after_end;

	if (!t->stream_known || !t->has_row)
		return 0;
	if (backlog_after(intake, t->shard, t->stream.last, &after_end, err) < 0)
		return -1;
	for (size_t i = 0; i < t->n_consumers; i++) {
		struct trace_consumer *c = &t->consumers[i];

		if (c->applied)
			continue;
		if (backlog_after(intake, t->shard, c->cursor, &after_cursor, err) < 0)
			return -1;
		c->lag_entries = after_cursor > after_end ? after_cursor - after_end : 0;
		if (c->lag_entries > t->stream.length)
			c->lag_entries = t->stream.length;
	}
	return 0;
}

int trace_read(struct sources *sources, const struct trace_name *name, const char *consumer,
    struct trace *ret_trace, struct err *err)
{
	struct trace t = {
	    .source = mem_strdup(name->source), .message_id = mem_strdup(name->message_id)};
	struct err redis_err = ERR_INIT;
	int rc = -1;

	if (read_message(sources->intake, name, &t, err) < 0 ||
	    read_consumers(sources->effects, consumer, &t, err) < 0 ||
	    read_fates(sources, &t, err) < 0)
		goto done;
	if (sources->redis && read_stream(sources, &t, &redis_err) < 0)
		sources_lose_redis(sources, &redis_err);
	if (!t.stream_known)
		t.stream_problem = mem_strdup(sources->redis_err.message);
	if (read_lags(sources->intake, &t, err) < 0)
		goto done;
	*ret_trace = t;
	t = (struct trace){0};
	rc = 0;
done:
	trace_done(&t);
	return rc;
}
