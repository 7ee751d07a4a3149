#include "cli/backlog.h"

#include "cli_text.h"
#include "common/pg.h"

#include <inttypes.h>
#include <stdio.h>

#define NUMBER_SIZE 24

/* As a bigint; an ID beyond it is foreign, and comes after every position of ours. */
static const char *number(char buf[NUMBER_SIZE], uint64_t n)
{
	snprintf(buf, NUMBER_SIZE, "%" PRIu64, n > INT64_MAX ? (uint64_t)INT64_MAX : n);
	return buf;
}

static int count(PGconn *conn, const char *sql, int n_params, const char *const *params,
    int64_t *ret_rows, struct err *err)
{
	PGresult *res = NULL;

	if (pg_run(conn, sql, n_params, params, &res, err) < 0)
		return -1;
	*ret_rows = pg_int(res, 0, "rows");
	PQclear(res);
	return 0;
}

int backlog_unticked(PGconn *intake, unsigned shard, int64_t *ret_rows, struct err *err)
{
	char at[NUMBER_SIZE], most[NUMBER_SIZE];
	const char *params[] = {number(at, shard), number(most, BACKLOG_MAX)};

	return count(intake, cli_sql_unticked_sql, 2, params, ret_rows, err);
}

int backlog_after(
    PGconn *intake, unsigned shard, struct stream_id position, int64_t *ret_rows, struct err *err)
{
	char at[NUMBER_SIZE], tick[NUMBER_SIZE], id[NUMBER_SIZE], most[NUMBER_SIZE];
	const char *params[] = {number(at, shard), number(tick, position.ms),
	    number(id, position.seq), number(most, BACKLOG_MAX)};

	return count(intake, cli_sql_rows_after_sql, 4, params, ret_rows, err);
}

int backlog_owns(PGconn *intake, unsigned shard, const struct stream_entry *entry, bool *ret_own,
    struct err *err)
{
	char at[NUMBER_SIZE], tick[NUMBER_SIZE], id[NUMBER_SIZE];
	const char *params[] = {number(at, shard), number(tick, entry->id.ms),
	    number(id, entry->id.seq), entry->source, entry->message_id};
	PGresult *res = NULL;

	if (!entry->is_event) {
		*ret_own = false;
		return 0;
	}
	if (pg_run(intake, cli_sql_own_entry_sql, 5, params, &res, err) < 0)
		return -1;
	*ret_own = pg_bool(res, 0, "own");
	PQclear(res);
	return 0;
}

int backlog_acknowledged(
    PGconn *intake, unsigned shard, struct stream_id *ret_position, struct err *err)
{
	char at[NUMBER_SIZE];
	const char *params[] = {number(at, shard)};
	PGresult *res = NULL;

	if (pg_run(intake, cli_sql_acknowledged_sql, 1, params, &res, err) < 0)
		return -1;
	*ret_position = STREAM_ID_ZERO;
	if (PQntuples(res) > 0)
		*ret_position = (struct stream_id){pg_uint(res, 0, "tick"), pg_uint(res, 0, "id")};
	PQclear(res);
	return 0;
}
