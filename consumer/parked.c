#include "consumer/parked.h"

#include "common/clock.h"
#include "common/event.h"
#include "common/failpoint.h"
#include "common/memory.h"
#include "common/pg.h"
#include "common/utf8.h"
#include "consumer/batch.h"
#include "consumer/inbox_private.h"
#include "consumer_text.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An error as texts that every database takes: they may have been cut within a character. */
struct reason {
	char text[sizeof(((struct err *)NULL)->message) + 8];
	char context[sizeof(((struct err *)NULL)->context)];
};

static void cut_to_utf8(char *text)
{
	size_t len, left = strlen(text);
	uint32_t code;

	for (; left > 0; text += len, left -= len) {
		len = utf8_decode(text, left, &code);
		if (len == 0) {
			*text = '\0';
			break;
		}
	}
}

static void reason_of(const struct err *err, struct reason *ret)
{
	snprintf(ret->text, sizeof(ret->text), "%s%s%s", err->sqlstate, *err->sqlstate ? ": " : "",
	    err->message);
	cut_to_utf8(ret->text);
	snprintf(ret->context, sizeof(ret->context), "%s", err->context);
	cut_to_utf8(ret->context);
}

/* NULL: the database said nothing besides. */
static const char *context_of(const struct reason *reason)
{
	return *reason->context ? reason->context : NULL;
}

/* A statement that gives a row if it has moved something. */
static int move(
    struct inbox *b, const char *sql, int n, const char *const *params, bool *ret, struct err *err)
{
	PGresult *res = NULL;

	if (pg_run(b->conn, sql, n, params, &res, err) < 0)
		return -1;
	*ret = PQntuples(res) == 1;
	PQclear(res);
	return 0;
}

static int take(const PGresult *res, struct parked *ret, struct err *err)
{
	if (!parked_state_parse(pg_text(res, 0, "state"), &ret->state) ||
	    !stream_id_parse(pg_text(res, 0, "stream_id"), &ret->stream_id))
		return err_set(err, ERR_FATAL, "effects.parked: %s/%s: state or stream_id",
		    pg_text(res, 0, "source"), pg_text(res, 0, "message_id"));
	ret->source = mem_strdup(pg_text(res, 0, "source"));
	ret->message_id = mem_strdup(pg_text(res, 0, "message_id"));
	ret->subject = mem_strdup(pg_text(res, 0, "subject"));
	ret->starts = (unsigned)pg_int(res, 0, "starts");
	ret->wait_ms = pg_int(res, 0, "wait_ms");
	return 0;
}

int parked_next(struct inbox *b, struct parked *ret_parked, struct err *err)
{
	const char *params[] = {b->options->consumer, b->shard_text};
	struct parked p = {.source = NULL};
	PGresult *res = NULL;
	int rc = -1;

	if (pg_run(b->conn, consumer_sql_parked_next_sql, 2, params, &res, err) < 0)
		return -1;
	if (PQntuples(res) == 1 && take(res, &p, err) < 0)
		goto done;
	*ret_parked = p;
	rc = 0;
done:
	PQclear(res);
	return rc;
}

void parked_done(struct parked *p)
{
	free(p->source);
	free(p->message_id);
	free(p->subject);
	*p = (struct parked){.source = NULL};
}

int parked_add(struct inbox *b, struct stream_id from, const struct batch *batch,
    const struct parking *parking, const struct err *why, bool *ret_moved, struct err *err)
{
	const struct event *event = &batch->events[0];
	char from_text[STREAM_ID_SIZE], to_text[STREAM_ID_SIZE], at_text[STREAM_ID_SIZE];
	char published[CLOCK_RFC3339_SIZE], read_at[CLOCK_RFC3339_SIZE];
	char starts[PG_NUMBER_SIZE], wait_ms[PG_NUMBER_SIZE];
	struct reason reason;
	int64_t published_ms;
	bool is_published = batch_published_at(event, &published_ms);
	size_t len;
	char *json = event_to_json(event, &len);
	int rc = -1;

	assert(batch->n == 1);
	if (is_published)
		clock_rfc3339(published_ms, published);
	clock_rfc3339(batch->read_at, read_at);
	reason_of(why, &reason);
	const char *const params[] = {b->options->consumer, b->shard_text,
	    stream_id_format(from, from_text), stream_id_format(batch->last, to_text),
	    stream_id_format(event->stream_id, at_text), event->field[EVENT_SOURCE].s,
	    event->field[EVENT_ID].s, event->field[EVENT_SUBJECT].s,
	    event->field[EVENT_TRACEPARENT].s, is_published ? published : NULL, read_at, json,
	    parked_state_name(parking->state), pg_number(starts, parking->starts),
	    pg_number(wait_ms, parking->wait_ms), reason.text, context_of(&reason)};
	/* Durable: that it was started, if it was alone. A restart reads it again from the cursor.
	 */
	if (FAILPOINT_ERR("consumer.before_park", err) < 0)
		goto done;
	b->handler_ran = false;
	if (move(b, consumer_sql_parked_add_sql, 17, params, ret_moved, err) < 0)
		goto done;
	/* Durable: the parked message, and the cursor behind it. A restart goes on there. */
	rc = FAILPOINT_ERR("consumer.after_park", err);
done:
	free(json);
	return rc;
}

int parked_start(
    struct inbox *b, struct parked *p, int64_t wait_ms, bool *ret_moved, struct err *err)
{
	char starts[PG_NUMBER_SIZE], wait[PG_NUMBER_SIZE];
	const char *params[] = {b->options->consumer, b->shard_text, p->source, p->message_id,
	    pg_number(starts, p->starts), pg_number(wait, wait_ms)};

	b->handler_ran = false;
	if (move(b, consumer_sql_parked_start_sql, 6, params, ret_moved, err) < 0)
		return -1;
	if (*ret_moved)
		p->starts++;
	/* Durable: that it was started once more, and when it is due should this be all. */
	return FAILPOINT_ERR("consumer.after_start", err);
}

static int release_and_commit(
    struct inbox *b, const struct parked *p, bool *ret_moved, struct err *err)
{
	char starts[PG_NUMBER_SIZE];
	const char *params[] = {b->options->consumer, b->options->instance, b->shard_text,
	    p->source, p->message_id, pg_number(starts, p->starts), b->options->handler};

	if (pg_exec(b->conn, "BEGIN", err) < 0)
		return -1;
	b->handler_ran = true;
	if (move(b, consumer_sql_parked_release_sql, 7, params, ret_moved, err) < 0 ||
	    inbox_check_encoding(b, err) < 0)
		return -1;
	/* Durable: its start. Inbox row, effects and what becomes of the parked rows are in one
	 * open transaction, which dies with its connection. */
	if (FAILPOINT_ERR("consumer.before_release", err) < 0)
		return -1;
	return *ret_moved ? pg_commit(b->conn, err) : pg_exec(b->conn, "ROLLBACK", err);
}

int parked_release(struct inbox *b, const struct parked *p, bool *ret_moved, struct err *err)
{
	b->handler_ran = false;
	if (release_and_commit(b, p, ret_moved, err) < 0) {
		inbox_roll_back(b);
		return -1;
	}
	/* Durable: everything. A restart finds the next of its subject due. */
	return FAILPOINT_ERR("consumer.after_release", err);
}

int parked_fail(struct inbox *b, const struct parked *p, const struct parking *parking,
    const struct err *why, bool *ret_moved, struct err *err)
{
	char starts[PG_NUMBER_SIZE], wait_ms[PG_NUMBER_SIZE];
	struct reason reason;
	reason_of(why, &reason);
	const char *params[] = {b->options->consumer, b->shard_text, p->source, p->message_id,
	    pg_number(starts, p->starts), parked_state_name(parking->state),
	    pg_number(wait_ms, parking->wait_ms), reason.text, context_of(&reason)};

	b->handler_ran = false;
	return move(b, consumer_sql_parked_fail_sql, 9, params, ret_moved, err);
}

int parked_failed(struct inbox *b, int64_t *ret_n, struct err *err)
{
	const char *params[] = {b->options->consumer, b->shard_text};
	PGresult *res = NULL;

	if (pg_run(b->conn, consumer_sql_parked_failed_sql, 2, params, &res, err) < 0)
		return -1;
	*ret_n = pg_int(res, 0, "n");
	PQclear(res);
	return 0;
}
