#include "consumer/inbox_private.h"

#include "common/failpoint.h"
#include "common/memory.h"
#include "common/pg.h"
#include "common/service.h"
#include "consumer/apply.h"
#include "consumer/batch.h"
#include "consumer_text.h"

#include <assert.h>
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* For one batch of handler calls. */
#define STATEMENT_TIMEOUT_MS 60000
/* A handler under way may come to its end; cut off, it would count as one that killed its session.
 */
#define STOP_MS 5000

int inbox_open(
    const struct inbox_options *options, unsigned shard, struct inbox **ret_inbox, struct err *err)
{
	struct inbox *b = mem_zalloc(1, sizeof(*b));
	char name[48];
	/* A consumer that is stopped inside its transaction holds the cursor's row lock: the server
	 * must throw it out before its lease ends, and its successor must wait for that. */
	const struct pg_session session = {.application_name = name,
	    .statement_timeout = STATEMENT_TIMEOUT_MS,
	    .lock_timeout = options->lease_ms,
	    .idle_in_transaction_timeout = options->lease_ms / 2,
	    .stop_fd = service_stop_fd(),
	    .stop_ms = STOP_MS};
	int rc = -1;

	b->options = options;
	b->shard = shard;
	snprintf(b->shard_text, sizeof(b->shard_text), "%u", shard);
	snprintf(name, sizeof(name), "umavez-consumer/%u", shard);
	if (pg_connect(options->database_url, &session, &b->conn, err) < 0 ||
	    pg_check_schema(b->conn, "effects", err) < 0)
		goto done;
	*ret_inbox = b;
	b = NULL; /* the caller's now */
	rc = 0;
done:
	inbox_close(b);
	return rc;
}

void inbox_close(struct inbox *b)
{
	if (!b)
		return;
	PQfinish(b->conn);
	free(b);
}

bool inbox_broken(const struct inbox *b)
{
	return PQstatus(b->conn) != CONNECTION_OK || PQtransactionStatus(b->conn) != PQTRANS_IDLE;
}

static int read_cursor(struct inbox *b, PGresult **ret_res, struct err *err)
{
	const char *params[] = {b->options->consumer, b->shard_text};

	return pg_run(b->conn, consumer_sql_cursor_read_sql, 2, params, ret_res, err);
}

static int make_cursor(struct inbox *b, struct err *err)
{
	const char *params[] = {b->options->consumer, b->shard_text};

	return pg_run(b->conn, consumer_sql_cursor_make_sql, 2, params, NULL, err);
}

int inbox_cursor(struct inbox *b, struct stream_id *ret_cursor, struct err *err)
{
	PGresult *res = NULL;
	int rc = -1;

	if (read_cursor(b, &res, err) < 0)
		goto done;
	if (PQntuples(res) == 0) {
		PQclear(res);
		res = NULL;
		if (make_cursor(b, err) < 0 || read_cursor(b, &res, err) < 0)
			goto done;
	}
	if (PQntuples(res) != 1 || !stream_id_parse(pg_text(res, 0, "stream_id"), ret_cursor)) {
		err_set(err, ERR_FATAL, "effects.cursor of %s, shard %u: not a stream ID",
		    b->options->consumer, b->shard);
		goto done;
	}
	rc = 0;
done:
	PQclear(res);
	return rc;
}

int inbox_move_cursor(
    struct inbox *b, struct stream_id from, struct stream_id to, bool *ret_moved, struct err *err)
{
	char from_text[STREAM_ID_SIZE], to_text[STREAM_ID_SIZE];
	const char *params[] = {b->options->consumer, b->shard_text,
	    stream_id_format(from, from_text), stream_id_format(to, to_text)};
	PGresult *res = NULL;

	if (pg_run(b->conn, consumer_sql_cursor_move_sql, 4, params, &res, err) < 0)
		return -1;
	*ret_moved = PQntuples(res) == 1;
	PQclear(res);
	return 0;
}

int inbox_start(struct inbox *b, struct stream_id from, struct stream_id at, unsigned most,
    unsigned *ret_starts, bool *ret_moved, struct err *err)
{
	char from_text[STREAM_ID_SIZE], at_text[STREAM_ID_SIZE], most_text[12];
	const char *params[] = {b->options->consumer, b->shard_text,
	    stream_id_format(from, from_text), stream_id_format(at, at_text), most_text};
	PGresult *res = NULL;

	b->handler_ran = false;
	snprintf(most_text, sizeof(most_text), "%u", most);
	if (pg_run(b->conn, consumer_sql_cursor_start_sql, 5, params, &res, err) < 0)
		return -1;
	*ret_moved = PQntuples(res) == 1;
	if (*ret_moved)
		*ret_starts = (unsigned)pg_int(res, 0, "starts");
	PQclear(res);
	/* Durable: that this message was started once more. A restart counts on. */
	return FAILPOINT_ERR("consumer.after_start", err);
}

static int run_apply(struct inbox *b, struct stream_id from, const struct batch *batch,
    struct inbox_outcome *ret, struct err *err)
{
	struct apply_params p;
	const struct pg_params params = {APPLY_PARAMS, p.values, p.lengths, p.formats};
	PGresult *res = NULL;
	int rc = -1;

	apply_params_init(&p, b->options, b->shard_text, from, batch);
	if (pg_run_params(b->conn, consumer_sql_apply_sql, &params, &res, err) < 0)
		goto done;
	ret->moved = pg_text(res, 0, "applied") != NULL;
	ret->applied = (size_t)pg_int(res, 0, "applied");
	ret->held = (size_t)pg_int(res, 0, "held");
	rc = 0;
done:
	PQclear(res);
	apply_params_done(&p);
	return rc;
}

int inbox_check_encoding(struct inbox *b, struct err *err)
{
	const char *encoding = PQparameterStatus(b->conn, "client_encoding");

	if (encoding && strcmp(encoding, "UTF8") == 0)
		return 0;
	err_set(err, ERR_REJECT, "the handler changed client_encoding to %s",
	    encoding ? encoding : "nothing");
	snprintf(err->sqlstate, sizeof(err->sqlstate), "22021");
	return -1;
}

static int apply_and_commit(struct inbox *b, struct stream_id from, const struct batch *batch,
    struct inbox_outcome *ret, struct err *err)
{
	if (pg_exec(b->conn, "BEGIN", err) < 0)
		return -1;
	/* Durable: nothing of this batch. A restart reads it again from the cursor. */
	if (FAILPOINT_ERR("consumer.before_inbox", err) < 0)
		return -1;
	b->handler_ran = true;
	if (run_apply(b, from, batch, ret, err) < 0 || inbox_check_encoding(b, err) < 0)
		return -1;
	/* Durable: nothing. Inbox rows, effects and cursor are in one open transaction, which dies
	 * with its connection. */
	if (FAILPOINT_ERR("consumer.after_effect", err) < 0)
		return -1;
	if (!ret->moved)
		return pg_exec(b->conn, "ROLLBACK", err);
	/* Durable: nothing; the last moment at which that is certain. From here on the stored
	 * cursor tells whether the batch was committed. */
	if (FAILPOINT_ERR("consumer.before_commit", err) < 0)
		return -1;
	return pg_commit(b->conn, err);
}

void inbox_roll_back(struct inbox *b)
{
	struct err ignored = ERR_INIT;

	if (PQtransactionStatus(b->conn) == PQTRANS_IDLE)
		return;
	if (pg_exec(b->conn, "ROLLBACK", &ignored) < 0)
		return;
}

int inbox_apply(struct inbox *b, struct stream_id from, const struct batch *batch,
    struct inbox_outcome *ret_outcome, struct err *err)
{
	struct inbox_outcome outcome = {.moved = false};

	b->handler_ran = false;
	if (apply_and_commit(b, from, batch, &outcome, err) < 0) {
		inbox_roll_back(b);
		return -1;
	}
	/* Durable: everything. A restart goes on behind the batch; only the bookmark is behind. */
	if (FAILPOINT_ERR("consumer.after_commit", err) < 0)
		return -1;
	*ret_outcome = outcome;
	return 0;
}

enum failure_kind inbox_failure(const struct inbox *b, const struct err *err)
{
	if (PQstatus(b->conn) != CONNECTION_OK)
		return b->handler_ran ? FAILURE_LOST : FAILURE_AWAY;
	if (!b->handler_ran || pg_sqlstate_is_transient(err->sqlstate))
		return FAILURE_TRANSIENT;
	return FAILURE_HANDLER;
}
