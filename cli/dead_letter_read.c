#include "cli/dead_letter.h"
#include "cli_text.h"
#include "common/memory.h"
#include "common/pg.h"

#include <stdlib.h>

static char *text(const PGresult *res, int row, const char *column)
{
	return mem_strdup(pg_text(res, row, column));
}

static struct dead_letter take(const PGresult *res, int row)
{
	return (struct dead_letter){
	    .consumer = text(res, row, "consumer"),
	    .source = text(res, row, "source"),
	    .message_id = text(res, row, "message_id"),
	    .subject = text(res, row, "subject"),
	    .stream_id = text(res, row, "stream_id"),
	    .state = text(res, row, "state"),
	    .shard = (unsigned)pg_uint(res, row, "shard"),
	    .starts = pg_int(res, row, "starts"),
	    .first_ms = pg_int(res, row, "first_ms"),
	    .last_ms = pg_int(res, row, "last_ms"),
	    .next_ms =
		pg_text(res, row, "next_ms") ? pg_int(res, row, "next_ms") : DEAD_LETTER_NEVER,
	    .error = text(res, row, "error"),
	    .context = text(res, row, "context"),
	    .remark = text(res, row, "remark"),
	    .history = json_loads(pg_text(res, row, "history"), 0, NULL),
	    .event = text(res, row, "event"),
	    .behind = pg_int(res, row, "behind"),
	    .ahead = text(res, row, "ahead"),
	    .holder = text(res, row, "holder"),
	};
}

int dead_letters_read(PGconn *effects, const struct dead_letter_filter *filter,
    struct dead_letters *ret_letters, struct err *err)
{
	char limit[PG_NUMBER_SIZE];
	const char *params[] = {filter->consumer, filter->state, filter->source, filter->subject,
	    filter->id, pg_number(limit, filter->limit)};
	PGresult *res = NULL;

	if (pg_run(effects, cli_sql_dead_letters_sql, 6, params, &res, err) < 0)
		return -1;
	ret_letters->n = (size_t)PQntuples(res);
	ret_letters->letters = mem_zalloc(ret_letters->n, sizeof(*ret_letters->letters));
	for (size_t i = 0; i < ret_letters->n; i++)
		ret_letters->letters[i] = take(res, (int)i);
	PQclear(res);
	return 0;
}

static void done(struct dead_letter *d)
{
	char *const texts[] = {d->consumer, d->source, d->message_id, d->subject, d->stream_id,
	    d->state, d->error, d->context, d->remark, d->event, d->ahead, d->holder};

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
		free(texts[i]);
	json_decref(d->history);
}

void dead_letters_done(struct dead_letters *d)
{
	for (size_t i = 0; i < d->n; i++)
		done(&d->letters[i]);
	free(d->letters);
	*d = (struct dead_letters){.n = 0};
}

int dead_letter_behind(PGconn *effects, const struct dead_letter *d, int64_t limit,
    json_t **ret_behind, struct err *err)
{
	char most[PG_NUMBER_SIZE];
	const char *params[] = {d->consumer, d->source, d->message_id, pg_number(most, limit)};
	PGresult *res = NULL;

	if (pg_run(effects, cli_sql_dead_letters_behind_sql, 4, params, &res, err) < 0)
		return -1;
	*ret_behind = json_array();
	for (int row = 0; row < PQntuples(res); row++)
		json_array_append_new(
		    *ret_behind, json_pack("{s:o, s:o, s:s}", "source",
				     print_json_text(pg_text(res, row, "source")), "message_id",
				     print_json_text(pg_text(res, row, "message_id")), "state",
				     pg_text(res, row, "state")));
	PQclear(res);
	return 0;
}

int dead_letter_mark(
    PGconn *effects, const struct dead_letter *d, const char *as, const char *why, struct err *err)
{
	const char *params[] = {d->consumer, d->source, d->message_id, as, why};
	PGresult *res = NULL;
	bool marked;

	if (pg_run(effects, "SELECT effects.mark($1, $2, $3, $4, $5) AS marked", 5, params, &res,
		err) < 0)
		return -1;
	marked = pg_bool(res, 0, "marked");
	PQclear(res);
	if (marked)
		return 0;
	return err_set(err, ERR_FATAL, "%s/%s is %s: no %s now%s%s", d->source, d->message_id,
	    d->state, as, d->ahead ? "; it waits for " : "", d->ahead ? d->ahead : "");
}
