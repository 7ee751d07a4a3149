#include "producer/receive.h"

#include "producer_text.h"

#include <string.h>

/* In the order of the function's parameters. */
enum {
	STORE,
	NOTIFICATION_ID,
	KIND,
	NATIVE_TYPE,
	RANK,
	STORE_PURCHASE_ID,
	OCCURRED_AT,
	RECEIVED_AT,
	TRACEPARENT,
	TRACE_LINK,
	PRODUCT_ID,
	ACCOUNT_REF,
	STATE,
	CURRENT_ONLY,
	WILL_RENEW,
	EXPIRES_AT,
	TRANSACTION_ID,
	AMOUNT_MINOR,
	CURRENCY,
	QUANTITY,
	PARTIAL,
	REMARK,
	BODY,
};

static const enum pg_oid types[RECEIVE_ARRAYS] = {
    [STORE] = PG_TEXT,
    [NOTIFICATION_ID] = PG_TEXT,
    [KIND] = PG_TEXT,
    [NATIVE_TYPE] = PG_TEXT,
    [RANK] = PG_INT2,
    [STORE_PURCHASE_ID] = PG_TEXT,
    [OCCURRED_AT] = PG_TIMESTAMPTZ,
    [RECEIVED_AT] = PG_TIMESTAMPTZ,
    [TRACEPARENT] = PG_TEXT,
    [TRACE_LINK] = PG_TEXT,
    [PRODUCT_ID] = PG_TEXT,
    [ACCOUNT_REF] = PG_TEXT,
    [STATE] = PG_TEXT,
    [CURRENT_ONLY] = PG_BOOL,
    [WILL_RENEW] = PG_BOOL,
    [EXPIRES_AT] = PG_TIMESTAMPTZ,
    [TRANSACTION_ID] = PG_TEXT,
    [AMOUNT_MINOR] = PG_INT8,
    [CURRENCY] = PG_TEXT,
    [QUANTITY] = PG_INT8,
    [PARTIAL] = PG_BOOL,
    [REMARK] = PG_TEXT,
    [BODY] = PG_BYTEA,
};

void receive_init(struct receive *r)
{
	for (int i = 0; i < RECEIVE_ARRAYS; i++) {
		pg_array_init(&r->arrays[i], types[i]);
		r->formats[i] = 1;
	}
	r->statement = (struct session_statement){
	    producer_sql_receive_sql, RECEIVE_ARRAYS, r->values, r->lengths, r->formats};
}

void receive_done(struct receive *r)
{
	for (int i = 0; i < RECEIVE_ARRAYS; i++)
		pg_array_done(&r->arrays[i]);
}

void receive_reset(struct receive *r)
{
	for (int i = 0; i < RECEIVE_ARRAYS; i++)
		pg_array_reset(&r->arrays[i]);
}

static void add_money(struct receive *r, const struct notification *n)
{
	if (n->has_amount)
		pg_array_int(&r->arrays[AMOUNT_MINOR], n->amount_minor);
	else
		pg_array_null(&r->arrays[AMOUNT_MINOR]);
	pg_array_text(&r->arrays[CURRENCY], *n->currency ? n->currency : NULL);
	pg_array_int(&r->arrays[QUANTITY], n->quantity);
	pg_array_bool(&r->arrays[PARTIAL], n->partial);
	pg_array_text(&r->arrays[TRANSACTION_ID], n->transaction_id);
}

static void add_change(struct receive *r, const struct notification *n)
{
	pg_array_text(&r->arrays[STATE], state_name(n->state));
	pg_array_bool(&r->arrays[CURRENT_ONLY], n->current_only);
	if (n->will_renew == RENEW_SAME)
		pg_array_null(&r->arrays[WILL_RENEW]);
	else
		pg_array_bool(&r->arrays[WILL_RENEW], n->will_renew == RENEW_YES);
	if (n->expires_at == TIME_NONE)
		pg_array_null(&r->arrays[EXPIRES_AT]);
	else
		pg_array_time(&r->arrays[EXPIRES_AT], n->expires_at);
}

void receive_add(struct receive *r, const struct notification *n, const struct receive_extra *extra)
{
	pg_array_text(&r->arrays[STORE], n->store);
	pg_array_text(&r->arrays[NOTIFICATION_ID], n->notification_id);
	pg_array_text(&r->arrays[KIND], kind_name(n->kind));
	pg_array_text(&r->arrays[NATIVE_TYPE], n->native_type);
	pg_array_int(&r->arrays[RANK], kind_rank(n->kind));
	pg_array_text(&r->arrays[STORE_PURCHASE_ID], n->store_purchase_id);
	pg_array_time(&r->arrays[OCCURRED_AT], n->occurred_at);
	pg_array_time(&r->arrays[RECEIVED_AT], n->received_at);
	pg_array_text(&r->arrays[TRACEPARENT], extra->traceparent);
	pg_array_text(&r->arrays[TRACE_LINK], extra->trace_link);
	pg_array_text(&r->arrays[PRODUCT_ID], n->product_id);
	pg_array_text(&r->arrays[ACCOUNT_REF], n->account_ref);
	pg_array_text(&r->arrays[REMARK], n->remark);
	pg_array_bytes(&r->arrays[BODY], extra->body, extra->len);
	add_money(r, n);
	add_change(r, n);
}

const struct session_statement *receive_statement(struct receive *r)
{
	for (int i = 0; i < RECEIVE_ARRAYS; i++)
		r->values[i] = pg_array_value(&r->arrays[i], &r->lengths[i]);
	return &r->statement;
}

bool receive_accepted(const PGresult *res, int i)
{
	return *PQgetvalue(res, i, 0) == 't';
}
