#include "cli/reconcile.h"
#include "cli/sources.h"
#include "cli_text.h"
#include "common/memory.h"
#include "common/pg.h"

#include <stdlib.h>

enum { PAGE_ROWS = 1000 };

struct walk {
	struct sources *sources;
	const struct reconcile_options *options;
	struct reconciliation *r;
	int64_t page_rows;
};

void reconcile_done(struct reconciliation *r)
{
	for (size_t i = 0; i < r->n_consumers; i++)
		free(r->consumers[i].name);
	free(r->consumers);
	json_decref(r->lost);
	json_decref(r->gaps);
	*r = (struct reconciliation){0};
}

int64_t reconcile_lost(const struct reconciliation *r)
{
	int64_t lost = 0;

	for (size_t i = 0; i < r->n_consumers; i++)
		lost += r->consumers[i].rows[FATE_LOST];
	return lost;
}

static json_t *json_column(const PGresult *res, const char *column)
{
	const char *text = pg_text(res, 0, column);

	return text ? json_loads(text, 0, NULL) : json_array();
}

static int read_consumers(struct walk *w, struct err *err)
{
	const char *params[] = {w->options->consumer};
	struct reconciliation *r = w->r;
	PGresult *res = NULL;
	int rc = -1;

	if (pg_run(w->sources->effects, cli_sql_reconcile_consumers_sql, 1, params, &res, err) < 0)
		goto done;
	if (w->options->consumer && PQntuples(res) == 0) {
		err_set(err, ERR_FATAL, "no consumer %s has a cursor", w->options->consumer);
		goto done;
	}
	r->n_consumers = (size_t)PQntuples(res);
	r->consumers = mem_zalloc(r->n_consumers + 1, sizeof(*r->consumers));
	for (size_t i = 0; i < r->n_consumers; i++)
		r->consumers[i].name = mem_strdup(pg_text(res, (int)i, "consumer"));
	rc = 0;
done:
	PQclear(res);
	return rc;
}

static char *take_missing(const PGresult *res)
{
	return mem_strdup(pg_text(res, 0, "missing"));
}

/* *missing is replaced by what is not parked. */
static int read_parked(
    struct walk *w, struct consumer_account *account, char **missing, struct err *err)
{
	const char *params[] = {*missing, account->name};
	PGresult *res = NULL;

	if (!*missing)
		return 0;
	if (pg_run(w->sources->effects, cli_sql_reconcile_parked_sql, 2, params, &res, err) < 0)
		return -1;
	account->rows[FATE_RETRYING] += pg_int(res, 0, "retrying");
	account->rows[FATE_HELD] += pg_int(res, 0, "held");
	account->rows[FATE_FAILED] += pg_int(res, 0, "failed");
	free(*missing);
	*missing = take_missing(res);
	PQclear(res);
	return 0;
}

/* In one snapshot: a message leaves the parked for the inbox in one transaction. */
static int read_effects(struct walk *w, const char *page, struct consumer_account *account,
    char **ret_missing, struct err *err)
{
	const char *params[] = {page, account->name};
	PGconn *effects = w->sources->effects;
	PGresult *res = NULL;
	char *missing = NULL;
	int rc = -1;

	if (pg_exec(effects, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY", err) < 0 ||
	    pg_run(effects, cli_sql_reconcile_applied_sql, 2, params, &res, err) < 0)
		goto done;
	account->rows[FATE_APPLIED] += pg_int(res, 0, "applied");
	missing = take_missing(res);
	if (read_parked(w, account, &missing, err) < 0 || pg_exec(effects, "COMMIT", err) < 0)
		goto done;
	*ret_missing = missing;
	missing = NULL; /* the caller's now */
	rc = 0;
done:
	PQclear(res);
	free(missing);
	return rc;
}

static void list_lost(struct walk *w, const struct consumer_account *account, const PGresult *res)
{
	json_t *rows = json_column(res, "lost_rows"), *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		json_object_set_new(row, "consumer", print_json_text(account->name));
		json_array_append(w->r->lost, row);
	}
	json_decref(rows);
}

static int judge(
    struct walk *w, const char *missing, struct consumer_account *account, struct err *err)
{
	int64_t room = w->options->list - (int64_t)json_array_size(w->r->lost);
	char list[PG_NUMBER_SIZE];
	const char *params[] = {missing, pg_number(list, room)};
	PGresult *res = NULL;

	if (pg_run(w->sources->intake, cli_sql_reconcile_judge_sql, 2, params, &res, err) < 0)
		return -1;
	for (int fate = FATE_WAITING; fate < FATES; fate++)
		account->rows[fate] += pg_int(res, 0, fate_names[fate]);
	list_lost(w, account, res);
	PQclear(res);
	return 0;
}

static int account_for(
    struct walk *w, const char *page, struct consumer_account *account, struct err *err)
{
	char *missing = NULL;
	int rc = read_effects(w, page, account, &missing, err);

	if (rc == 0 && missing)
		rc = judge(w, missing, account, err);
	free(missing);
	return rc;
}

/* The outbox first: what a consumer does meanwhile can only be more. */
static int read_page(struct walk *w, int64_t *after, int64_t *ret_rows, struct err *err)
{
	char from[PG_NUMBER_SIZE], age[PG_NUMBER_SIZE], most[PG_NUMBER_SIZE];
	const char *params[] = {pg_number(from, *after), pg_number(age, w->options->older_than_ms),
	    pg_number(most, w->page_rows)};
	PGresult *res = NULL;
	int rc = -1;

	if (pg_run(w->sources->intake, cli_sql_reconcile_page_sql, 3, params, &res, err) < 0)
		goto done;
	*ret_rows = pg_int(res, 0, "rows");
	*after = pg_int(res, 0, "last");
	for (size_t i = 0; *ret_rows > 0 && i < w->r->n_consumers; i++) {
		if (account_for(w, pg_text(res, 0, "page"), &w->r->consumers[i], err) < 0)
			goto done;
	}
	w->r->rows += *ret_rows;
	w->r->again += pg_int(res, 0, "again");
	rc = 0;
done:
	PQclear(res);
	return rc;
}

static int read_younger(struct walk *w, struct err *err)
{
	char age[PG_NUMBER_SIZE];
	const char *params[] = {pg_number(age, w->options->older_than_ms)};
	PGresult *res = NULL;

	if (pg_run(w->sources->intake, cli_sql_reconcile_younger_sql, 1, params, &res, err) < 0)
		return -1;
	w->r->younger = pg_int(res, 0, "rows");
	PQclear(res);
	return 0;
}

static int read_ledger_page(struct walk *w, int64_t *after, int64_t *ret_rows, struct err *err)
{
	char from[PG_NUMBER_SIZE], most[PG_NUMBER_SIZE];
	const char *params[] = {pg_number(from, *after), pg_number(most, w->page_rows)};
	PGresult *res = NULL;

	if (pg_run(w->sources->effects, cli_sql_reconcile_ledger_sql, 2, params, &res, err) < 0)
		return -1;
	*ret_rows = pg_int(res, 0, "rows");
	*after = pg_int(res, 0, "last");
	w->r->entries += *ret_rows;
	w->r->doubled += pg_int(res, 0, "doubled");
	PQclear(res);
	return 0;
}

static int read_gaps(struct walk *w, struct err *err)
{
	const char *params[] = {w->options->forget_gaps ? "on" : "off"};
	PGresult *res = NULL;

	if (pg_run(w->sources->intake, cli_sql_reconcile_gaps_sql, 1, params, &res, err) < 0)
		return -1;
	w->r->gaps = json_column(res, "gaps");
	PQclear(res);
	return 0;
}

/* A page function over all its pages. */
static int each_page(struct walk *w,
    int (*page)(struct walk *, int64_t *after, int64_t *ret_rows, struct err *), struct err *err)
{
	int64_t after = 0, rows;

	do {
		if (page(w, &after, &rows, err) < 0)
			return -1;
	} while (rows == w->page_rows);
	return 0;
}

int reconcile_read(struct sources *sources, const struct reconcile_options *options,
    struct reconciliation *ret, struct err *err)
{
	struct reconciliation r = {.older_than_ms = options->older_than_ms, .lost = json_array()};
	struct walk w = {.sources = sources, .options = options, .r = &r, .page_rows = PAGE_ROWS};
	int rc = -1;

	if (read_consumers(&w, err) < 0 || each_page(&w, read_page, err) < 0 ||
	    read_younger(&w, err) < 0 || each_page(&w, read_ledger_page, err) < 0 ||
	    read_gaps(&w, err) < 0)
		goto done;
	*ret = r;
	r = (struct reconciliation){0};
	rc = 0;
done:
	reconcile_done(&r);
	return rc;
}

int reconcile_fate(struct sources *sources, int64_t outbox_id, const char *consumer,
    enum fate *ret_fate, struct err *err)
{
	const struct reconcile_options options = {.list = 0};
	struct reconciliation r = {.n_consumers = 1, .lost = json_array()};
	struct walk w = {.sources = sources, .options = &options, .r = &r, .page_rows = 1};
	int64_t at = outbox_id - 1, rows;
	enum fate fate = FATE_UNRETAINED;
	int rc = -1;

	r.consumers = mem_zalloc(1, sizeof(*r.consumers));
	r.consumers->name = mem_strdup(consumer);
	if (read_page(&w, &at, &rows, err) < 0)
		goto done;
	for (int f = 0; f < FATES && rows > 0 && at == outbox_id; f++) {
		if (r.consumers->rows[f] > 0)
			fate = (enum fate)f;
	}
	*ret_fate = fate;
	rc = 0;
done:
	reconcile_done(&r);
	return rc;
}
