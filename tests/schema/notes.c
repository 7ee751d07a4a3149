#include "tests/schema/notes.h"

#include "common/pg_array.h"
#include "tests/support/die.h"

#include <stdint.h>
#include <string.h>

/* The parameters of intake.receive(), in its order. */
enum column {
	STORE,
	ID,
	KIND,
	NATIVE_TYPE,
	RANK,
	PURCHASE,
	OCCURRED_AT,
	RECEIVED_AT,
	TRACEPARENT,
	TRACE_LINK,
	PRODUCT,
	ACCOUNT,
	STATE,
	CURRENT_ONLY,
	WILL_RENEW,
	EXPIRES_AT,
	TRANSACTION,
	AMOUNT,
	CURRENCY,
	QUANTITY,
	PARTIAL,
	REMARK,
	BODY,
	COLUMNS
};

static const enum pg_oid types[COLUMNS] = {
    [STORE] = PG_TEXT,
    [ID] = PG_TEXT,
    [KIND] = PG_TEXT,
    [NATIVE_TYPE] = PG_TEXT,
    [RANK] = PG_INT2,
    [PURCHASE] = PG_TEXT,
    [OCCURRED_AT] = PG_TIMESTAMPTZ,
    [RECEIVED_AT] = PG_TIMESTAMPTZ,
    [TRACEPARENT] = PG_TEXT,
    [TRACE_LINK] = PG_TEXT,
    [PRODUCT] = PG_TEXT,
    [ACCOUNT] = PG_TEXT,
    [STATE] = PG_TEXT,
    [CURRENT_ONLY] = PG_BOOL,
    [WILL_RENEW] = PG_BOOL,
    [EXPIRES_AT] = PG_TIMESTAMPTZ,
    [TRANSACTION] = PG_TEXT,
    [AMOUNT] = PG_INT8,
    [CURRENCY] = PG_TEXT,
    [QUANTITY] = PG_INT8,
    [PARTIAL] = PG_BOOL,
    [REMARK] = PG_TEXT,
    [BODY] = PG_BYTEA,
};

static void add_time(struct pg_array *a, int s)
{
	pg_array_time(a, NOTES_EPOCH_MS + s * INT64_C(1000));
}

static void add(struct pg_array *a, const struct note *n)
{
	pg_array_text(&a[STORE], n->store);
	pg_array_text(&a[ID], n->id);
	pg_array_text(&a[KIND], n->kind);
	pg_array_text(&a[NATIVE_TYPE], NULL);
	pg_array_int(&a[RANK], n->rank);
	pg_array_text(&a[PURCHASE], n->purchase);
	add_time(&a[OCCURRED_AT], n->at_s);
	add_time(&a[RECEIVED_AT], n->at_s + 1);
	pg_array_text(&a[TRACEPARENT], n->traceparent);
	pg_array_text(&a[TRACE_LINK], NULL);
	pg_array_text(&a[PRODUCT], n->product);
	pg_array_text(&a[ACCOUNT], n->account);
	pg_array_text(&a[STATE], n->state);
	pg_array_bool(&a[CURRENT_ONLY], n->current_only);
	if (n->will_renew)
		pg_array_bool(&a[WILL_RENEW], strcmp(n->will_renew, "yes") == 0);
	else
		pg_array_null(&a[WILL_RENEW]);
	if (n->expires_s)
		add_time(&a[EXPIRES_AT], n->expires_s);
	else
		pg_array_null(&a[EXPIRES_AT]);
	pg_array_text(&a[TRANSACTION], n->transaction);
	if (n->amount)
		pg_array_int(&a[AMOUNT], n->amount);
	else
		pg_array_null(&a[AMOUNT]);
	pg_array_text(&a[CURRENCY], n->amount ? "EUR" : NULL);
	pg_array_int(&a[QUANTITY], 1);
	pg_array_bool(&a[PARTIAL], false);
	pg_array_text(&a[REMARK], n->remark);
	pg_array_bytes(&a[BODY], n->id, strlen(n->id));
}

static PGresult *call(PGconn *conn, const struct note *notes, size_t n)
{
	static const char sql[] =
	    "SELECT intake.receive($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11,"
	    " $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23)";
	struct pg_array arrays[COLUMNS];
	const char *values[COLUMNS];
	int lengths[COLUMNS], formats[COLUMNS];
	PGresult *res;

	for (int c = 0; c < COLUMNS; c++)
		pg_array_init(&arrays[c], types[c]);
	for (size_t i = 0; i < n; i++)
		add(arrays, &notes[i]);
	for (int c = 0; c < COLUMNS; c++) {
		values[c] = pg_array_value(&arrays[c], &lengths[c]);
		formats[c] = 1;
	}
	res = PQexecParams(conn, sql, COLUMNS, NULL, values, lengths, formats, 0);
	for (int c = 0; c < COLUMNS; c++)
		pg_array_done(&arrays[c]);
	return res;
}

void notes_receive(PGconn *conn, const struct note *notes, size_t n, bool *ret_accepted)
{
	PGresult *res = call(conn, notes, n);

	if (PQresultStatus(res) != PGRES_TUPLES_OK)
		die("intake.receive: %s", PQerrorMessage(conn));
	/* "{t,f,t}" */
	for (size_t i = 0; ret_accepted && i < n; i++)
		ret_accepted[i] = PQgetvalue(res, 0, 0)[1 + 2 * i] == 't';
	PQclear(res);
}

const char *notes_refused(PGconn *conn, const struct note *notes, size_t n)
{
	static _Thread_local char sqlstate[6];
	PGresult *res = call(conn, notes, n);
	const char *field = PQresultErrorField(res, PG_DIAG_SQLSTATE);

	memset(sqlstate, 0, sizeof(sqlstate));
	strncpy(sqlstate, field ? field : "", sizeof(sqlstate) - 1);
	PQclear(res);
	return sqlstate;
}
