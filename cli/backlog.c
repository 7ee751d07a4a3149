#include "cli/backlog.h"

#include "cli_text.h"
#include "common/pg.h"

/* Of an ID beyond bigint, which is foreign, what comes after every position of ours. */
static const char *half(char buf[PG_NUMBER_SIZE], uint64_t n)
{
	return pg_number(buf, stream_id_bigint(n));
}

int backlog_oldest_unticked(
    PGconn *intake, unsigned shard, int64_t *ret_rows, int64_t *ret_oldest_ms, struct err *err)
{
	char at[PG_NUMBER_SIZE], most[PG_NUMBER_SIZE];
	const char *params[] = {pg_number(at, shard), pg_number(most, BACKLOG_MAX)};
	PGresult *res = NULL;

	if (pg_run(intake, cli_sql_unticked_sql, 2, params, &res, err) < 0)
		return -1;
	*ret_rows = pg_int(res, 0, "rows");
	*ret_oldest_ms = *ret_rows > 0 ? pg_int(res, 0, "oldest_ms") : 0;
	PQclear(res);
	return 0;
}

int backlog_unticked(PGconn *intake, unsigned shard, int64_t *ret_rows, struct err *err)
{
	int64_t oldest_ms;

	return backlog_oldest_unticked(intake, shard, ret_rows, &oldest_ms, err);
}

int backlog_oldest_after(PGconn *intake, unsigned shard, struct stream_id position,
    int64_t *ret_rows, int64_t *ret_oldest_ms, struct err *err)
{
	char at[PG_NUMBER_SIZE], tick[PG_NUMBER_SIZE], id[PG_NUMBER_SIZE], most[PG_NUMBER_SIZE];
	const char *params[] = {pg_number(at, shard), half(tick, position.ms),
	    half(id, position.seq), pg_number(most, BACKLOG_MAX)};
	PGresult *res = NULL;

	if (pg_run(intake, cli_sql_rows_after_sql, 4, params, &res, err) < 0)
		return -1;
	*ret_rows = pg_int(res, 0, "rows");
	*ret_oldest_ms = *ret_rows > 0 ? pg_int(res, 0, "oldest_ms") : 0;
	PQclear(res);
	return 0;
}

int backlog_after(
    PGconn *intake, unsigned shard, struct stream_id position, int64_t *ret_rows, struct err *err)
{
	int64_t oldest_ms;

	return backlog_oldest_after(intake, shard, position, ret_rows, &oldest_ms, err);
}

int backlog_owns(PGconn *intake, unsigned shard, const struct stream_entry *entry, bool *ret_own,
    struct err *err)
{
	char at[PG_NUMBER_SIZE], tick[PG_NUMBER_SIZE], id[PG_NUMBER_SIZE];
	const char *params[] = {pg_number(at, shard), half(tick, entry->id.ms),
	    half(id, entry->id.seq), entry->source, entry->message_id};
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
	char at[PG_NUMBER_SIZE];
	const char *params[] = {pg_number(at, shard)};
	PGresult *res = NULL;

	if (pg_run(intake, cli_sql_acknowledged_sql, 1, params, &res, err) < 0)
		return -1;
	*ret_position = STREAM_ID_ZERO;
	if (PQntuples(res) > 0)
		*ret_position = (struct stream_id){pg_uint(res, 0, "tick"), pg_uint(res, 0, "id")};
	PQclear(res);
	return 0;
}
