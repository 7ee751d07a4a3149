#include "cli/reprocess.h"
#include "cli_text.h"
#include "common/pg.h"

#include <string.h>

enum { PARAMS = 20 };

static const char *boolean(bool value)
{
	return value ? "on" : "off";
}

static const char *renew(enum will_renew will_renew)
{
	return will_renew == RENEW_SAME ? NULL : boolean(will_renew == RENEW_YES);
}

static enum reprocess_outcome outcome_of(const char *text)
{
	if (strcmp(text, "done") == 0)
		return REPROCESS_DONE;
	return strcmp(text, "gone") == 0 ? REPROCESS_GONE : REPROCESS_DUPLICATE;
}

int reprocess_write(PGconn *intake, const char *id, const struct notification *n,
    enum reprocess_outcome *ret_outcome, struct err *err)
{
	char rank[PG_NUMBER_SIZE], occurred[PG_NUMBER_SIZE], expires[PG_NUMBER_SIZE],
	    amount[PG_NUMBER_SIZE], quantity[PG_NUMBER_SIZE];
	const char *params[PARAMS] = {n->store, id, n->notification_id, kind_name(n->kind),
	    n->native_type, pg_number(rank, kind_rank(n->kind)), n->store_purchase_id,
	    pg_number(occurred, n->occurred_at), n->product_id, n->account_ref,
	    state_name(n->state), boolean(n->current_only), renew(n->will_renew),
	    n->expires_at == TIME_NONE ? NULL : pg_number(expires, n->expires_at),
	    n->transaction_id, n->has_amount ? pg_number(amount, n->amount_minor) : NULL,
	    *n->currency ? n->currency : NULL, pg_number(quantity, n->quantity),
	    boolean(n->partial), n->remark};
	PGresult *res = NULL;

	if (pg_run(intake, cli_sql_reprocess_sql, PARAMS, params, &res, err) < 0)
		return -1;
	*ret_outcome = outcome_of(pg_text(res, 0, "outcome"));
	PQclear(res);
	return 0;
}
